"""Design effect: how many times more an estimate varies because sequences come in groups.

Sequences of one group (the stays of one patient) are not independent witnesses. The design effect is the
variance of an estimate with whole groups as units, divided by its variance if all sequences were independent
(Kish 1965): 1 if each sequence is its own group, m if every sequence is there m times. Counts divided by it
are those of as many independent sequences (Rao & Scott 1984, first order); it is never taken below 1.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Groups = NDArray[np.int32] | NDArray[np.int64] | None
"""The group of each sequence; None: each is its own."""


def sums_by_group(values: Floats, groups: Groups) -> Floats:
    """The sums over the rows of each group, in the order of the groups' numbers.

    >>> sums_by_group(np.array([1.0, 2.0, 4.0]), np.array([7, 3, 7])).tolist()
    [2.0, 5.0]
    """
    if groups is None:
        return values
    distinct, number = np.unique(groups, return_inverse=True)
    sums = np.zeros((len(distinct), *values.shape[1:]))
    np.add.at(sums, number, values)
    return sums


def share_design_effect(
    hits: ArrayLike,
    tried: ArrayLike,
    groups: ArrayLike,
    hits_hits: ArrayLike,
    hits_tried: ArrayLike,
    tried_tried: ArrayLike,
) -> Floats:
    """The design effect of the share hits / tried, from sums over groups.

    `groups` is the number of groups; the others are sums over the groups of the products of a group's hits
    and tried sequences. A share of 0 or 1 shows no variation: then each group counts as one sequence.

    >>> share_design_effect([50, 50], 100, [100, 20], [50, 250], [50, 250], [100, 500]).round(2).tolist()
    [1.0, 5.21]
    """
    # variance of a ratio estimator: sum_g (x_g - p n_g)^2 / n^2 * G / (G - 1); of independent sequences:
    # p (1 - p) / n * n / (n - 1)
    k, n, g, kk, kn, nn = (
        np.asarray(each, np.float64) for each in (hits, tried, groups, hits_hits, hits_tried, tried_tried)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        p = k / n
        spread = kk - 2 * p * kn + p**2 * nn
        effect = spread / (k * (1 - p)) * (g / (g - 1)) * ((n - 1) / n)
        one_each = n / g
    known = (k > 0) & (k < n) & (g > 1)
    limits = np.maximum(n, 1.0)
    return np.clip(np.where(known, effect, np.where(g > 0, one_each, 1.0)), 1.0, limits)


@dataclass(frozen=True)
class ScoreDesignEffect:
    """The design effect of the association of a target with columns, within the strata of a condition.

    The score of a sequence is (target - its mean in the stratum) * (column - its mean in the stratum). The
    effect is the sum of squares of the groups' scores, divided by that of the sequences' scores.

    >>> target, column = np.array([1, 1, 0, 0] * 2, bool), np.array([0, 1, 4, 5])
    >>> twice = np.array([0, 1, 2, 3] * 2)
    >>> ScoreDesignEffect.of(target, np.zeros(8, np.int64), twice).of_rows(column)
    2.0
    """

    residual: Floats  # (sequences,): target - its mean in the stratum
    stratum: Ints  # (sequences,)
    group: Ints  # (sequences,), from 0

    @classmethod
    def of(cls, target: NDArray[np.bool_], stratum: Ints, groups: NDArray[np.integer]) -> "ScoreDesignEffect":
        """Of sequences with and without the target, their strata, numbered from 0, and their groups."""
        sizes = np.bincount(stratum)
        rates = np.bincount(stratum, target, len(sizes)) / np.maximum(sizes, 1)
        return cls(target - rates[stratum], stratum, np.unique(groups, return_inverse=True)[1])

    def of_rows(self, rows: NDArray[np.integer]) -> float:
        """The design effect of a column that is present in these sequences."""
        if not len(rows):
            return 1.0
        share = np.bincount(self.stratum[rows], minlength=len(self._sizes)) / np.maximum(self._sizes, 1)
        r, at = self.residual[rows], self.stratum[rows]
        # score_i = r_i (x_i - share), so that both sums need the rows with the column and totals alone
        scores = np.bincount(self.group[rows], r, self._totals.shape[0]) - self._totals @ share
        alone = (r**2 * (1 - 2 * share[at])).sum() + (self._squares * share**2).sum()
        together = float((scores**2).sum())
        return max(1.0, together / float(alone)) if alone > EPSILON else 1.0

    @cached_property
    def _sizes(self) -> Ints:
        return np.bincount(self.stratum)

    @cached_property
    def _squares(self) -> Floats:
        """Sums of squared residuals: (strata,)."""
        squares: Floats = np.bincount(self.stratum, self.residual**2).astype(np.float64, copy=False)
        return squares

    @cached_property
    def _totals(self) -> sp.csr_array:
        """Sums of residuals: (groups, strata)."""
        shape = (int(self.group.max(initial=-1)) + 1, len(self._sizes))
        return sp.csr_array((self.residual, (self.group, self.stratum)), shape=shape)


EPSILON = 1e-12
"""Sums of squares below this are rounding: a column or target that does not vary within strata."""
