"""ScoreTest: how a label depends on one column given others, whose effects on its log odds add up.

The label given the other columns is a logistic regression. The score of a column is the sum over sequences of
(column - what the others tell of it) * (label - its probability), as Rao (1948) has it. G2 compares within
strata, and most strata of a large condition hold too few sequences to compare; the score compares across
them, so it sees causes that are weak and add up. In return it is blind to what acts in one stratum alone.

If label or column are rare, the score is not normal far out in its tail, where corrected tests decide. The
tail comes from its cumulant generating function, as in tests of rare genetic variants (Dey et al. 2017).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.special import expit, logit, ndtr

from eventcargo.binary_matrix import BinaryMatrix
from eventcargo.statistics.contingency import Rows
from eventcargo.statistics.distinct_rows import distinct_rows
from eventcargo.statistics.exact_g2 import Ints, PatternCounts
from eventcargo.statistics.firth import FirthRegression

Floats = NDArray[np.float64]

NORMAL = 2.0
"""Up to this many standard deviations, the score is taken as normal."""

MIN_VARIANCE = 1e-6
"""A score with a smaller variance does not vary: the other columns determine the column."""

NEAR = 1e-9
"""Relative distance below which two values are the same."""

STEPS = 60
"""Most steps of the search for the saddlepoint."""

PAIRED = 8.0
"""Standard deviations by which a pair of columns must matter."""

MAX_PAIRED, MAX_PAIRS = 16, 12
"""Most columns, the first ones, whose pairs are looked at, and most pairs that become columns."""

SAME = 1e-8
"""Relative size below which a column is a sum of others."""


@dataclass(frozen=True)
class ScoreTest:
    """The score of a column, and the sequences that it is a sum over, pattern by pattern.

    >>> columns, counts = np.array([[0], [1]], bool), np.array([[3327, 102], [14, 5]])
    >>> test = ScoreTest.of(PatternCounts(columns, counts), 0, [])
    >>> round(test.z, 2), round(test.p_value, 5)          # twice a tail of 0.00028; the exact one is 0.00022
    (5.84, 0.00057)
    """

    column: Floats  # (patterns,): what the others do not tell of it
    probability: Floats  # (patterns,): of the label given the others
    trials: Floats  # (patterns,): sequences, divided by the design effect
    score: float
    design_effect: float = 1.0

    @classmethod
    def of(
        cls, patterns: PatternCounts, column: int, condition: Sequence[int], design_effect: float = 1.0
    ) -> "ScoreTest":
        """The test of a column given others, as of counts divided by the design effect."""
        hits, trials = patterns.counts[:, 1] / design_effect, patterns.counts.sum(1) / design_effect
        if not 0 < hits.sum() < trials.sum():
            return cls(np.zeros(len(hits)), np.full(len(hits), 0.5), trials, 0.0, design_effect)
        null = NullFit.of(patterns.columns[:, patterns.given(condition)], hits, trials)
        whole = patterns.columns[:, column].astype(np.float64)
        own = null.without_others(whole)
        if null.weights @ own**2 <= SAME * (null.weights @ whole**2):  # the others determine it
            own = np.zeros(len(own))
        score = float(own @ (hits - trials * null.probability))
        return cls(own, null.probability, trials, score, design_effect)

    @property
    def variance(self) -> float:
        p = self.probability
        return float((self.trials * self.column**2 * p * (1 - p)).sum())

    @property
    def z(self) -> float:
        """The score in standard deviations; 0 if it does not vary."""
        return float(self.score / np.sqrt(self.variance)) if self.variance > MIN_VARIANCE else 0.0

    @property
    def gain(self) -> float:
        """Nats that the column adds to the label's log-likelihood, beyond the mean under independence."""
        root = abs(self.z)
        if root > NORMAL and abs(self.score) < (1 - NEAR) * self._largest(np.sign(self.score) * self.column):
            root = min(root, self._root(np.sign(self.score) * self.column, abs(self.score))[0])
        return max(0.0, (root**2 - 1) / 2) * self.design_effect

    @cached_property
    def p_value(self) -> float | None:
        """Probability of a score this far from 0 under independence; None if it cannot vary."""
        if self.variance <= MIN_VARIANCE:
            return None
        if abs(self.z) <= NORMAL:
            return float(2 * ndtr(-abs(self.z)))
        # twice the tail on the side of the score: the other one, of a skewed score, may be far heavier
        return min(1.0, 2 * self._tail(np.sign(self.score) * self.column))

    def _tail(self, column: Floats) -> float:
        """P(score of this column >= |score|) by the saddlepoint approximation of Lugannani & Rice (1980)."""
        # the score moves in steps of one sequence: half a step makes the tail that of a sum of steps
        target = abs(self.score) - 0.5
        if target <= 0:
            return 0.5
        if self._largest(column) <= target:
            return 0.0
        w, u = self._root(column, target)
        return float(ndtr(-(w + np.log(u / w) / w)))  # P = 1 - Phi(w + log(u / w) / w)

    def _root(self, column: Floats, target: float) -> tuple[float, float]:
        """w = sqrt(2 (t s - K(t))), the signed root of a likelihood ratio, and u = t sqrt(K''(t))."""
        t = _saddlepoint(column, self.probability, self.trials, target)
        height, _, curvature = _cumulants(column, self.probability, self.trials, t)
        return float(np.sqrt(max(2 * (t * target - height), NEAR))), max(t * float(np.sqrt(curvature)), NEAR)

    def _largest(self, column: Floats) -> float:
        """The largest score that a column can have."""
        return float((self.trials * (np.maximum(column, 0) - column * self.probability)).sum())


