"""How hiding an event type changes the linear term: exactly, and without a forward pass.

A feature is about one or two event types. Once all occurrences of one of them are hidden, the feature no
longer holds, and no other starts to hold, because a hidden event keeps its place and its time. A label's
logit therefore changes by the sum of the weights of the features about the hidden event type.
"""

from functools import cached_property, lru_cache

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.batches import Batch
from eventcargo.features import sides
from eventcargo.models.density import HidingChanges, SharedWeights
from eventcargo.models.linear.folds import N_FOLDS
from eventcargo.models.linear.term import LinearTerm

Ints = NDArray[np.int64]


class Hiding:
    """Computes the changes of one linear term, or of one of its folds; `hiding` caches the last few terms.

    >>> import torch
    >>> term = LinearTerm(6, 1, {"presence": np.array([4, 5])}, torch.tensor([[2.0], [0.0]]), torch.zeros(1))
    >>> ids, times = np.array([[1, 4, 5, 2]]), np.zeros((1, 4), np.float32)
    >>> changes = Hiding(term).changes(Batch(ids, times, np.array([4]), np.zeros((1, 1), np.float32)))
    >>> changes.logits.tolist(), changes.ids.tolist(), changes.taken.tolist()
    ([[2.0]], [4], [2.0])
    """

    def __init__(self, term: LinearTerm, fold: int | None = None) -> None:
        self._term, self._fold = term, fold
        self._bias = term.bias.double().cpu().numpy() if fold is None else term.folds[fold].bias

    @cached_property
    def _weights(self) -> sp.csr_array:
        """The nonzero weights: (features, labels)."""
        if self._fold is not None:
            return self._term.folds[self._fold].weights
        return sp.csr_array(self._term.weights.double().cpu().numpy())

    @cached_property
    def _used(self) -> NDArray[np.bool_] | None:
        """The features with a weight; None: all."""
        return None if self._fold is None else np.diff(self._weights.indptr) > 0

    @cached_property
    def _about(self) -> tuple[Ints, Ints]:
        """The event types of each feature; the second is -1 if there is only one."""
        return sides(self._term.keys, self._term.size)

    def changes(self, batch: Batch) -> HidingChanges:
        """Logits of all labels given the whole sequences, and what each event type contributes to them."""
        moments, weights = self._term.moments(batch, self._used), self._weights
        counts = np.diff(weights.indptr)[moments.keys]
        starts = np.repeat(weights.indptr[moments.keys] - np.cumsum(counts) + counts, counts)
        entries = starts + np.arange(int(counts.sum()))  # the stored weights of the features that hold
        rows, keys = np.repeat(moments.rows, counts), np.repeat(moments.keys, counts)
        labels, values = weights.indices[entries].astype(np.int64), weights.data[entries]
        logits = np.tile(self._bias, (len(batch.ids), 1))
        np.add.at(logits, (rows, labels), values)
        slope, cap = np.ones(len(self._bias)), np.full(len(self._bias), np.inf)
        by_type, shared = self._by_type(rows, labels, keys, values), self._shared(rows, labels, keys, values)
        return HidingChanges(logits, *by_type, slope, cap, shared)

    def _shared(
        self, rows: Ints, labels: Ints, keys: Ints, values: NDArray[np.float64]
    ) -> SharedWeights | None:
        """The weights of features about two event types."""
        two = np.flatnonzero(self._about[1][keys] >= 0)
        if not len(two):
            return None
        first, second = (side[keys[two]] for side in self._about)
        return SharedWeights(rows[two], labels[two], first, second, values[two])

    def _by_type(
        self, rows: Ints, labels: Ints, keys: Ints, values: NDArray[np.float64]
    ) -> tuple[Ints, Ints, Ints, NDArray[np.float64]]:
        """Weights summed over the features of each event type."""
        first, second = self._about[0][keys], self._about[1][keys]
        two = second >= 0
        n_labels, size = len(self._bias), self._term.size
        pairs = rows * n_labels + labels
        codes = np.concatenate([pairs * size + first, (pairs * size + second)[two]])
        distinct, which = np.unique(codes, return_inverse=True)
        taken = np.bincount(which, np.concatenate([values, values[two]]), len(distinct)).astype(np.float64)
        return distinct // size // n_labels, distinct // size % n_labels, distinct % size, taken


@lru_cache(maxsize=4 * (1 + N_FOLDS))
def hiding(term: LinearTerm, fold: int | None = None) -> Hiding:
    """The `Hiding` of a term, or of one of its folds, made once."""
    return Hiding(term, fold)
