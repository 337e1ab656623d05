"""Spool: rows of events as numbers, in memory while they are few, otherwise in a file.

A row is a subject, an event type, a time and further numbers. Rows are read chunk by chunk in the order in
which they were written, and may be sorted into parts by subject, each of which fits in memory.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK = 1 << 22
"""Rows held in memory at once."""

Rows = NDArray[Any]
"""A structured array with the fields subject, code, time and values."""


def row_type(n_values: int) -> np.dtype[Any]:
    """The type of a row."""
    return np.dtype([("subject", "i4"), ("code", "i4"), ("time", "f8"), ("values", "f8", (n_values,))])


def make_rows(
    subject: NDArray[Any], code: NDArray[Any], time: NDArray[Any], values: NDArray[np.float64]
) -> Rows:
    rows = np.empty(len(code), row_type(values.shape[1]))
    rows["subject"], rows["code"], rows["time"], rows["values"] = subject, code, time, values
    return rows


class Spool:
    """Rows in the order in which they were added; more than `hold` of them go to a file."""

    def __init__(self, path: Path, n_values: int, hold: int = CHUNK) -> None:
        self._path, self._hold = path, hold
        self._type = row_type(n_values)
        self._held: list[Rows] = []
        self._in_file = False
        self.n_rows = 0

    def add(self, rows: Rows) -> None:
        self.n_rows += len(rows)
        self._held.append(rows)
        if sum(map(len, self._held)) > self._hold:
            self._in_file = True
            with self._path.open("ab") as file:
                for held in self._held:
                    held.tofile(file)
            self._held = []

    def chunks(self) -> Iterator[Rows]:
        """All rows in order, chunk by chunk."""
        if self._in_file:
            with self._path.open("rb") as file:
                while len(rows := np.fromfile(file, self._type, CHUNK)):
                    yield rows
        yield from self._held

    def all(self) -> Rows:
        """All rows at once."""
        return np.concatenate([np.empty(0, self._type), *self.chunks()])

    def delete(self) -> None:
        self._path.unlink(missing_ok=True)
        self._held = []


def partition(
    chunks: Iterator[Rows], part_of: Callable[[Rows], NDArray[Any]], n_parts: int, folder: Path, n_values: int
) -> list[Spool]:
    """Sort rows into parts, keeping their order within a part."""
    hold = CHUNK if n_parts == 1 else 0
    parts = [Spool(folder / f"part{number}", n_values, hold) for number in range(n_parts)]
    for rows in chunks:
        numbers = part_of(rows)
        order = np.argsort(numbers, kind="stable")
        ends = np.searchsorted(numbers[order], np.arange(n_parts + 1))
        rows = rows[order]
        for number, part in enumerate(parts):
            if ends[number] < ends[number + 1]:
                part.add(rows[ends[number] : ends[number + 1]])
    return parts
