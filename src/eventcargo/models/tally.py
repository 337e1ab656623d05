"""Tally: what `Counts` counts in a data set, as integers that add up over its parts.

Neighbouring events with BOS and EOS, and in how many sequences each event type meets each label; both stored
sparsely, because most pairs of 29,100 event types never occur.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from eventcargo.errors import DataError
from eventcargo.events import EventDataset, Ragged
from eventcargo.vocabulary import BOS, EOS, PAD, Vocabulary

STORED = ("data", "indices", "indptr")
"""The three columns of a sparse matrix."""


@dataclass(frozen=True)
class Tally:
    """Counts of V ids and Y labels.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("a", ("x", "x"), (0.0, 1.0), ("bad",))])
    >>> tally = Tally.of(data, Vocabulary(("x",)))
    >>> int(tally.pairs[4, 4]), int(tally.present[4]), int((tally + tally).sequences)
    (1, 1, 2)
    """

    pairs: sp.csr_array  # (V, V): how often an id stands right after another, BOS and EOS included
    joint: sp.csr_array  # (V, Y): sequences that hold the id and carry the label
    present: NDArray[np.int64]  # (V,): sequences that hold the id
    support: NDArray[np.int64]  # (Y,): sequences that carry the label
    sequences: int

    @classmethod
    def of(cls, data: EventDataset, vocabulary: Vocabulary) -> "Tally":
        """The counts of a data set that fits in memory."""
        ids = vocabulary.lookup(data.event_names)[data.flat()[1]]
        holds = _holds(data.rows.offsets, ids, len(vocabulary))
        carried = data.label_matrix().astype(np.int64)
        return cls(
            pairs=_pairs(data.rows, ids, len(vocabulary)),
            joint=sp.csr_array(holds.T @ carried),
            present=np.asarray(holds.sum(axis=0)),
            support=np.asarray(carried.sum(axis=0)),
            sequences=len(data),
        )

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.pairs + other.pairs,
            self.joint + other.joint,
            self.present + other.present,
            self.support + other.support,
            self.sequences + other.sequences,
        )

    def to_tensors(self) -> dict[str, Tensor]:
        """All counts by name, for a file of safetensors."""
        sparse = {"pairs": self.pairs, "joint": self.joint}
        parts = {f"{name}.{part}": getattr(m, part) for name, m in sparse.items() for part in STORED}
        arrays = {**parts, "present": self.present, "support": self.support, "sequences": self.sequences}
        return {name: torch.from_numpy(np.array(values, np.int64)) for name, values in arrays.items()}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], n_ids: int, n_labels: int) -> "Tally":
        """The counts `to_tensors` gave; others are refused."""
        try:
            arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
            pairs, joint = (
                _sparse(arrays, "pairs", (n_ids, n_ids)),
                _sparse(arrays, "joint", (n_ids, n_labels)),
            )
            present, support, sequences = (arrays[name] for name in ("present", "support", "sequences"))
            if (present.shape, support.shape, sequences.shape) != ((n_ids,), (n_labels,), ()):
                raise ValueError(f"{len(present)} ids and {len(support)} labels")
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"no counts of {n_ids:,} ids and {n_labels:,} labels: {error}") from None
        return cls(pairs, joint, present, support, int(sequences))


def _holds(offsets: NDArray[np.int64], ids: NDArray[np.int64], n_ids: int) -> sp.csr_array:
    """Which ids occur in which sequence, as 0 and 1: (sequences, V)."""
    # A copy of the ids, because the matrix sorts its columns in place and their order is needed for pairs.
    parts = (np.ones(len(ids), np.int64), ids.copy(), offsets)
    matrix = sp.csr_array(parts, shape=(len(offsets) - 1, n_ids))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def _pairs(rows: Ragged, ids: NDArray[np.int64], n_ids: int) -> sp.csr_array:
    """How often each id stands right after each other one: (V, V)."""
    ends = rows.offsets[1:] + 2 * np.arange(1, len(rows.starts) + 1) - 1
    line = np.full(len(ids) + 2 * len(ends), PAD, np.int64)
    line[ends] = EOS
    line[ends - rows.lengths - 1] = BOS
    line[line == PAD] = ids
    before, after = line[:-1], line[1:]
    real = before != EOS
    ones = np.ones(int(real.sum()), np.int64)
    return sp.csr_array(sp.coo_array((ones, (before[real], after[real])), shape=(n_ids, n_ids)))


def _sparse(arrays: Mapping[str, NDArray[np.int64]], name: str, shape: tuple[int, int]) -> sp.csr_array:
    matrix = sp.csr_array(tuple(arrays[f"{name}.{part}"] for part in STORED), shape=shape)
    matrix.check_format(full_check=True)
    return matrix
