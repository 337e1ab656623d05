"""Strata: how a label depends on one column of the data given others, where most strata hold few sequences.

Sequences with the same columns are counted once (`PatternCounts`); every later question is then small. G2
is summed over the strata of the condition. With a few sequences in a stratum it does not follow a chi-square
distribution, so its mean and variance under independence are taken from all tables with the same margins
(the hypergeometric distribution), and p from the gamma distribution that has the summed mean and variance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, betaln, gammaincc, gammaln, xlogy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ENOUGH = 5.0
"""From this expected number of sequences in the smallest cell on, G2 of a stratum is chi-square."""

LARGEST_CELL = 40
"""Tables whose smallest cell holds more than this are left out; with an expected 5 their chance is 1e-20."""

DOUBT = 0.05
"""A rate is taken to be as low, or as high, as it is with this chance."""


@dataclass(frozen=True)
class PatternCounts:
    """Distinct rows of some columns, and how many sequences without and with the label have each.

    >>> columns, carries = np.array([[1, 0], [1, 1], [1, 0]], bool), np.array([False, True, True])
    >>> PatternCounts.of(columns, carries, n_blank=7).counts.tolist()
    [[7, 0], [1, 1], [0, 1]]
    """

    columns: NDArray[np.bool_]  # (patterns, columns)
    counts: Ints  # (patterns, 2)

    @classmethod
    def of(cls, columns: NDArray[np.bool_], carries: NDArray[np.bool_], n_blank: int = 0) -> "PatternCounts":
        """`n_blank` further sequences have no column and not the label."""
        with_blank = np.concatenate([np.zeros((1, columns.shape[1]), bool), columns])
        first, number = _distinct(with_blank)
        counts = np.zeros((len(first), 2), np.int64)
        np.add.at(counts, (number[1:], carries.astype(np.int64)), 1)
        counts[number[0], 0] += n_blank
        return cls(with_blank[first], counts)

    def tables(self, column: int, condition: Sequence[int]) -> Ints:
        """Sequences by stratum of the condition, column and label: (strata, 2, 2)."""
        first, stratum = _distinct(self.columns[:, list(condition)])
        tables = np.zeros((len(first), 2, 2), np.int64)
        np.add.at(tables, (stratum, self.columns[:, column].astype(np.int64)), self.counts)
        return tables


def _distinct(columns: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """The first of equal rows, and for every row which of these it equals."""
    if columns.shape[1] == 0:
        return np.zeros(min(1, len(columns)), np.int64), np.zeros(len(columns), np.int64)
    packed = np.ascontiguousarray(np.packbits(columns, axis=1))
    words = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, number = np.unique(words, return_index=True, return_inverse=True)
    return first, number


@dataclass(frozen=True)
class ExactG2:
    """G2 of a column given a condition, with its mean and variance under independence.

    >>> test = ExactG2.of(np.array([[[30, 10], [10, 30]]]))
    >>> round(test.g2, 2), test.mean, test.variance, round(test.gain, 2)
    (20.93, 1.0, 2.0, 9.96)
    """

    g2: float
    mean: float
    variance: float

    @classmethod
    def of(cls, tables: Ints) -> "ExactG2":
        mean, variance = _null_moments(tables)
        return cls(float(_g2(tables).sum()), float(mean.sum()), float(variance.sum()))

    @cached_property
    def p_value(self) -> float | None:
        """Chance of a G2 as large under independence; None where the tables cannot differ."""
        if self.mean <= 0 or self.variance <= 0:
            return None
        return float(gammaincc(self.mean**2 / self.variance, self.g2 * self.mean / self.variance))

    @property
    def gain(self) -> float:
        """Nats by which the column makes the label likelier, beyond what chance would."""
        return max(0.0, (self.g2 - self.mean) / 2)

    @property
    def most_gain(self) -> float:
        """The gain that would still give a G2 as low as this, with a chance of about DOUBT."""
        excess = max(0.0, self.g2 - self.mean)
        return (excess + 1.64 * float(np.sqrt(self.variance + 4 * excess))) / 2


def _g2(tables: Ints) -> Floats:
    """G2 of every table: (strata,)."""
    sides = xlogy(tables.sum(1), tables.sum(1)).sum(-1) + xlogy(tables.sum(2), tables.sum(2)).sum(-1)
    whole = tables.sum((1, 2))
    g2: Floats = 2.0 * (xlogy(tables, tables).sum((1, 2)) - sides + xlogy(whole, whole))
    return np.maximum(g2, 0.0)  # rounding can leave a trace below zero


def _null_moments(tables: Ints) -> tuple[Floats, Floats]:
    """Mean and variance of G2 over all tables with the margins of each table: (strata,) each."""
    whole, rows, columns = tables.sum((1, 2)), tables[:, 1].sum(1), tables[:, :, 1].sum(1)
    rows, columns = np.minimum(rows, whole - rows), np.minimum(columns, whole - columns)
    varies, expected = (rows > 0) & (columns > 0), rows * columns / np.maximum(whole, 1)
    mean, variance = np.where(varies, 1.0, 0.0), np.where(varies, 2.0, 0.0)
    few = varies & (expected < ENOUGH)
    mean[few], variance[few] = _exact_moments(whole[few], rows[few], columns[few])
    return mean, variance


def _exact_moments(whole: Ints, rows: Ints, columns: Ints) -> tuple[Floats, Floats]:
    """The same for small tables, by going through the values of their smallest cell."""
    n, r, c = (side[:, None].astype(np.float64) for side in (whole, rows, columns))
    cell = np.arange(LARGEST_CELL + 1.0)[None, :]
    inside = cell <= np.minimum(r, c)
    k = np.where(inside, cell, 0.0)
    chance = np.where(inside, np.exp(_log_choose(c, k) + _log_choose(n - c, r - k) - _log_choose(n, r)), 0.0)
    chance /= chance.sum(1, keepdims=True)
    cells = xlogy(k, k) + xlogy(r - k, r - k) + xlogy(c - k, c - k) + xlogy(n - r - c + k, n - r - c + k)
    sides = xlogy(r, r) + xlogy(n - r, n - r) + xlogy(c, c) + xlogy(n - c, n - c)
    g2 = 2.0 * np.maximum(cells - sides + xlogy(n, n), 0.0)
    mean = (chance * g2).sum(1)
    return mean, (chance * (g2 - mean[:, None]) ** 2).sum(1)


def _log_choose(n: Floats, k: Floats) -> Floats:
    chosen: Floats = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return chosen


def max_presence_gain(tables: Ints) -> float:
    """Nats the column can be worth at most in the sequences that have it, by those that do not.

    In every stratum the label's rate without the column, as unfavourable as it may be (chance DOUBT), is the
    forecast for the sequences with it. Errors of strata add in quadrature. Strata in which no sequence is
    without the column cannot be compared and add nothing: see `incomparable`.

    >>> alike = max_presence_gain(np.array([[[100, 100], [50, 50]]]))
    >>> apart = max_presence_gain(np.array([[[190, 10], [10, 90]]]))
    >>> round(alike, 1), round(apart, 1)
    (0.7, 285.6)
    """
    without, having = _compared(tables)
    return _at_most(without, having, _length(having, _rate(having)))


def residual_information(tables: Ints) -> float:
    """Nats it can take at most to tell the label of the sequences that have the column by those that do not.

    Whatever the column is worth, by presence, order, number or time, it cannot be worth more.

    >>> residual_information(np.array([[[1000, 0], [100, 0]]])) < 1
    True
    >>> residual_information(np.array([[[500, 500], [50, 50]]])) > 1
    True
    """
    without, having = _compared(tables)
    return _at_most(without, having, np.zeros(len(having)))


def _compared(tables: Ints) -> tuple[Ints, Ints]:
    """Sequences without and with the column, by label, in the strata that have both: (strata, 2) each."""
    told = tables.sum(2).min(1) > 0
    return tables[told, 0], tables[told, 1]


def _at_most(without: Ints, having: Ints, saved: Floats) -> float:
    """Code length of some sequences by the rates of others, less what is saved, as long as it may well be."""
    middle = _length(having, _rate(without)) - saved
    worst = np.maximum(*(_length(having, _limit(without, chance)) for chance in (DOUBT, 1 - DOUBT))) - saved
    return float(max(middle.sum(), 0.0) + np.sqrt(((worst - middle) ** 2).sum()))


def own_residual_information(tables: Ints) -> float:
    """The same from the sequences with the column alone, each told from those before it.

    For a column that every sequence has: there are no others to tell it from.

    >>> own_residual_information(np.array([[[0, 0], [0, 100]], [[0, 0], [100, 0]]])) < 6
    True
    """
    having = tables[:, 1]
    return float((betaln(0.5, 0.5) - betaln(having[:, 1] + 0.5, having[:, 0] + 0.5)).sum())


def risk_difference(tables: Ints) -> float:
    """Mean over strata of the label's rate with the column less that without, by Mantel and Haenszel.

    >>> round(risk_difference(np.array([[[9, 1], [1, 9]], [[8, 2], [2, 8]]])), 6)
    0.7
    """
    without, having = tables[:, 0].astype(np.float64), tables[:, 1].astype(np.float64)
    weight = without.sum(1) * having.sum(1) / np.maximum(tables.sum((1, 2)), 1)
    rates = (part[:, 1] / np.maximum(part.sum(1), 1.0) for part in (having, without))
    difference = next(rates) - next(rates)
    return float((weight * difference).sum() / weight.sum()) if weight.sum() > 0 else 0.0


def incomparable(tables: Ints, carried: bool) -> int:
    """Sequences with the column, and with the label or without it, that no sequence without it is like."""
    alone = tables[:, 0].sum(1) == 0
    return int(tables[alone, 1, int(carried)].sum())


def _rate(counts: Ints) -> Floats:
    """Rate of the label, half a sequence of either kind added: (strata,)."""
    rate: Floats = (counts[:, 1] + 0.5) / (counts.sum(1) + 1.0)
    return rate


def _limit(counts: Ints, chance: float) -> Floats:
    limit: Floats = betaincinv(counts[:, 1] + 0.5, counts[:, 0] + 0.5, chance)
    return np.clip(limit, 1e-9, 1 - 1e-9)


def _length(counts: Ints, rate: Floats) -> Floats:
    """Code length, in nats, of the labels of some sequences under a rate: (strata,)."""
    length: Floats = -(xlogy(counts[:, 1], rate) + xlogy(counts[:, 0], 1 - rate))
    return length
