"""Ragged: rows of unequal length on flat columns."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.scratch import scratch

BLOCK = 1 << 22
"""Entries of rows that are looked at together, so that all together need not fit in memory."""


@dataclass(frozen=True)
class Ragged:
    """Rows of unequal length on flat columns: row i is `column[starts[i]:stops[i]]`."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    @classmethod
    def from_offsets(cls, offsets: NDArray[np.int64]) -> "Ragged":
        return cls(offsets[:-1], offsets[1:])

    @property
    def lengths(self) -> NDArray[np.int64]:
        return self.stops - self.starts

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Offsets of these rows once they are contiguous."""
        return offsets_of(self.lengths)

    def take(self, rows: NDArray[np.int64]) -> "Ragged":
        return Ragged(self.starts[rows], self.stops[rows])

    def gather(self, column: NDArray[Any]) -> NDArray[Any]:
        """The rows of `column`, one after the other; a view if they are contiguous already."""
        if len(self.starts) == 0:
            return column[:0]
        if np.array_equal(self.starts[1:], self.stops[:-1]):
            return column[self.starts[0] : self.stops[-1]]
        offsets, wide = self.offsets, column.shape[1:]
        shape = int(offsets[-1]), *wide
        gathered = scratch(math.prod(shape), column.dtype).reshape(shape)
        for first, end in blocks(offsets):
            at = places(self.starts[first:end], offsets[first : end + 1])
            gathered[offsets[first] : offsets[end]] = column[at]
        return gathered


def offsets_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where rows of these lengths start once they are one after the other, and where the last one ends.

    >>> offsets_of(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def blocks(offsets: NDArray[np.int64], most: int | None = None) -> Iterator[tuple[int, int]]:
    """First row and end of blocks that cover all rows, each of at least one row and at most `most` entries.

    >>> list(blocks(np.array([0, 2, 4, 9, 9]), most=4))
    [(0, 2), (2, 3), (3, 4)]
    """
    first, n, most = 0, len(offsets) - 1, most or BLOCK
    while first < n:
        end = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        end = min(max(end, first + 1), n)
        yield first, end
        first = end


def places(starts: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the entries of rows lie; `offsets` are those of the rows once they are one after the other.

    >>> places(np.array([10, 20]), np.array([0, 2, 5])).tolist()
    [10, 11, 20, 21, 22]
    """
    first = offsets[0]
    return np.repeat(starts - (offsets[:-1] - first), np.diff(offsets)) + np.arange(offsets[-1] - first)


def positions_by_number(
    numbers: NDArray[np.integer], n: int
) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
    """Where each number below n stands, ascending, one number after the other, and where each number starts.

    >>> [part.tolist() for part in positions_by_number(np.array([2, 0, 2]), 3)]
    [[0, 1, 1, 3], [1, 0, 2]]
    """
    parts = [numbers[at : at + BLOCK] for at in range(0, len(numbers), BLOCK)]
    counts = [np.bincount(part, minlength=n) for part in parts]
    starts = offsets_of(sum(counts, np.zeros(n, np.int64)))
    narrow = np.int32 if len(numbers) <= np.iinfo(np.int32).max else np.int64
    positions, place, before = scratch(len(numbers), narrow), starts[:-1].copy(), 0
    for part, own in zip(parts, counts, strict=True):
        at = places(place, offsets_of(own))
        positions[at] = np.argsort(part, kind="stable") + before
        place, before = place + own, before + len(part)
    return starts, positions
