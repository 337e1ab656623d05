"""LinearTerm: the part of a label's logit that is a weighted sum of features."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eventcargo.batches import Batch
from eventcargo.errors import DataError, counted
from eventcargo.features import AT_END, FAMILIES, Events, Moments, chosen_moments, n_keys_of
from eventcargo.models.linear.folds import Fold
from eventcargo.models.tensors import ANY, check_ids, check_tensors

Ints = NDArray[np.int64]

TERM = "the linear term"
"""What errors are about."""


class Effort(IntEnum):
    """How far the fit of a label came in the time there was."""

    NONE = 0
    """its base rate"""
    PRESENCE = 1
    """presence of event types; not all of order, count and time was looked at"""
    ALL = 2
    """all families of features"""


@dataclass(frozen=True, eq=False)
class LinearTerm:
    """Weights of selected features; `keys` holds the sorted keys of each family in the order of `weights`.

    `size` is the number of ids in the vocabulary, `window` how far apart the events of a pair may be.
    """

    size: int
    window: int
    keys: Mapping[str, Ints]
    weights: Tensor  # (features, labels)
    bias: Tensor  # (labels,)
    effort: Tensor | None = None  # (labels,), values of `Effort`; None: all
    folds: tuple[Fold, ...] = ()

    @property
    def n_features(self) -> int:
        return len(self.weights)

    def to(self, device: torch.device | str) -> "LinearTerm":
        """The same term with its weights on another device."""
        return replace(self, weights=self.weights.to(device), bias=self.bias.to(device))

    def logits(self, batch: Batch, labels_at: NDArray[np.bool_], label_columns: Ints | None = None) -> Tensor:
        """Logits given ids 0 to i at the requested positions: (positions, labels)."""
        weights, bias, used = self.weights, self.bias, None
        if label_columns is not None:
            columns = torch.from_numpy(np.asarray(label_columns)).to(bias.device)
            weights, bias = weights[:, columns], bias[columns]
            used = (weights != 0).any(dim=1).cpu().numpy()
        if not (labels_at & batch.at_end).any():
            used = self._before_end() if used is None else used & self._before_end()
        moments = self.moments(batch, used)
        rows, positions = (torch.from_numpy(at).to(bias.device) for at in np.nonzero(labels_at))
        if not (labels_at & ~batch.at_end).any():  # whole sequences need no running sum
            return _summed(moments.rows, moments.keys, len(batch.ids), weights)[rows] + bias
        n_rows, width = batch.ids.shape
        flat = _summed(moments.rows * width + moments.positions, moments.keys, n_rows * width, weights)
        running = flat.view(n_rows, width, len(bias)).cumsum(1)  # (B, L, Y)
        return running[rows, positions] + bias

    def particle_logits(self, batch: Batch, n: int, label_columns: Sequence[Ints]) -> Tensor:
        """Logits given ids 0 to i, before the end, of the labels of each sequence: (pairs, n, L).

        Every `n` successive rows of the batch are particles of a sequence, which has label columns of its
        own. Features of the end are left out.
        """
        columns, sizes = np.concatenate(label_columns), np.array([len(own) for own in label_columns])
        weights = self.weights[:, torch.from_numpy(columns).to(self.weights.device)].cpu().numpy()
        moments = self.moments(batch, weights.any(axis=1) & self._before_end())
        each = np.repeat(np.arange(len(moments.rows)), sizes[moments.rows // n])  # once for each label
        rows, features, positions = moments.rows[each], moments.keys[each], moments.positions[each]
        starts = np.cumsum(sizes) - sizes
        pairs = starts[rows // n] + np.arange(len(each)) - np.searchsorted(each, each)
        shape = (len(columns), n, batch.ids.shape[1])
        slots = np.ravel_multi_index((pairs, rows % n, positions), shape)
        steps = np.bincount(slots, weights[features, pairs], minlength=math.prod(shape))
        running = torch.from_numpy(steps.reshape(shape).cumsum(axis=2)).to(self.bias)
        return running + self.bias[torch.from_numpy(columns).to(self.bias.device), None, None]

    def moments(self, batch: Batch, used: NDArray[np.bool_] | None = None) -> Moments:
        """When the features, or only the `used` ones, become true; the keys are rows of `weights`."""
        parts, start, events = [], 0, Events.from_batch(batch, self.size)
        for family, keys in self.keys.items():
            rows = np.arange(start, start + len(keys))
            start += len(keys)
            if used is not None:
                rows, keys = rows[used[rows]], keys[used[rows]]
            if len(keys):
                chosen = chosen_moments(events, family, self.window, keys)
                parts.append(Moments(chosen.rows, chosen.positions, rows[chosen.keys]))
        return Moments.join(parts)

    def _before_end(self) -> NDArray[np.bool_]:
        """Which features can become true before the end: (features,)."""
        sizes = [len(keys) for keys in self.keys.values()]
        return np.repeat([family not in AT_END for family in self.keys], sizes)

    def to_tensors(self) -> dict[str, Tensor]:
        """All parts as named tensors, for a safetensors file."""
        keys = {f"keys.{family}": torch.from_numpy(keys.copy()) for family, keys in self.keys.items()}
        shape = torch.tensor([self.size, self.window])
        effort = {} if self.effort is None else {"effort": self.effort}
        folds = {
            f"fold.{number}.{name}": tensor
            for number, fold in enumerate(self.folds)
            for name, tensor in fold.to_tensors().items()
        }
        weights = self.weights.contiguous()
        return {"shape": shape, "weights": weights, "bias": self.bias, **keys, **effort, **folds}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> "LinearTerm":
        """The term restored from `to_tensors`."""
        missing = sorted({"shape", "weights", "bias"} - set(tensors))
        if missing:
            raise DataError(f"no linear term: the tensor {missing[0]!r} is missing among {sorted(tensors)}")
        names = [name.removeprefix("keys.") for name in tensors if name.startswith("keys.")]
        unknown = sorted(set(names) - set(FAMILIES))
        if unknown:
            raise DataError(
                f"the linear term has features {unknown[0]!r}; this release knows {', '.join(FAMILIES)}"
            )
        _check_kinds(tensors, names)
        keys = {name: tensors[f"keys.{name}"].cpu().numpy() for name in FAMILIES if name in names}
        n_keys, weights, bias = sum(map(len, keys.values())), tensors["weights"], tensors["bias"]
        if weights.shape != (n_keys, len(bias)):
            raise DataError(
                f"the linear term has weights of shape {tuple(weights.shape)} for "
                f"{counted(n_keys, 'feature')} and {counted(len(bias), 'label')}; the file is damaged"
            )
        size, window = tensors["shape"].tolist()
        if "effort" in tensors:
            check_tensors(tensors, {"effort": (torch.uint8, (len(bias),))}, TERM)
        folds = _folds(tensors, (n_keys, len(bias)))
        return cls(size, window, keys, weights, bias, tensors.get("effort"), folds)


def _check_kinds(tensors: Mapping[str, Tensor], families: Sequence[str]) -> None:
    """Refuse tensors of other types than those of a term, and keys that no feature has."""
    check_tensors(tensors, {"shape": (torch.int64, (2,)), "bias": (torch.float32, (ANY,))}, TERM)
    check_tensors(tensors, {"weights": (torch.float32, (ANY, ANY))}, TERM)
    check_tensors(tensors, {f"keys.{family}": (torch.int64, (ANY,)) for family in families}, TERM)
    size = int(tensors["shape"][0])
    for family in families:
        check_ids(tensors[f"keys.{family}"], n_keys_of(family, size), f"{TERM}: its keys of {family}")


def _folds(tensors: Mapping[str, Tensor], shape: tuple[int, int]) -> tuple[Fold, ...]:
    """The folds among the tensors of a term."""
    numbers = range(len({name.split(".")[1] for name in tensors if name.startswith("fold.")}))
    parts = ("codes", "values", "bias")
    for number in numbers:
        codes, values, bias = (f"fold.{number}.{part}" for part in parts)
        check_tensors(tensors, {codes: (torch.int64, (ANY,)), bias: (torch.float32, shape[1:])}, TERM)
        check_tensors(tensors, {values: (torch.float32, tuple(tensors[codes].shape))}, TERM)
        check_ids(tensors[codes], shape[0] * shape[1], f"{TERM}: its codes of fold {number}")
    return tuple(
        Fold.from_tensors({part: tensors[f"fold.{number}.{part}"] for part in parts}, shape)
        for number in numbers
    )


def _summed(bags: Ints, features: Ints, n_bags: int, weights: Tensor) -> Tensor:
    """Sum of the weights of the features in each bag: (bags, labels)."""
    order = np.argsort(bags, kind="stable")
    starts = np.searchsorted(bags[order], np.arange(n_bags))
    chosen, offsets = (torch.from_numpy(array).to(weights.device) for array in (features[order], starts))
    if len(features) == 0:
        return weights.new_zeros(n_bags, weights.shape[1])
    return torch.nn.functional.embedding_bag(chosen, weights, offsets, mode="sum")
