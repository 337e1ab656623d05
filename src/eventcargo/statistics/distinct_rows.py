"""Distinct rows of Boolean columns: the first step of every count of patterns."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def distinct_rows(columns: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """The first of each set of equal rows, and for every row the number of its set.

    >>> first, number = distinct_rows(np.array([[1, 0], [0, 0], [1, 0]], bool))
    >>> first.tolist(), number.tolist()
    ([1, 0], [1, 0, 1])
    """
    if columns.shape[1] == 0:
        return np.zeros(min(1, len(columns)), np.int64), np.zeros(len(columns), np.int64)
    packed = np.ascontiguousarray(np.packbits(columns, axis=1))
    words = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, number = np.unique(words, return_index=True, return_inverse=True)
    return first, number
