"""Search in many sorted segments of one column at once."""

import numpy as np
from numpy.typing import NDArray

from eventcargo.events import Ragged


def search(
    values: NDArray[np.float64], segments: Ragged, wanted: NDArray[np.float64], inclusive: bool = False
) -> NDArray[np.int64]:
    """For each segment, the first position whose value is at least `wanted`; above it if `inclusive`.

    >>> values = np.array([1.0, 2.0, 2.0, 5.0, 7.0])
    >>> segments = Ragged(np.array([0, 3]), np.array([3, 5]))
    >>> search(values, segments, np.array([2.0, 9.0])), search(values, segments, np.array([2.0, 5.0]), True)
    (array([1, 5]), array([3, 4]))
    """
    low, high = segments.starts.astype(np.int64), segments.stops.astype(np.int64)
    open_ones = np.flatnonzero(low < high)
    while len(open_ones):
        middle = (low[open_ones] + high[open_ones]) // 2
        found = values[middle]
        goal = wanted[open_ones]
        is_before = found <= goal if inclusive else found < goal
        low[open_ones[is_before]] = middle[is_before] + 1
        high[open_ones[~is_before]] = middle[~is_before]
        open_ones = open_ones[low[open_ones] < high[open_ones]]
    return low


def by_owner(owners: NDArray[np.int32], n_owners: int) -> Ragged:
    """The rows of every owner in a column sorted by owner."""
    return Ragged.from_offsets(np.searchsorted(owners, np.arange(n_owners + 1)).astype(np.int64))


def members(rows: Ragged) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All positions within the rows, and the row of each.

    >>> members(Ragged(np.array([4, 0]), np.array([6, 1])))
    (array([4, 5, 0]), array([0, 0, 1]))
    """
    lengths, offsets = rows.lengths, rows.offsets
    owner = np.repeat(np.arange(len(lengths)), lengths)
    return np.arange(offsets[-1]) - offsets[owner] + rows.starts[owner], owner
