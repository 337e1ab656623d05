"""False-discovery control over many tests."""

from collections.abc import Sequence

import numpy as np


def discovery_level(
    p_values: Sequence[float | None], alpha: float, n_tests: int, discount: float = 0.0
) -> float:
    """The level up to which p-values among `n_tests` are discoveries; those not given are none.

    With a `discount` below 1, k discoveries count as k - discount, so that the first must be surer.

    >>> discovery_level([1e-6, 4e-5, 1e-3, None], 0.05, n_tests=1000)       # 0.05 * 2 / 1000
    0.0001
    """
    # the level of Benjamini and Hochberg: alpha * k / n for the largest k with p_(k) <= alpha * k / n
    tested = np.sort([p_value for p_value in p_values if p_value is not None])
    levels = alpha * (np.arange(1, len(tested) + 1) - discount) / max(n_tests, 1)
    below = np.flatnonzero(tested <= levels)
    return float(levels[below[-1]]) if len(below) else alpha * (1 - discount) / max(n_tests, 1)
