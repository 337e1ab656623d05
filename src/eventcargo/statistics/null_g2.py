"""NullG2: the distribution of G2 under independence, given the margins of every table.

G2 is a sum over strata. In a stratum with enough sequences it follows a chi-square distribution with one
degree of freedom; in a smaller one it takes few values, with the hypergeometric probabilities of the tables
that have the same margins. Far out, where corrected tests decide, two moments do not tell how likely a sum of
such numbers is: 5 of 19 where 0.6 are expected has p = 2e-4, and 1e-7 by a gamma distribution with the same
mean and variance. So the tail comes from the generating function of the sum.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammaln, ndtr, xlogy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ENOUGH = 5.0
"""From this expected count in the smallest cell on, G2 of a stratum follows a chi-square distribution."""

LARGEST_CELL = 40
"""Largest count of the smallest cell in a small stratum; at an expected 5, more has probability 1e-20."""

ROUNDING = 1e-6
"""Shares of a sequence below this are errors of rounding."""

CENTRE = 0.1
"""Above this p-value two moments are enough."""

STEPS = 60
"""Most steps of the search for the saddlepoint."""

NEAR = 1e-9
"""Relative distance below which two values of G2 are the same."""


@dataclass(frozen=True)
class NullG2:
    """The distribution of a sum of G2 over strata: some chi-squares, and some that take few values.

    >>> null = NullG2.of(np.array([[[3327, 102], [14, 5]]]))
    >>> null.n_chi_square, round(null.mean, 2), round(null.p_value(13.9), 5)
    (0, 1.07, 0.00022)
    """

    n_chi_square: int
    probability: Floats  # (small strata, values)
    values: Floats  # (small strata, values)

    @classmethod
    def of(cls, tables: Ints, design_effect: float = 1.0) -> "NullG2":
        """The distribution for tables (strata, 2, 2), as of counts divided by the design effect."""
        whole, rows, columns = tables.sum((1, 2)), tables[:, 1].sum(1), tables[:, :, 1].sum(1)
        rows, columns = np.minimum(rows, whole - rows), np.minimum(columns, whole - columns)
        if design_effect > 1:
            rows, columns, whole = (_effective(side, design_effect) for side in (rows, columns, whole))
            whole = np.maximum(whole, rows + columns)
        varies, expected = (rows > 0) & (columns > 0), rows * columns / np.maximum(whole, 1)
        few = varies & (expected < ENOUGH)
        return cls(int((varies & ~few).sum()), *_small_tables(whole[few], rows[few], columns[few]))

    @cached_property
    def mean(self) -> float:
        return self.n_chi_square + float(self._means.sum())

    @cached_property
    def variance(self) -> float:
        small = (self.probability * (self.values - self._means[:, None]) ** 2).sum()
        return 2.0 * self.n_chi_square + float(small)

    @property
    def _means(self) -> Floats:
        means: Floats = (self.probability * self.values).sum(1)
        return means

    def p_value(self, g2: float) -> float | None:
        """Probability of a G2 this large or larger; None if the margins fix every table."""
        if self.mean <= 0 or self.variance <= 0:
            return None
        if not self.n_chi_square and len(self.values) == 1:
            return float(self.probability[self.values >= g2 * (1 - NEAR)].sum())
        # gamma with these two moments: shape mean^2 / variance, scale variance / mean
        rough = float(gammaincc(self.mean**2 / self.variance, g2 * self.mean / self.variance))
        if not len(self.values) or rough > CENTRE or g2 <= self.mean:
            return rough
        return self._tail(g2)

    def _tail(self, g2: float) -> float:
        """P(G2 or more) by the saddlepoint approximation of Lugannani & Rice (1980)."""
        if g2 >= self._largest * (1 - NEAR):
            return float(np.exp(self._log_largest))
        t = self._saddlepoint(g2)
        height, _, curvature = self._cumulants(t)
        # w = sqrt(2 (t g - K(t))), u = t sqrt(K''(t)): P = 1 - Phi(w) + phi(w) (1 / u - 1 / w)
        w, u = np.sqrt(max(2 * (t * g2 - height), NEAR)), t * np.sqrt(curvature)
        tail = ndtr(-w) + np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi) * (1 / u - 1 / w)
        bound = np.exp(min(height - t * g2, 0.0))  # Chernoff's
        return float(np.clip(tail, np.exp(self._log_largest), bound))

    @cached_property
    def _largest(self) -> float:
        """The largest value of G2; infinite with a chi-square."""
        return np.inf if self.n_chi_square else float(self._tops.sum())

    @property
    def _tops(self) -> Floats:
        tops: Floats = np.where(self.probability > 0, self.values, 0.0).max(1)
        return tops

    @cached_property
    def _log_largest(self) -> float:
        """The logarithm of the probability of the largest value."""
        if self.n_chi_square:
            return -np.inf
        at_top = self.values >= self._tops[:, None] * (1 - NEAR)
        return float(np.log((self.probability * at_top).sum(1)).sum())

    def _saddlepoint(self, g2: float) -> float:
        """The t at which the tilted distribution has mean `g2`, by Newton's steps within a bracket."""
        low, high = 0.0, 0.5 if self.n_chi_square else np.inf
        t = min((g2 - self.mean) / self.variance, 0.25 if self.n_chi_square else np.inf)
        for _ in range(STEPS):
            _, mean, variance = self._cumulants(t)
            if abs(mean - g2) <= NEAR * g2:
                break
            low, high = (t, high) if mean < g2 else (low, t)
            step = t + (g2 - mean) / max(variance, NEAR)
            t = step if low < step < high else (2 * t if np.isinf(high) else (low + high) / 2)
        return t

    def _cumulants(self, t: float) -> tuple[float, float, float]:
        """The cumulant generating function at t, and its first two derivatives."""
        # chi-square: K = -log(1 - 2t) / 2; a small stratum: K = log sum p exp(t g)
        exponent = np.where(self.probability > 0, t * self.values, -np.inf)
        top = exponent.max(1, keepdims=True)
        weight = self.probability * np.exp(exponent - top)
        total = weight.sum(1, keepdims=True)
        weight /= total
        mean = (weight * self.values).sum(1)
        spread = (weight * (self.values - mean[:, None]) ** 2).sum()
        height = float((top + np.log(total)).sum())
        if not self.n_chi_square:
            return height, float(mean.sum()), float(spread)
        n, rest = self.n_chi_square, 1 - 2 * t
        return height - n / 2 * np.log(rest), float(mean.sum()) + n / rest, float(spread) + 2 * n / rest**2


