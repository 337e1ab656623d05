"""Difference: how far two independent estimates are apart, from the interval of each.

The interval of the difference joins the distances from each estimate to the end of its interval that matters
(MOVER; Zou & Donner 2008), so that intervals that are wide on one side, as profile intervals are, stay so.
The p-value is that of the same distances: it is below .05 exactly if the 95 % interval excludes 0.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri

from eventcargo.statistics.intervals import LEVEL

Floats = NDArray[np.float64]

WIDTH = float(ndtri((1 + LEVEL) / 2))
"""Half an interval in standard errors: 1.96."""


@dataclass(frozen=True)
class Difference:
    """Second less first estimate with its 95 % interval and p-value, NaN where an estimate is: (n,) each.

    >>> first, second = np.array([[0.0], [-1.0], [1.0]]), np.array([[3.0], [2.0], [7.0]])
    >>> apart = Difference.of(first, second)
    >>> [float(one[0].round(3)) for one in (apart.value, apart.low, apart.high, apart.p_value)]
    [3.0, 1.586, 7.123, 0.0]
    """

    value: Floats
    low: Floats
    high: Floats
    p_value: Floats

    @classmethod
    def of(cls, first: Floats, second: Floats) -> "Difference":
        """Each is (3, n): estimates, lower and upper ends of their 95 % intervals."""
        (a, a_low, a_high), (b, b_low, b_high) = first, second
        value = b - a
        below = np.hypot(b - b_low, a_high - a)  # how far the difference may really be smaller
        above = np.hypot(b_high - b, a - a_low)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(value == 0, 0.0, np.abs(value) / np.where(value > 0, below, above)) * WIDTH
        p_value = np.where(np.isnan(value), np.nan, 2 * np.exp(log_ndtr(-z)))
        return cls(value, value - below, value + above, np.minimum(p_value, 1.0))
