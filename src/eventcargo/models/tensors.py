"""Tensors from files: those that a part of a model expects, each of its type and shape."""

from collections.abc import Mapping

import torch
from torch import Tensor

from eventcargo.errors import DataError

ANY = -1
"""Instead of a length that may be any."""

Expected = Mapping[str, tuple[torch.dtype, tuple[int, ...]]]
"""The type and the shape of tensors by their names."""


def check_tensors(tensors: Mapping[str, Tensor], expected: Expected, what: str) -> None:
    """Refuse tensors that are missing, or of another type or shape than expected.

    >>> check_tensors({"bias": torch.zeros(3)}, {"bias": (torch.float32, (2,))}, "the term")
    Traceback (most recent call last):
    eventcargo.errors.DataError: the term has 'bias' as float32 of shape (3,), not float32 of shape (2,); the
    file is damaged
    """
    for name, (kind, shape) in expected.items():
        if name not in tensors:
            raise DataError(f"{what} lacks the tensor {name!r}; the file is damaged")
        found = tensors[name]
        if found.dtype != kind or not _fits(tuple(found.shape), shape):
            raise DataError(
                f"{what} has {name!r} as {_words(found.dtype, tuple(found.shape))}, not "
                f"{_words(kind, shape)}; the file is damaged"
            )


def check_ids(ids: Tensor, n: int, what: str) -> None:
    """Refuse ids that are not from 0 to n - 1.

    >>> check_ids(torch.tensor([1, 7]), 4, "the term: its keys")
    Traceback (most recent call last):
    eventcargo.errors.DataError: the term: its keys are 1 to 7, not from 0 to 3; the file is damaged
    """
    if len(ids) and not (ids.min() >= 0 and ids.max() < n):
        some = f"{int(ids.min()):,} to {int(ids.max()):,}"
        raise DataError(f"{what} are {some}, not from 0 to {n - 1:,}; the file is damaged")


def _fits(found: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return len(found) == len(shape) and all(
        wanted in (ANY, own) for own, wanted in zip(found, shape, strict=True)
    )


def _words(kind: torch.dtype, shape: tuple[int, ...]) -> str:
    lengths = ", ".join("any" if length == ANY else f"{length}" for length in shape)
    return f"{str(kind).removeprefix('torch.')} of shape ({lengths}{',' if len(shape) == 1 else ''})"
