"""OddsRatios: by what factor the odds of a label are higher with a column than without, the others alike.

The factor is exp(coefficient) of a logistic regression of the label on all columns (`FirthRegression`), with
its 95 % interval (`profile_interval`). Unlike a change of probability it does not depend on how many
sequences without the label were drawn for each with it. A column that is the same in all sequences has no
odds ratio, and neither have columns that cannot be told apart, as twins that always occur together.

If sequences come in groups, counts are divided by the design effect of the coefficient: its variance with
groups as units (Liang & Zeger 1986), by that of independent sequences (White 1980).
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.special import stdtrit

from eventcargo.statistics.exact_g2 import GroupedRows, PatternCounts
from eventcargo.statistics.firth import FirthRegression, Floats, Ints, Lanes
from eventcargo.statistics.intervals import LEVEL
from eventcargo.statistics.profile_interval import profile_interval, wald_interval

MAX_WORK = 200_000_000
"""Largest number of ends x patterns x columns^2 for profile intervals: a second, and 200 MB."""

NOTHING = 1e-9
"""Eigenvalues below this share of the largest are 0; so are parts of their vectors below its root."""


@dataclass(frozen=True)
class OddsRatios:
    """The odds ratio of each column with its 95 % interval, NaN where there is none: (columns,) each.

    >>> columns, counts = np.array([[False], [True]]), np.array([[90, 10], [15, 15]])
    >>> found = OddsRatios.of(PatternCounts(columns, counts))
    >>> found.ratio.round(2).tolist(), found.low.round(2).tolist(), found.high.round(2).tolist()
    ([8.62], [3.39], [23.0])
    """

    ratio: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, patterns: PatternCounts) -> "OddsRatios":
        """The odds ratios of all columns but the adjusted ones, given all others."""
        n_columns = patterns.columns.shape[1] - patterns.n_adjusted
        log = np.full((3, n_columns), np.nan)
        X = np.column_stack([np.ones(len(patterns.columns)), patterns.columns])
        kept, is_clear = independent(X[patterns.counts.sum(1) > 0])
        places = np.flatnonzero(is_clear[kept] & (kept > 0) & (kept <= n_columns))
        if len(places) and patterns.counts.any(axis=0).all():
            counts = patterns.counts.astype(np.float64)
            regression = FirthRegression(X[:, kept], counts[:, 1], counts.sum(1))
            log[:, kept[places] - 1] = log_odds(regression, places, patterns.grouped)
        return cls(*np.exp(log))


def log_odds(regression: FirthRegression, columns: Ints, grouped: GroupedRows | None) -> Floats:
    """Coefficients of some columns and the lower and upper ends of their intervals: (3, columns).

    Where a profile would take too long, because both patterns and columns are many, the ends are Wald's. With
    so many sequences the two differ little.
    """
    best = regression.fit()
    if grouped is None:
        best = best.take(np.zeros(len(columns), np.int64))
    else:
        best = regression.fit(1 / design_effects(regression, best, columns, grouped))
    work = 2 * len(columns) * regression.X.size * regression.X.shape[1]
    ends = profile_interval(regression, best, columns) if work <= MAX_WORK else wald_interval(best, columns)
    return np.stack([best.coefficients[np.arange(len(columns)), columns], *ends])


def design_effects(regression: FirthRegression, best: Lanes, columns: Ints, grouped: GroupedRows) -> Floats:
    """How many times more each coefficient varies because sequences come in groups; at least 1.

    The influence of a sequence on a coefficient is (inverse information @ its columns) * (label - p). The
    effect is the sum of squares of the groups' influences, divided by that of the sequences' influences, and
    corrected for the number of groups with the column, or without it. If the label does not vary there, that
    shows no variation: then each group counts as one sequence.
    """
    cells = _cells(grouped, len(regression.X))
    leaning = np.repeat(regression.X @ best.inverse[0][:, columns], 2, axis=0)  # (cells, columns)
    p = np.repeat(best.probability[0], 2)
    p[1::2] -= 1.0
    influence = leaning * -p[:, None]
    alone = np.asarray(cells.sum(axis=0)) @ influence**2
    together = ((cells @ influence) ** 2).sum(0)
    has = np.repeat(regression.X[:, columns] > 0, 2, axis=0)
    (few, each), (few_without, each_without) = (_side(cells, where) for where in (has, ~has))
    effect = np.maximum(few, few_without) * together / np.maximum(alone, np.finfo(float).tiny)
    return np.maximum.reduce([np.ones(len(columns)), effect, each, each_without])


def _cells(grouped: GroupedRows, n_patterns: int) -> sp.csr_array:
    """Numbers of sequences by group and cell, twice the pattern plus the label: (groups, cells)."""
    group = np.unique(grouped.groups, return_inverse=True)[1]
    cell = 2 * grouped.number + grouped.carries
    shape = (int(group.max(initial=-1)) + 1, 2 * n_patterns)
    return sp.csr_array((np.ones(len(cell)), (group, cell)), shape=shape)


def _side(cells: sp.csr_array, where: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """For the cells with a column: the correction for few groups, and the effect if it must count groups.

    Groups, not sequences, are the degrees of freedom: (t quantile of groups - 1 / of sequences - 1)^2, and
    the variance is estimated by groups / (groups - 1).
    """
    inside = cells @ where.astype(np.float64)  # (groups, columns)
    hits = (cells[:, 1::2] @ where[1::2].astype(np.float64)).sum(0)
    n_inside, groups = inside.sum(0), (inside > 0).sum(0)
    n, g = np.maximum(n_inside, 2), np.maximum(groups, 2)
    few = (_quantile(g) / _quantile(n)) ** 2 * (g / (g - 1)) * ((n - 1) / n)
    varies = (hits > 0) & (hits < n_inside) & (groups > 1)
    return few, np.where(varies, 1.0, n_inside / np.maximum(groups, 1))


def _quantile(units: Floats | Ints) -> Floats:
    """The quantile of Student's t that half an interval has, with one degree of freedom less than units."""
    quantile: Floats = stdtrit(units - 1, (1 + LEVEL) / 2)
    return quantile


def independent(X: Floats) -> tuple[Ints, NDArray[np.bool_]]:
    """Columns that do not depend linearly on each other, as many as there are, and which depend on no other.

    The first column stays. The coefficient of a column that depends on others is a matter of which were kept.

    >>> kept, is_clear = independent(np.array([[1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1], [1, 0, 0, 1]]))
    >>> kept.tolist(), is_clear.tolist()
    ([0, 1, 3], [True, False, False, True])
    """
    gram = X.T @ X
    sizes, vectors = np.linalg.eigh(gram)
    null = vectors[:, sizes < NOTHING * sizes[-1]]
    is_clear = (np.abs(null) < np.sqrt(NOTHING)).all(axis=1)
    if not null.size:
        return np.arange(len(gram)), is_clear
    rest = gram[1:, 1:] - np.outer(gram[1:, 0], gram[0, 1:]) / gram[0, 0]  # given the first
    order = qr(rest, mode="r", pivoting=True)[1][: len(gram) - null.shape[1] - 1]
    return np.concatenate([[0], 1 + np.sort(order)]), is_clear
