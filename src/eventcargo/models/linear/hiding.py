"""What hiding an event type changes in the explicit term: exactly, and without a forward pass.

A feature is about one or two event types. Where one of them is hidden, wherever it occurs, the feature is not
true any more, and no other becomes true, because a hidden event keeps its place and its time. The change of a
label's logit is therefore the sum of the weights of the features that are about the hidden event type.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.batches import Batch
from eventcargo.features import sides
from eventcargo.models.linear.term import LinearTerm

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Changes:
    """Logits of whole sequences, and what hiding an event type takes away from them, where it does.

    The flat columns are sorted by row, label and id.
    """

    logits: NDArray[np.float64]  # (B, labels)
    rows: Ints
    labels: Ints
    ids: Ints  # the hidden event type
    taken: NDArray[np.float64]


class Hiding:
    """Answers for one explicit term; `hiding` keeps those of the last few terms.

    >>> import torch
    >>> term = LinearTerm(6, 1, {"presence": np.array([4, 5])}, torch.tensor([[2.0], [0.0]]), torch.zeros(1))
    >>> ids, times = np.array([[1, 4, 5, 2]]), np.zeros((1, 4), np.float32)
    >>> found = Hiding(term).changes(Batch(ids, times, np.array([4]), np.zeros((1, 1), np.float32)))
    >>> found.logits.tolist(), found.ids.tolist(), found.taken.tolist()
    ([[2.0]], [4], [2.0])
    """

    def __init__(self, term: LinearTerm) -> None:
        self._term = term
        self._bias = term.bias.double().cpu().numpy()

    @cached_property
    def _weights(self) -> sp.csr_array:
        """The weights that are not 0: (features, labels)."""
        return sp.csr_array(self._term.weights.double().cpu().numpy())

    @cached_property
    def _about(self) -> tuple[Ints, Ints]:
        """The event types each feature is about; the second is -1 where there is none other."""
        return sides(self._term.keys, self._term.size)

    def changes(self, batch: Batch) -> Changes:
        """Logits of all labels given the whole sequences, and what each event type adds to them."""
        moments, weights = self._term.moments(batch), self._weights
        counts = np.diff(weights.indptr)[moments.keys]
        starts = np.repeat(weights.indptr[moments.keys] - np.cumsum(counts) + counts, counts)
        entries = starts + np.arange(int(counts.sum()))  # the stored weights of all features that hold
        rows, keys = np.repeat(moments.rows, counts), np.repeat(moments.keys, counts)
        labels, values = weights.indices[entries].astype(np.int64), weights.data[entries]
        logits = np.tile(self._bias, (len(batch.ids), 1))
        np.add.at(logits, (rows, labels), values)
        return Changes(logits, *self._by_type(rows, labels, keys, values))

    def _by_type(
        self, rows: Ints, labels: Ints, keys: Ints, values: NDArray[np.float64]
    ) -> tuple[Ints, Ints, Ints, NDArray[np.float64]]:
        """Weights summed over the features about each event type."""
        first, second = self._about[0][keys], self._about[1][keys]
        two = second >= 0
        n_labels, size = len(self._bias), self._term.size
        pairs = rows * n_labels + labels
        codes = np.concatenate([pairs * size + first, (pairs * size + second)[two]])
        found, which = np.unique(codes, return_inverse=True)
        taken = np.bincount(which, np.concatenate([values, values[two]]), len(found)).astype(np.float64)
        return found // size // n_labels, found // size % n_labels, found % size, taken


@lru_cache(maxsize=4)
def hiding(term: LinearTerm) -> Hiding:
    """The answers for a term, made once."""
    return Hiding(term)
