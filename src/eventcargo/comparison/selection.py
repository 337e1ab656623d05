"""Selection: p-values of differences among pairs that were looked at because a search found them.

A search finds what came out strong in its data, in part by luck; in the other data the luck is gone. So an
edge that only one search found seems to have changed, even one that is not real at all. If the effects are
equal, their difference D is independent of their weighted mean S. That a pair was looked at says that the
effect reached the level of the search in the first data or in the second, and given S this is a statement
about D. The p-value is the probability of so large a D given that (as in Fithian, Sun & Taylor 2014). Of an
edge that both data show clearly it stays what it was.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from eventcargo.statistics.difference import WIDTH

Floats = NDArray[np.float64]

SEARCH_ALPHA = 0.05
"""Level of a search, divided by the number of event types that it tries."""


def search_threshold(n_event_types: int) -> float:
    """The effect, in standard errors, that a search asks of an event type that nothing else speaks for.

    >>> round(search_threshold(600), 2)
    3.93
    """
    return float(-ndtri(SEARCH_ALPHA / 2 / max(n_event_types, 1)))


@dataclass(frozen=True)
class Selection:
    """Of each pair: the difference D, its error, and the range of D in which no search would find it."""

    value: Floats
    error: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, first: Floats, second: Floats, thresholds: tuple[float, float]) -> "Selection":
        """From estimates with their intervals, (3, n) each, and the thresholds of the two searches.

        A pair that reaches neither threshold was found by other means than its effect; its p-value is near 1.
        """
        (a, a_low, a_high), (b, b_low, b_high) = first, second
        up = b >= a
        s_a = np.where(up, a_high - a, a - a_low) / WIDTH
        s_b = np.where(up, b - b_low, b_high - b) / WIDTH
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = s_a**2 + s_b**2
            mean = (a * s_b**2 + b * s_a**2) / variance
            # a = mean - D s_a^2 / variance and b = mean + D s_b^2 / variance stay below their thresholds
            room_a, room_b = thresholds[0] * s_a, thresholds[1] * s_b
            low = np.maximum((mean - room_a) * variance / s_a**2, (-room_b - mean) * variance / s_b**2)
            high = np.minimum((mean + room_a) * variance / s_a**2, (room_b - mean) * variance / s_b**2)
        return cls(b - a, np.sqrt(variance), low, np.maximum(low, high))

    @property
    def looked_at(self) -> Floats:
        """The probability that a pair with this mean and equal effects is looked at."""
        return np.clip(1 - self._between(self.low, self.high), np.finfo(float).tiny, 1.0)

    @property
    def p_value(self) -> Floats:
        """The probability of a difference as large, given that the pair was looked at; NaN without one."""
        far = np.abs(self.value)
        tails = 2 * ndtr(-far / self.error)
        hidden = self._between(np.maximum(self.low, far), np.maximum(self.high, far))
        hidden = hidden + self._between(np.minimum(self.low, -far), np.minimum(self.high, -far))
        return np.clip((tails - hidden) / self.looked_at, tails, 1.0)

    def _between(self, low: Floats, high: Floats) -> Floats:
        """The probability that D lies between two values; computed in the tail where it is precise."""
        below, above = low / self.error, high / self.error
        flip = below > 0
        below, above = np.where(flip, -above, below), np.where(flip, -below, above)
        between: Floats = ndtr(above) - ndtr(below)
        return between
