"""Predictability: how well the event types of its boundary alone predict a label.

A decision tree uses whether, how often, in which order, how close and how late the members occur
(`verification.arrangements`), and where the rule of the label holds, if it has one; a tree, because rules are
made of ANDs, ORs, exceptions and limits. Every sequence is predicted by a tree grown without it and without
the other sequences of its group. Sequences that are equal in all columns are counted once.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from eventcargo.events import EventDataset
from eventcargo.rules import Rule
from eventcargo.statistics.distinct_rows import distinct_rows
from eventcargo.verification.arrangements import MemberArrangements

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FOLDS = 5
LEAF = 5
"""Fewest sequences of a leaf."""

ENOUGH = 0.9
"""If presence explains this share, arrangements are not used."""

LEAST = 20
"""Fewest sequences in which an arrangement must hold."""

ARRANGED = 6
"""Most members, strongest first, whose arrangements are used: pairs grow with the square."""


@dataclass(frozen=True)
class Predictability:
    """Probability of the label in every sequence, and the share of its uncertainty that this explains.

    `explained` is 1 - log loss / log loss of the base rate: 1 if every prediction is certain and right, about
    0 if the base rate does as well.
    """

    probabilities: NDArray[np.float32]
    explained: float


class StudyPredictor:
    """Predicts every label in the sequences for which it is known; elsewhere the probability is 0.

    A sequence whose label is unknown then has no residual.
    """

    def __init__(self, data: EventDataset) -> None:
        self._data = data
        self._predictors = dict[str, tuple[EventDataset, Predictor]]()
        for study in data.studies():
            self._predictors |= dict.fromkeys(study.label_names, (study, Predictor(study)))

    def predict(
        self, label: str, members: list[int], rng: np.random.Generator, rule: Rule | None = None
    ) -> Predictability:
        """Predict a label from its members, strongest first, and from its rule."""
        study, predictor = self._predictors[label]
        carries = study.label_matrix()[:, [study.label_names.index(label)]].toarray().ravel() > 0
        predicted = predictor.predict(carries, members, rng, None if rule is None else rule.holds(study))
        rows = self._data.known_rows(self._data.label_names.index(label))
        if rows is None:
            return predicted
        probabilities = np.zeros(len(self._data), np.float32)
        probabilities[rows] = predicted.probabilities
        return replace(predicted, probabilities=probabilities)


class Predictor:
    """Predicts the labels of one data set from their boundaries.

    >>> from eventcargo.events import EventSequence
    >>> kinds = [(("x",), ("bad",)), (("y",), ())] * 30
    >>> data = EventDataset.from_sequences(
    ...     [EventSequence(f"{i:02}", events, (0.0,), labels) for i, (events, labels) in enumerate(kinds)])
    >>> predictability = Predictor(data).predict(np.array([True, False] * 30), [0], np.random.default_rng(0))
    >>> predictability.explained > 0.9
    True
    """

    def __init__(self, data: EventDataset) -> None:
        self._presence, self._occurrences = data.incidence, MemberArrangements(data)
        self._group = data.group_numbers

    def predict(
        self, carries: Flags, members: list[int], rng: np.random.Generator, rule: Flags | None = None
    ) -> Predictability:
        """Predict a label from its members, strongest first; from arrangements if presence is not enough.

        `rule` tells where the rule of the label holds: arrangements of three members are found by it alone.
        """
        folds = _folds(carries, self._group, rng)
        columns = self._presence.dense(members)
        by_presence = _predicted(columns, carries, folds)
        if not members or by_presence.explained >= ENOUGH:
            return by_presence
        told = np.zeros((len(carries), 0), bool) if rule is None else rule[:, None]
        columns = np.concatenate([columns, self._arranged(members[:ARRANGED]), told], axis=1)
        by_arrangement = _predicted(columns, carries, folds)
        return max(by_presence, by_arrangement, key=lambda one: one.explained)

    def _arranged(self, members: list[int]) -> Flags:
        arrangements = self._occurrences.arrangements(members, LEAST)
        columns = np.zeros((self._presence.shape[0], len(arrangements)), bool)
        for number, arrangement in enumerate(arrangements):
            columns[arrangement.rows, number] = True
        return columns


def _folds(carries: Flags, group: Ints, rng: np.random.Generator) -> Ints:
    """A random fold for every group of sequences, stratified by whether one of them carries the label."""
    with_label = np.zeros(group.max(initial=-1) + 1, bool)
    with_label[group[carries]] = True
    folds = np.zeros(len(with_label), np.int64)
    for value in (False, True):
        groups = rng.permutation(np.flatnonzero(with_label == value))
        folds[groups] = np.arange(len(groups)) % FOLDS
    return folds[group]


def _predicted(columns: Flags, carries: Flags, folds: Ints) -> Predictability:
    first, number = distinct_rows(columns)
    patterns = columns[first]
    counts = np.zeros((FOLDS, len(patterns), 2))
    np.add.at(counts, (folds, number, carries.astype(np.int64)), 1)
    probabilities = np.empty((FOLDS, len(patterns)))
    for fold in range(FOLDS):
        probabilities[fold] = _grown(patterns, counts.sum(axis=0) - counts[fold])
    predicted, rate = probabilities[folds, number], carries.mean()
    loss = -(xlogy(carries, predicted) + xlogy(~carries, 1 - predicted)).mean()
    base = -(xlogy(rate, rate) + xlogy(1 - rate, 1 - rate))
    return Predictability(predicted.astype(np.float32), float(1 - loss / base) if base > 0 else 0.0)


def _grown(patterns: Flags, counts: Floats) -> Floats:
    """Probability of the label for every pattern, from a tree's leaves plus one sequence at the base rate."""
    from sklearn.tree import DecisionTreeRegressor  # loads for long, and without time no tree is grown

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
    probability: Floats = (sums[:, 1] + rate) / (sums.sum(axis=1) + 1)
    return np.clip(probability, 1e-9, 1 - 1e-9)[leaves]
