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


def clopper_pearson(found: ArrayLike, tried: ArrayLike, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Lower and upper bound, each one-sided, of the share found / tried (Clopper & Pearson 1934).

    The 1 - level quantile of Beta(found, tried - found + 1), 0 if nothing was found, and the level quantile
    of Beta(found + 1, tried - found), 1 if nothing was missed. Each bound errs in at most 1 - level of all
    samples.

    >>> low, high = clopper_pearson([0, 12, 100], [12, 12, 100])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.779, 0.97], [0.221, 1.0, 1.0])
    """
    k, n = np.broadcast_arrays(np.asarray(found, np.float64), np.asarray(tried, np.float64))
    some, missed = k > 0, k < n
    low = betaincinv(np.where(some, k, 1.0), n - k + 1, 1 - level)
    high = betaincinv(k + 1, np.where(missed, n - k, 1.0), level)
    return np.where(some, low, 0.0), np.where(missed, high, 1.0)