@dataclass(frozen=True)
class NullFit:
    """A label's probability given some columns, by Firth's logistic regression on distinct patterns.

    Columns that act together, as in "a and b", are no sum on the log odds. What the sum leaves over would be
    taken for the effect of whatever comes with both, so pairs of columns that matter are columns too.
    """

    X: Floats  # (patterns, columns), linearly independent, the first is 1
    probability: Floats  # (patterns,)
    weights: Floats  # (patterns,): trials * p * (1 - p)
    inverse: Floats  # (columns, columns), of the information

    @classmethod
    def of(cls, columns: NDArray[np.bool_], hits: Floats, trials: Floats) -> "NullFit":
        """The fit on columns (patterns, columns) and counts of the patterns."""
        X = _independent(np.column_stack([np.ones(len(columns)), columns]), trials > 0)
        first = cls._fitted(X, hits, trials)
        pairs = first._pairs(columns[:, :MAX_PAIRED], hits, trials)
        if not pairs.size:
            return first
        return cls._fitted(_independent(np.column_stack([X, pairs]), trials > 0), hits, trials)

    @classmethod
    def _fitted(cls, X: Floats, hits: Floats, trials: Floats) -> "NullFit":
        fit = FirthRegression(X, hits, trials).fit()
        p = np.clip(fit.probability[0], 1e-12, 1 - 1e-12)
        return cls(X, p, trials * p * (1 - p), fit.inverse[0])

    def _pairs(self, columns: NDArray[np.bool_], hits: Floats, trials: Floats) -> Floats:
        """The pairs of columns that the label clearly depends on beyond the fit: (patterns, pairs)."""
        first, second = np.triu_indices(columns.shape[1], 1)
        both = (columns[:, first] & columns[:, second]).astype(np.float64)
        own = self.without_others(both)
        variance = self.weights @ own**2
        z = own.T @ (hits - trials * self.probability) / np.sqrt(np.maximum(variance, MIN_VARIANCE))
        strong = np.argsort(-np.abs(z), kind="stable")[:MAX_PAIRS]
        chosen: Floats = both[:, strong[np.abs(z[strong]) > PAIRED]]
        return chosen

    def without_others(self, column: Floats) -> Floats:
        """A column, or several, less the weighted projection on those of the fit."""
        weighted = (self.weights * column.T).T
        rest: Floats = column - self.X @ (self.inverse @ (self.X.T @ weighted))
        return rest


