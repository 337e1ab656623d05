"""Ragged: rows of unequal length on flat columns."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray


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
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    def take(self, rows: NDArray[np.int64]) -> "Ragged":
        return Ragged(self.starts[rows], self.stops[rows])

    def gather(self, column: NDArray[Any]) -> NDArray[Any]:
        """The rows of `column`, one after the other; a view if they are contiguous already."""
        if len(self.starts) == 0:
            return column[:0]
        if np.array_equal(self.starts[1:], self.stops[:-1]):
            return column[self.starts[0] : self.stops[-1]]
        lengths, offsets = self.lengths, self.offsets
        positions = np.arange(offsets[-1]) + np.repeat(self.starts - offsets[:-1], lengths)
        return cast(NDArray[Any], column[positions])
