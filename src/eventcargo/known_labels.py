"""KnownLabels: for which sequences it is known whether they carry a label.

A sequence may be there for the sake of some labels and say nothing about the others: in a case-control study
of one label, the cases of another label are neither cases nor controls, and a patient outside a task's cohort
was not looked at for this task. The known labels are kept, not the unknown ones, because a sequence is mostly
there for one label of many.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.ragged import Ragged


@dataclass(frozen=True)
class KnownLabels:
    """The numbers of the known labels, a ragged row per sequence.

    >>> known = KnownLabels.of(np.array([[True, False], [True, True]]))
    >>> known.rows.offsets.tolist(), known.labels.tolist()
    ([0, 1, 3], [0, 0, 1])
    >>> [(labels.tolist(), rows.tolist()) for labels, rows in known.alike(2)]
    [([0], [0, 1]), ([1], [1])]
    """

    rows: Ragged
    labels: NDArray[np.int32]

    @classmethod
    def of(cls, known: NDArray[np.bool_]) -> "KnownLabels":
        """From a matrix (sequences, labels)."""
        offsets = np.concatenate([[0], np.cumsum(known.sum(axis=1))]).astype(np.int64)
        return cls(Ragged.from_offsets(offsets), np.nonzero(known)[1].astype(np.int32))

    def __len__(self) -> int:
        return len(self.rows.starts)

    def take(self, rows: NDArray[np.int64]) -> "KnownLabels":
        """Those of some sequences; a view."""
        return KnownLabels(self.rows.take(rows), self.labels)

    @cached_property
    def contiguous(self) -> NDArray[np.int32]:
        """The labels of all rows, one after the other."""
        return self.rows.gather(self.labels).astype(np.int32, copy=False)

    def counts(self, n_labels: int) -> NDArray[np.int64]:
        """For how many sequences each label is known."""
        return np.bincount(self.contiguous, minlength=n_labels)

    def matrix(self, n_labels: int) -> NDArray[np.bool_]:
        """Which labels are known for which sequence: (sequences, labels)."""
        known = np.zeros((len(self), n_labels), bool)
        known[np.repeat(np.arange(len(self)), self.rows.lengths), self.contiguous] = True
        return known

    def sequences(self, label: int) -> NDArray[np.bool_]:
        """The sequences for which a label is known: (sequences,)."""
        known = np.zeros(len(self), bool)
        known[np.repeat(np.arange(len(self)), self.rows.lengths)[self.contiguous == label]] = True
        return known

    def alike(self, n_labels: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Labels that are known for the same sequences, and these sequences."""
        ones = np.ones(len(self.contiguous), np.int8)
        by_row = sp.csr_array((ones, self.contiguous, self.rows.offsets), shape=(len(self), n_labels))
        by_label = by_row.tocsc()
        by_label.sort_indices()
        alike = dict[bytes, list[int]]()
        for label in range(n_labels):
            rows = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
            alike.setdefault(rows.tobytes(), []).append(label)
        firsts = (
            (labels, by_label.indptr[labels[0]], by_label.indptr[labels[0] + 1]) for labels in alike.values()
        )
        return [(np.array(labels), by_label.indices[at:end].astype(np.int64)) for labels, at, end in firsts]
