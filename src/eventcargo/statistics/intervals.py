"""Confidence intervals of a counted share."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

Floats = NDArray[np.float64]

LEVEL = 0.95
"""Nominal share of the intervals that contain the true value."""


def jeffreys(found: ArrayLike, tried: ArrayLike, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Lower and upper end of Jeffreys' interval of the share found / tried (Brown, Cai & DasGupta 2001).

    The (1 - level) / 2 and (1 + level) / 2 quantiles of Beta(found + 1/2, tried - found + 1/2). The interval
    begins at 0 if nothing was found and ends at 1 if nothing was missed, so it contains the observed share.

    >>> low, high = jeffreys([0, 5, 10], 10)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.224, 0.783], [0.217, 0.776, 1.0])
    """
    k, n = np.broadcast_arrays(np.asarray(found, np.float64), np.asarray(tried, np.float64))
    tail = (1 - level) / 2
    low, high = (betaincinv(k + 0.5, n - k + 0.5, at) for at in (tail, 1 - tail))
    return np.where(k > 0, low, 0.0), np.where(k < n, high, 1.0)
