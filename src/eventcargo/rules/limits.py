"""Limits of literals: of those that separate the label about as well as the best, the one easiest to read."""

import numpy as np
from numpy.typing import NDArray

from eventcargo.rules.literals import span_unit
from eventcargo.rules.patterns import log_likelihood

SLACK = 1.92
"""Limits within this many nats of the best fit (a 95 % interval) count as equally good."""


def limit_fits(carried: NDArray[np.bool_], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """Nats by which two rates, up to each limit and beyond it, fit better than one."""
    below, sizes = np.cumsum(carried)[ends].astype(np.float64), ends + 1.0
    total, size = float(carried.sum()), float(len(carried))
    inside = log_likelihood(below, sizes - below)
    outside = log_likelihood(total - below, size - sizes - total + below)
    return inside + outside - log_likelihood(total, size - total)


def best_limit(fits: NDArray[np.float64], bounds: NDArray[np.float64], whole: bool, unit: str) -> float:
    """The limit with the fewest digits among those that fit nearly as well as the best.

    Every limit from `bounds[i]` up to, but not including, `bounds[i + 1]` has the fit `fits[i]`.
    """
    if whole:
        return float(bounds[fits.argmax()])
    good = np.flatnonzero(fits >= fits.max() - SLACK)
    runs = np.split(good, np.flatnonzero(np.diff(good) > 1) + 1)
    size = span_unit(float(bounds[fits.argmax()]))[0] if unit == "s" else 1
    numbers = [
        (*_roundest(bounds[run[0]] / size, bounds[run[-1] + 1] / size), -fits[run].max()) for run in runs
    ]
    return min((digits, fit, number * size) for digits, number, fit in numbers)[2]


def _roundest(low: float, high: float) -> tuple[int, float]:
    """The number with the fewest digits in low <= number < high, as (digits, number).

    >>> _roundest(0.8973, 1.102), _roundest(3.404, 3.47), _roundest(0.0, 0.2)
    ((1, 1.0), (3, 3.41), (0, 0.0))
    """
    if low <= 0:
        return 0, low
    step = 10.0 ** np.floor(np.log10(high))
    for digits in range(1, 18):
        number = float(f"{np.ceil(low / step) * step:.15g}")
        if low <= number < high:
            return digits, number
        step /= 10
    return 18, low
