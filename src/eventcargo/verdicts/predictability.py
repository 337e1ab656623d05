"""Predictability: how well a label can be told from the event types of its boundary alone.

A decision tree on whether, how often, in which order, how close and how late the members occur (`features`,
`fusion.arrangements`). A tree, because rules are made of ANDs, ORs, exceptions and limits. Every sequence is
told by a tree that was grown without it. Sequences alike in all columns are counted once.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.tree import DecisionTreeRegressor

from eventcargo.events import EventDataset
from eventcargo.verify.arrangements import MemberArrangements

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FOLDS = 5
LEAF = 5
"""Sequences of a leaf, at least."""

ENOUGH = 0.9
"""Share explained by presence from which on arrangements are not looked at."""

LEAST = 20
"""Sequences in which an arrangement must hold."""

ARRANGED = 6
"""Members, the strongest, whose arrangements are looked at: their number grows with the square."""


@dataclass(frozen=True)
class Predictability:
    """Chance of the label in every sequence, and the share of its uncertainty that this explains.

    `explained` is 1 - log loss / log loss of the base rate: 1 where the label is told without fail, about 0
    where the base rate does as well.
    """

    probabilities: Floats
    explained: float


class Predictor:
    """Forecasts from boundaries, for the labels of one data set.

    >>> from eventcargo.events import EventSequence
    >>> kinds = [(("x",), ("bad",)), (("y",), ())] * 30
    >>> data = EventDataset.from_sequences(
    ...     [EventSequence(f"{i:02}", events, (0.0,), labels) for i, (events, labels) in enumerate(kinds)])
    >>> told = Predictor(data).forecast(np.array([True, False] * 30), [0], np.random.default_rng(0))
    >>> told.explained > 0.9
    True
    """

    def __init__(self, data: EventDataset) -> None:
        self._presence, self._occurrences = data.presence().tocsc(), MemberArrangements(data)

    def forecast(self, carries: Flags, members: list[int], rng: np.random.Generator) -> Predictability:
        """Predict a label from its members, strongest first; by arrangements where presence is not enough."""
        folds = _folds(carries, rng)
        columns = self._presence[:, members].toarray() > 0
        found = _told(columns, carries, folds)
        if not members or found.explained >= ENOUGH:
            return found
        more = _told(np.concatenate([columns, self._arranged(members[:ARRANGED])], axis=1), carries, folds)
        return max(found, more, key=lambda forecast: forecast.explained)

    def _arranged(self, members: list[int]) -> Flags:
        found = self._occurrences.arrangements(members, LEAST)
        columns = np.zeros((self._presence.shape[0], len(found)), bool)
        for number, arrangement in enumerate(found):
            columns[arrangement.rows, number] = True
        return columns


def _folds(carries: Flags, rng: np.random.Generator) -> Ints:
    """A random fold for every sequence, each with its part of those that carry the label."""
    folds = np.zeros(len(carries), np.int64)
    for value in (False, True):
        rows = rng.permutation(np.flatnonzero(carries == value))
        folds[rows] = np.arange(len(rows)) % FOLDS
    return folds


def _told(columns: Flags, carries: Flags, folds: Ints) -> Predictability:
    patterns, number = _distinct(columns)
    counts = np.zeros((FOLDS, len(patterns), 2))
    np.add.at(counts, (folds, number, carries.astype(np.int64)), 1)
    probabilities = np.empty((FOLDS, len(patterns)))
    for fold in range(FOLDS):
        probabilities[fold] = _grown(patterns, counts.sum(axis=0) - counts[fold])
    told, rate = probabilities[folds, number], carries.mean()
    loss = -(xlogy(carries, told) + xlogy(~carries, 1 - told)).mean()
    base = -(xlogy(rate, rate) + xlogy(1 - rate, 1 - rate))
    return Predictability(told, float(1 - loss / base) if base > 0 else 0.0)


def _grown(patterns: Flags, counts: Floats) -> Floats:
    """Chance of the label for every pattern, from the leaves of a tree and one sequence of the base rate."""
    seen, rate = counts.sum(axis=1) > 0, counts[:, 1].sum() / counts.sum()
    leaves = np.zeros(len(patterns), np.int64)
    if patterns.shape[1]:
        weights = counts[seen].sum(axis=1)
        tree = DecisionTreeRegressor(
            min_weight_fraction_leaf=min(0.5, LEAF / weights.sum()), random_state=0
        ).fit(patterns[seen].astype(np.float32), counts[seen, 1] / weights, sample_weight=weights)
        leaves = tree.apply(patterns.astype(np.float32))
    sums = np.zeros((leaves.max() + 1, 2))
    np.add.at(sums, leaves, counts)
    chance: Floats = (sums[:, 1] + rate) / (sums.sum(axis=1) + 1)
    return np.clip(chance, 1e-9, 1 - 1e-9)[leaves]


def _distinct(columns: Flags) -> tuple[Flags, Ints]:
    """The distinct rows, and for every row which of them it is."""
    if columns.shape[1] == 0:
        return columns[:1], np.zeros(len(columns), np.int64)
    packed = np.ascontiguousarray(np.packbits(columns, axis=1))
    words = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, number = np.unique(words, return_index=True, return_inverse=True)
    return columns[first], number
