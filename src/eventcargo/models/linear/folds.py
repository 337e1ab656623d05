"""Folds: weights of a linear term that were fitted without a part of the sequences.

What an event type is worth to a label is judged in sequences that its weights have not seen. The sequences
are dealt into `N_FOLDS` folds by their ids alone, those of a group together, so that phase 1 finds the fold
of each. A fold has the features of the whole term; only their weights are fitted anew.
"""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from eventcargo.events import EventDataset

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Fold:
    """Weights (features, labels) and biases (labels,) fitted without one fold; a label without has NaN."""

    weights: sp.csr_array
    bias: Floats

    def to_tensors(self) -> dict[str, Tensor]:
        """The nonzero weights and where they are, and the biases."""
        entries = self.weights.tocoo()
        codes = entries.row.astype(np.int64) * self.weights.shape[1] + entries.col
        return {
            "codes": torch.from_numpy(codes),
            "values": torch.from_numpy(entries.data.astype(np.float32)),
            "bias": torch.from_numpy(self.bias.astype(np.float32)),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], shape: tuple[int, int]) -> "Fold":
        codes, values, bias = (tensors[name].cpu().numpy() for name in ("codes", "values", "bias"))
        weights = sp.csr_array((values.astype(np.float64), np.divmod(codes, shape[1])), shape=shape)
        return cls(weights, bias.astype(np.float64))


def fold_numbers(data: EventDataset) -> Ints:
    """The fold of each sequence, 0 to `N_FOLDS` - 1, by its id or its group.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence(name, (), (), ()) for name in "abcdef"])
    >>> bool((fold_numbers(data.select([2, 4])) == fold_numbers(data)[[2, 4]]).all())
    True
    """
    names: Iterable[object] = data.ids() if data.groups is None else map(int, data.groups)
    folds = (zlib.crc32(f"fold of {name}".encode()) % N_FOLDS for name in names)
    return np.fromiter(folds, np.int64, len(data))
