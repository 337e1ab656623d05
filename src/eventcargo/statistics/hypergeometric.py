"""The hypergeometric distribution, without scipy.stats, which loads for longer than rules take to find."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln


def upper_tail(hits: int, n: int, marked: int, drawn: int) -> float:
    """P(at least `hits` marked ones) among `drawn` of `n` things, `marked` of which are marked.

    >>> round(upper_tail(2, n=4, marked=2, drawn=2), 6), upper_tail(0, n=4, marked=2, drawn=2)
    (0.166667, 1.0)
    """
    counts = np.arange(max(hits, 0, drawn + marked - n), min(marked, drawn) + 1)
    if hits <= max(0, drawn + marked - n):
        return 1.0
    logs = _log_choose(marked, counts) + _log_choose(n - marked, drawn - counts) - _log_choose(n, drawn)
    return float(min(1.0, np.exp(logs).sum()))


def _log_choose(n: int, k: NDArray[np.int64] | int) -> NDArray[np.float64]:
    return -betaln(1 + n - k, 1 + k) - np.log(n + 1)