def _effective(counts: Ints, design_effect: float) -> Ints:
    """Whole numbers of independent sequences that counts are worth, rounded up: what varies still does."""
    return np.ceil(counts / design_effect - ROUNDING).astype(np.int64)


def _small_tables(whole: Ints, rows: Ints, columns: Ints) -> tuple[Floats, Floats]:
    """Probability and G2 of every value k of the smallest cell: (strata, values) each."""
    # P(k) = C(c, k) C(n - c, r - k) / C(n, r), hypergeometric
    n, r, c = (side[:, None].astype(np.float64) for side in (whole, rows, columns))
    largest = int(np.minimum(np.minimum(rows, columns).max(initial=0), LARGEST_CELL))
    cell = np.arange(largest + 1.0)[None, :]
    inside = cell <= np.minimum(r, c)
    k = np.where(inside, cell, 0.0)
    log_p = _log_choose(c, k) + _log_choose(n - c, r - k) - _log_choose(n, r)
    probability = np.where(inside, np.exp(log_p), 0.0)
    probability /= probability.sum(1, keepdims=True)
    cells = xlogy(k, k) + xlogy(r - k, r - k) + xlogy(c - k, c - k) + xlogy(n - r - c + k, n - r - c + k)
    sides = xlogy(r, r) + xlogy(n - r, n - r) + xlogy(c, c) + xlogy(n - c, n - c)
    return probability, 2.0 * np.maximum(cells - sides + xlogy(n, n), 0.0)


def _log_choose(n: Floats, k: Floats) -> Floats:
    chosen: Floats = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return chosen
