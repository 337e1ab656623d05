"""ExactG2: how a label depends on one column of the data given others, if most strata hold few sequences.

Sequences with equal columns are counted once (`PatternCounts`), which makes every later test small. G2 is
summed over the strata of the condition. In a stratum with few sequences it does not follow a chi-square
distribution, so its distribution under independence is that over all tables with the same margins (`NullG2`).

If sequences come in groups, counts are divided by the design effect of the column: these are the counts of as
many independent sequences as the groups are worth. Nats are multiplied by it again, so that they stay sums
over all sequences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, betaln, xlogy

from eventcargo.statistics.design_effect import Groups, ScoreDesignEffect
from eventcargo.statistics.distinct_rows import distinct_rows
from eventcargo.statistics.null_g2 import NullG2

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = NDArray[np.int32] | NDArray[np.int64]

DOUBT = 0.05
"""Probability that a rate lies below its lower bound, and above its upper bound."""


@dataclass(frozen=True)
class PatternCounts:
    """Distinct rows of some columns, and the number of sequences without and with the label that have each.

    >>> columns, carries = np.array([[1, 0], [1, 1], [1, 0]], bool), np.array([False, True, True])
    >>> PatternCounts.of(columns, carries, n_blank=7).counts.tolist()
    [[7, 0], [1, 1], [0, 1]]
    """

    columns: NDArray[np.bool_]  # (patterns, columns)
    counts: Ints  # (patterns, 2)
    grouped: "GroupedRows | None" = None  # None: sequences are independent
    n_adjusted: int = 0
    """Columns, the last ones, that are in every condition."""

    @classmethod
    def of(
        cls,
        columns: NDArray[np.bool_],
        carries: NDArray[np.bool_],
        n_blank: int = 0,
        groups: Groups = None,
        n_adjusted: int = 0,
    ) -> "PatternCounts":
        """Count the distinct rows; `n_blank` further sequences have neither a column nor the label.

        `groups` has the group of each row, None: each is its own; with groups no sequence may be blank.
        """
        if groups is not None:
            assert not n_blank
            first, number = distinct_rows(columns)
            counts = np.zeros((len(first), 2), np.int64)
            np.add.at(counts, (number, carries.astype(np.int64)), 1)
            return cls(columns[first], counts, GroupedRows(number, carries, groups), n_adjusted)
        with_blank = np.concatenate([np.zeros((1, columns.shape[1]), bool), columns])
        first, number = distinct_rows(with_blank)
        counts = np.zeros((len(first), 2), np.int64)
        np.add.at(counts, (number[1:], carries.astype(np.int64)), 1)
        counts[number[0], 0] += n_blank
        return cls(with_blank[first], counts, n_adjusted=n_adjusted)

    @classmethod
    def of_rows(
        cls,
        columns: Sequence[Rows | Ints],
        positives: Rows,
        n_sequences: int,
        adjusted: Sequence[Rows] = (),
        groups: Groups = None,
    ) -> "PatternCounts":
        """The patterns of columns, each given by the sorted numbers of the sequences that have it."""
        every = [*columns, *adjusted]
        rows = (
            np.arange(n_sequences) if groups is not None else np.unique(np.concatenate([positives, *every]))
        )
        table = np.zeros((len(rows), len(every)), bool)
        for at, column in enumerate(every):
            table[np.searchsorted(rows, column), at] = True
        carries = np.zeros(len(rows), bool)
        carries[np.searchsorted(rows, positives)] = True
        return cls.of(table, carries, n_sequences - len(rows), groups, len(adjusted))

    def tables(self, column: int, condition: Sequence[int]) -> Ints:
        """Numbers of sequences by stratum of the condition, column and label: (strata, 2, 2)."""
        first, stratum = distinct_rows(self.columns[:, self.given(condition)])
        tables = np.zeros((len(first), 2, 2), np.int64)
        np.add.at(tables, (stratum, self.columns[:, column].astype(np.int64)), self.counts)
        return tables

    def given(self, condition: Sequence[int]) -> list[int]:
        """The columns of a condition and those that are in every condition."""
        width = self.columns.shape[1]
        return [*condition, *range(width - self.n_adjusted, width)]

    def design_effect(self, column: int, condition: Sequence[int]) -> float:
        """The design effect of the label's association with the column, given the condition."""
        if self.grouped is None:
            return 1.0
        number, carries, groups = self.grouped.number, self.grouped.carries, self.grouped.groups
        stratum = distinct_rows(self.columns[:, self.given(condition)])[1][number]
        has_column = np.flatnonzero(self.columns[number, column])
        return ScoreDesignEffect.of(carries, stratum, groups).of_rows(has_column)


@dataclass(frozen=True)
class GroupedRows:
    """Of every sequence the number of its pattern, whether it carries the label, and its group."""

    number: Ints
    carries: NDArray[np.bool_]
    groups: NDArray[np.int32] | NDArray[np.int64]


