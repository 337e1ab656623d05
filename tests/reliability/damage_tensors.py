"""Damage to safetensors: to the header that says where tensors are, and to tensors behind sound checksums."""

import json
from typing import Any

import torch
from safetensors.torch import load, save

from eventcargo.checksums import CHECKSUM
from eventcargo.models.pretrained import _checksum

from tests.reliability.damage import Rng, change_tree, dump

LENGTH = 8
"""Bytes that say how long the header is."""


def _header(content: bytes) -> tuple[dict[str, Any], bytes]:
    end = LENGTH + int.from_bytes(content[:LENGTH], "little")
    return json.loads(content[LENGTH:end]), content[end:]


def damage_header(content: bytes, rng: Rng) -> bytes:
    """A change inside the tree of the header."""
    header, rest = _header(content)
    changed = dump(change_tree(header, rng))
    return len(changed).to_bytes(LENGTH, "little") + changed + rest


def change_tensor(content: bytes, rng: Rng) -> bytes:
    """One tensor of another shape, type, name or with odd numbers, in a file that is sound."""
    tensors = load(content)
    name = list(tensors)[int(rng.integers(len(tensors)))]
    if rng.random() < 0.1:
        tensors[f"{name}x"] = tensors.pop(name)
    elif rng.random() < 0.1:
        del tensors[name]
    else:
        tensors[name] = _odd(tensors[name], rng)
    metadata = _header(content)[0].get("__metadata__")
    return save(tensors, None if metadata is None else _sealed(metadata, tensors))


def _odd(tensor: torch.Tensor, rng: Rng) -> torch.Tensor:
    """The tensor cut, of another type or shape, or with one odd number."""
    what = int(rng.integers(6))
    if what == 0:
        return tensor[:-1].clone() if tensor.dim() and len(tensor) else tensor[None].clone()
    if what == 1:
        return tensor.reshape(-1).clone()
    if what == 2:
        return tensor.to([torch.float16, torch.float64, torch.int64, torch.uint8][int(rng.integers(4))])
    if what == 3:
        return torch.zeros(0)
    odd = (
        [-1, 0, 2**31, 10**18] if not tensor.is_floating_point() else [0.0, 1e30, float("nan"), float("inf")]
    )
    changed = tensor.clone().reshape(-1)
    if len(changed):
        number = odd[int(rng.integers(4))]
        changed[int(rng.integers(len(changed)))] = torch.tensor(number).to(tensor.dtype)
    return changed.reshape(tensor.shape)


def _sealed(metadata: dict[str, str], tensors: dict[str, torch.Tensor]) -> dict[str, str]:
    """The metadata with the checksum of these tensors, if they have one."""
    if "eventcargo" not in metadata:
        return metadata
    whole = json.loads(metadata["eventcargo"])
    return {**metadata, "eventcargo": json.dumps({**whole, CHECKSUM: _checksum(whole["header"], tensors)})}