def _independent(X: Floats, seen: NDArray[np.bool_]) -> Floats:
    """The columns without those that are sums of others in the rows that were seen; the first stays."""
    _, triangle, order = qr(X[seen], mode="economic", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    kept = np.sort(order[: int((sizes > SAME * sizes[0]).sum())])
    if len(kept) and kept[0] != 0:
        kept = np.sort(np.append(kept[:-1], 0))
    return X[:, kept]


def _saddlepoint(column: Floats, p: Floats, n: Floats, target: float) -> float:
    """The t at which the tilted score has mean `target`, by Newton's steps within a bracket."""
    low, high, t = 0.0, np.inf, target / float((n * column**2 * p * (1 - p)).sum())
    for _ in range(STEPS):
        _, mean, variance = _cumulants(column, p, n, t)
        if abs(mean - target) <= NEAR * target:
            break
        low, high = (t, high) if mean < target else (low, t)
        step = t + (target - mean) / max(variance, NEAR)
        t = step if low < step < high else (2 * t if np.isinf(high) else (low + high) / 2)
    return t


def _cumulants(column: Floats, p: Floats, n: Floats, t: float) -> tuple[float, float, float]:
    """The cumulant generating function of the score at t, and its first two derivatives."""
    # K(t) = sum n (log(1 - p + p exp(t c)) - t c p)
    tilted = expit(logit(p) + t * column)
    height = n * (np.logaddexp(np.log1p(-p), np.log(p) + t * column) - t * column * p)
    return (
        float(height.sum()),
        float((n * column * (tilted - p)).sum()),
        float((n * column**2 * tilted * (1 - tilted)).sum()),
    )


class ScoreScreen:
    """Scores of all event types at once, normal; the cost is that of the sequences where something happens.

    >>> presence = BinaryMatrix.of(np.array([[1, 0], [1, 1], [0, 1], [0, 0]] * 30))
    >>> positives = np.arange(0, 120, 4, dtype=np.int32)
    >>> ScoreScreen(presence).z(positives, []).round(1).tolist()
    [6.3, -6.3]
    """

    def __init__(self, presence: BinaryMatrix) -> None:
        self._presence, self._n_rows = presence, presence.shape[0]
        self._totals = presence.totals.astype(np.float64)

    def z(self, positives: Rows, columns: Sequence[Rows | Ints]) -> Floats:
        """The score of every event type given some columns, in standard deviations; 0 if it cannot vary."""
        if not 0 < len(positives) < self._n_rows:
            return np.zeros(len(self._totals))
        rows = np.unique(np.concatenate([positives, *columns]))
        table = np.zeros((len(rows) + 1, len(columns)), bool)  # the last is all other sequences
        for at, column in enumerate(columns):
            table[np.searchsorted(rows, column), at] = True
        first, number = distinct_rows(table)
        hits, trials = np.zeros(len(first)), np.bincount(number[:-1], minlength=len(first)).astype(float)
        np.add.at(hits, number[np.searchsorted(rows, positives)], 1.0)
        trials[number[-1]] += self._n_rows - len(rows)
        return self._scores(rows, positives, NullFit.of(table[first], hits, trials), number)

    def _scores(self, rows: Rows, positives: Rows, null: NullFit, number: Ints) -> Floats:
        """The scores given a fit and the pattern of each row; the last pattern is that of all other rows."""
        blank = float(null.probability[number[-1]])
        of_blank, carries = blank * (1 - blank), np.zeros(len(rows))
        carries[np.searchsorted(rows, positives)] = 1.0
        sums = np.zeros((len(self._totals), 1 + null.X.shape[1]))
        unexplained = np.zeros(null.X.shape[1])
        for first, end, presence in self._presence.parts_of(rows):
            own, X = number[first:end], null.X[number[first:end]]
            p = null.probability[own]
            residual = blank - p + carries[first:end]  # beyond that of the other sequences, which is -blank
            weighted = (p * (1 - p))[:, None] * X
            weighted[:, 0] -= of_blank
            sums += presence.T @ np.column_stack([residual, weighted])  # (event types, 1 + columns)
            unexplained += X.T @ (residual - blank)
        score, across = sums[:, 0] - blank * self._totals, sums[:, 1:]
        across[:, 0] += of_blank * self._totals
        size = across[:, 0] - (across @ null.inverse * across).sum(1)
        unexplained[0] -= blank * (self._n_rows - len(rows))
        score = score - across @ (null.inverse @ unexplained)
        z: Floats = np.where(size > MIN_VARIANCE, score / np.sqrt(np.maximum(size, MIN_VARIANCE)), 0.0)
        return z