@dataclass(frozen=True)
class ExactG2:
    """G2 of a column given a condition, with its distribution under independence.

    >>> test = ExactG2.of(np.array([[[30, 10], [10, 30]]]))
    >>> round(test.g2, 2), test.mean, test.variance, round(test.gain, 2)
    (20.93, 1.0, 2.0, 9.96)
    """

    g2: float
    null: NullG2
    design_effect: float = 1.0

    @classmethod
    def of(cls, tables: Ints, design_effect: float = 1.0) -> "ExactG2":
        """The test of tables (strata, 2, 2), as of counts divided by the design effect."""
        null = NullG2.of(tables, design_effect)
        return cls(float(_g2(tables).sum()) / design_effect, null, design_effect)

    @property
    def mean(self) -> float:
        return self.null.mean

    @property
    def variance(self) -> float:
        return self.null.variance

    @cached_property
    def p_value(self) -> float | None:
        """Probability of a G2 this large under independence; None if the margins fix every table."""
        return self.null.p_value(self.g2)

    @property
    def gain(self) -> float:
        """Nats that the column adds to the label's log-likelihood, beyond the mean under independence."""
        return max(0.0, (self.g2 - self.mean) / 2) * self.design_effect

    @property
    def max_gain(self) -> float:
        """The gain that would give a G2 this low or lower with a probability of about DOUBT."""
        # as in a noncentral chi-square, the excess adds 4 * excess to the variance; 1.64: 95 % quantile
        excess = max(0.0, self.g2 - self.mean)
        return (excess + 1.64 * float(np.sqrt(self.variance + 4 * excess))) / 2 * self.design_effect


def _g2(tables: Ints) -> Floats:
    """G2 of every table: (strata,)."""
    # G2 = 2 (sum n_ij log n_ij - sum n_i. log n_i. - sum n_.j log n_.j + n log n)
    sides = xlogy(tables.sum(1), tables.sum(1)).sum(-1) + xlogy(tables.sum(2), tables.sum(2)).sum(-1)
    whole = tables.sum((1, 2))
    g2: Floats = 2.0 * (xlogy(tables, tables).sum((1, 2)) - sides + xlogy(whole, whole))
    return np.maximum(g2, 0.0)  # rounding can give a value just below zero


def max_presence_gain(tables: Ints, design_effect: float = 1.0) -> float:
    """The most nats that the column can be worth in the sequences that have it, judged by those without it.

    In every stratum the label's rate without the column, at its most unfavourable bound (probability DOUBT),
    predicts the sequences with it. Errors of strata add in quadrature. A stratum in which every sequence has
    the column allows no comparison and adds nothing: see `incomparable`.

    >>> alike = max_presence_gain(np.array([[[100, 100], [50, 50]]]))
    >>> apart = max_presence_gain(np.array([[[190, 10], [10, 90]]]))
    >>> round(alike, 1), round(apart, 1)
    (0.7, 285.6)
    """
    without, having = _compared(tables, design_effect)
    return _at_most(without, having, _length(having, _rate(having))) * design_effect


def residual_information(tables: Ints, design_effect: float = 1.0) -> float:
    """The most nats needed to predict the label in the sequences with the column from those without it.

    Whatever the column is worth, by presence or arrangement, it cannot be worth more.

    >>> residual_information(np.array([[[1000, 0], [100, 0]]])) < 1
    True
    >>> residual_information(np.array([[[500, 500], [50, 50]]])) > 1
    True
    """
    without, having = _compared(tables, design_effect)
    return _at_most(without, having, np.zeros(len(having))) * design_effect


def _compared(tables: Ints, design_effect: float) -> tuple[Floats, Floats]:
    """Sequences without and with the column, by label, in the strata that have both: (strata, 2) each."""
    comparable = tables.sum(2).min(1) > 0
    return tables[comparable, 0] / design_effect, tables[comparable, 1] / design_effect


def _at_most(without: Floats, having: Floats, saved: Floats) -> float:
    """Upper bound of the code length of some sequences under the rates of others, minus `saved`."""
    # sum of the lengths at the estimated rates + sqrt(sum of squared changes at the unfavourable bounds)
    middle = _length(having, _rate(without)) - saved
    worst = np.maximum(*(_length(having, _limit(without, tail)) for tail in (DOUBT, 1 - DOUBT))) - saved
    return float(max(middle.sum(), 0.0) + np.sqrt(((worst - middle) ** 2).sum()))


def own_residual_information(tables: Ints, design_effect: float = 1.0) -> float:
    """The same for a column that every sequence has: each sequence is predicted from those before it.

    The code length log B(1/2, 1/2) - log B(n1 + 1/2, n0 + 1/2) of Krichevsky & Trofimov (1981), per stratum.

    >>> own_residual_information(np.array([[[0, 0], [0, 100]], [[0, 0], [100, 0]]])) < 6
    True
    """
    having = tables[:, 1] / design_effect
    return float((betaln(0.5, 0.5) - betaln(having[:, 1] + 0.5, having[:, 0] + 0.5)).sum()) * design_effect


def incomparable_share(tables: Ints) -> float:
    """The share of the sequences with the column that are in strata where all have it.

    >>> incomparable_share(np.array([[[0, 0], [10, 90]], [[50, 0], [100, 0]]]))
    0.5
    """
    alone = tables[:, 0].sum(1) == 0
    return float(tables[alone, 1].sum() / max(tables[:, 1].sum(), 1))


def _rate(counts: Floats) -> Floats:
    """Rate of the label with half a sequence of either kind added: (strata,)."""
    rate: Floats = (counts[:, 1] + 0.5) / (counts.sum(1) + 1.0)
    return rate


def _limit(counts: Floats, tail: float) -> Floats:
    """The `tail` quantile of the rate's Jeffreys posterior: (strata,)."""
    limit: Floats = betaincinv(counts[:, 1] + 0.5, counts[:, 0] + 0.5, tail)
    return np.clip(limit, 1e-9, 1 - 1e-9)


def _length(counts: Floats, rate: Floats) -> Floats:
    """Code length of the labels of some sequences under a rate, in nats: (strata,)."""
    length: Floats = -(xlogy(counts[:, 1], rate) + xlogy(counts[:, 0], 1 - rate))
    return length
