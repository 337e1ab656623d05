"""Causal power: how probably an event type produces a label, or prevents it, whatever other causes there are.

If causes act independently of each other, the share of sequences that stay without the label falls by the
same factor 1 - s wherever a cause with the power s is added, and the share with the label by the same factor
wherever an inhibitor is (Cheng 1997; noisy-or). The factor is a risk ratio, of staying without the label or
of carrying it, within the strata of the other columns, joined as by Mantel and Haenszel with the variance of
Greenland and Robins (1985).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.statistics.design_effect import sums_by_group
from eventcargo.statistics.exact_g2 import GroupedRows, PatternCounts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WITHOUT, WITH = 0, 1
"""What is counted: sequences that stay without the label, or that carry it."""


@dataclass(frozen=True)
class RiskRatio:
    """The logarithm of a risk ratio and its standard error; NaN where nothing can be compared.

    >>> columns, counts = np.array([[False], [True]]), np.array([[95, 5], [38, 62]])
    >>> found = RiskRatio.of(PatternCounts(columns, counts), 0, WITHOUT)
    >>> round(float(np.exp(found.log)), 2), round(found.error, 3)          # (1 - .62) / (1 - .05)
    (0.4, 0.13)
    """

    log: float
    error: float

    @classmethod
    def of(cls, patterns: PatternCounts, column: int, counted: int) -> "RiskRatio":
        """The ratio with the column to without it, given all other columns."""
        others = [at for at in range(patterns.columns.shape[1]) if at != column]
        tables = patterns.tables(column, others).astype(np.float64)  # (strata, column, label)
        n_without, n_with = tables.sum(2).T
        a, b = tables[:, 1, counted], tables[:, 0, counted]
        n = n_without + n_with
        above, below = (a * n_without / n).sum(), (b * n_with / n).sum()
        if not (above > 0 and below > 0):
            return cls(np.nan, np.nan)
        spread = ((a + b) * n_with * n_without - a * b * n) / n**2
        variance = spread.sum() / (above * below)
        if patterns.grouped is not None:
            variance *= _design_effect(patterns, patterns.grouped, column, counted, above / below)
        return cls(float(np.log(above / below)), float(np.sqrt(variance)))


def _design_effect(
    patterns: PatternCounts, grouped: GroupedRows, column: int, counted: int, ratio: float
) -> float:
    """How many times more the ratio varies because sequences come in groups; at least 1.

    The residual of a sequence is its outcome less that expected in its stratum with this common ratio, times
    its weight.
    """
    has = patterns.columns[:, column]
    stratum = np.unique(np.delete(patterns.columns, column, axis=1), axis=0, return_inverse=True)[1].ravel()
    sizes = patterns.counts.sum(1)
    n_with, n_without, events = (
        np.bincount(stratum, values)[stratum]
        for values in (sizes * has, sizes * ~has, patterns.counts[:, counted])
    )
    rate = events / (ratio * n_with + n_without) * np.where(has, ratio, 1.0)
    weight = np.where(has, n_without, -ratio * n_with) / (n_with + n_without)
    outcome = grouped.carries == bool(counted)
    residual = weight[grouped.number] * (outcome - rate[grouped.number])
    alone, together = (residual**2).sum(), (sums_by_group(residual, grouped.groups) ** 2).sum()
    return max(1.0, float(together / alone)) if alone > 0 else 1.0
