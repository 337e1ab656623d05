"""Risk difference: the change of a label's rate with a column, within the strata of a condition."""

import numpy as np
from numpy.typing import NDArray


def risk_difference(tables: NDArray[np.int64]) -> float:
    """The label's rate with the column minus its rate without, averaged over strata (Mantel-Haenszel).

    sum w (rate with - rate without) / sum w, w = n_with n_without / n (Greenland & Robins 1985).

    >>> round(risk_difference(np.array([[[9, 1], [1, 9]], [[8, 2], [2, 8]]])), 6)
    0.7
    """
    without, having = tables[:, 0].astype(np.float64), tables[:, 1].astype(np.float64)
    weight = without.sum(1) * having.sum(1) / np.maximum(tables.sum((1, 2)), 1)
    rates = (counts[:, 1] / np.maximum(counts.sum(1), 1.0) for counts in (having, without))
    difference = next(rates) - next(rates)
    return float((weight * difference).sum() / weight.sum()) if weight.sum() > 0 else 0.0
