"""BinaryMatrix: a sparse matrix of 0 and 1 that may be larger than memory.

It is kept by rows: the numbers of the columns that hold in each row. There are no values, and the numbers may
be a mapped file. Whatever reads the matrix as a whole does so in blocks of rows, which become ordinary sparse
matrices one after the other; so its memory does not depend on the number of rows.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from eventcargo.ragged import BLOCK, blocks, offsets_of, places
from eventcargo.scratch import Spool, reserve, scratch

Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]

Allocate = Callable[[int, DTypeLike], NDArray[Any]]
"""Makes an array of so many numbers."""


@dataclass(frozen=True, eq=False)
class BinaryMatrix:
    """Rows of column numbers.

    >>> matrix = BinaryMatrix.of(np.array([[1, 0, 1], [0, 0, 1]]))
    >>> matrix.row(0).tolist(), matrix.totals.tolist(), matrix.transposed.row(2).tolist()
    ([0, 2], [1, 0, 2], [0, 1])
    """

    starts: Ints  # (rows + 1,)
    numbers: Numbers  # (entries,)
    n_columns: int

    @classmethod
    def of(cls, matrix: sp.csr_array | NDArray[Any]) -> "BinaryMatrix":
        """Where an ordinary matrix, which has no repeated entries, is not 0."""
        matrix = sp.csr_array(matrix)
        if not matrix.data.all():
            matrix = matrix.copy()
            matrix.eliminate_zeros()
        return cls(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.shape[1])

    @classmethod
    def joined(cls, parts: Iterable[sp.csr_array], n_columns: int) -> "BinaryMatrix":
        """Ordinary matrices without repeated entries, one below the other; they need not fit in memory."""
        starts, spool, end = [np.zeros(1, np.int64)], Spool(np.int32), 0
        for part in map(cls.of, parts):
            starts.append(end + part.starts[1:])
            spool.add(part.numbers)
            end += len(part.numbers)
        return cls(np.concatenate(starts), spool.array(), n_columns)

    @classmethod
    def of_lists(cls, lists: Sequence[NDArray[np.integer]], n_columns: int) -> "BinaryMatrix":
        """A row for each list of numbers."""
        starts = offsets_of(np.array([len(one) for one in lists], np.int64))
        numbers = scratch(int(starts[-1]), np.int32)
        for one, at in zip(lists, starts.tolist(), strict=False):
            numbers[at : at + len(one)] = one
        return cls(starts, numbers, n_columns)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.starts) - 1, self.n_columns

    @property
    def lengths(self) -> Ints:
        """How many columns hold in each row."""
        return np.diff(self.starts)

    def row(self, number: int) -> Numbers:
        """The columns that hold in a row."""
        return self.numbers[self.starts[number] : self.starts[number + 1]]

    def blocks(self) -> Iterator[tuple[int, int]]:
        """First row and end of blocks that cover all rows."""
        return blocks(self.starts)

    def part(self, first: int, end: int, kind: DTypeLike = np.int32) -> sp.csr_array:
        """The rows from `first` on, before `end`, as an ordinary matrix."""
        starts = self.starts[first : end + 1]
        inside, starts = self.numbers[starts[0] : starts[-1]], starts - starts[0]
        narrow = np.int32 if starts[-1] <= np.iinfo(np.int32).max else np.int64
        parts = ones(len(inside), np.dtype(kind)), inside, starts.astype(narrow)
        return sp.csr_array(parts, shape=(end - first, self.n_columns))

    def parts(self, kind: DTypeLike = np.int32) -> Iterator[sp.csr_array]:
        """All rows, block after block."""
        return (self.part(first, end, kind) for first, end in self.blocks())

    def sparse(self, kind: DTypeLike = np.int32) -> sp.csr_array:
        """The whole as an ordinary matrix."""
        return self.part(0, len(self.starts) - 1, kind)

    def take(self, rows: Ints | Numbers) -> "BinaryMatrix":
        """Some rows, in the order given."""
        starts = self._starts_of(rows)
        numbers = scratch(int(starts[-1]), np.int32)
        for first, end in blocks(starts):
            numbers[starts[first] : starts[end]] = self._gathered(rows[first:end], starts[first : end + 1])
        return BinaryMatrix(starts, numbers, self.n_columns)

    def parts_of(
        self, rows: Ints | Numbers, kind: DTypeLike = np.float64
    ) -> Iterator[tuple[int, int, sp.csr_array]]:
        """Some rows in ordinary matrices, and which of these each has: the first and the end."""
        starts = self._starts_of(rows)
        for first, end in blocks(starts):
            own = starts[first : end + 1]
            part = BinaryMatrix(own - own[0], self._gathered(rows[first:end], own), self.n_columns)
            yield first, end, part.sparse(kind)

    def _starts_of(self, rows: Ints | Numbers) -> Ints:
        """Where some rows start once they are one after the other, and where the last one ends."""
        return offsets_of(self.starts[rows + 1] - self.starts[rows])

    def _gathered(self, rows: Ints | Numbers, starts: Ints) -> Numbers:
        """The numbers of some rows, which have these starts once they are one after the other."""
        if starts[-1] - starts[0] > LONG * len(rows):  # copied row by row, which is faster
            return np.concatenate([self.row(row) for row in rows.tolist()])
        return self.numbers[places(self.starts[rows], starts)]

    def run(self, first: int, end: int) -> "BinaryMatrix":
        """Neighbouring rows; nothing is copied."""
        starts = self.starts[first : end + 1]
        return BinaryMatrix(starts - starts[0], self.numbers[starts[0] : starts[-1]], self.n_columns)

    def keep(self, columns: Ints) -> "BinaryMatrix":
        """Some columns, given in ascending order and renumbered 0, 1, ...

        >>> BinaryMatrix.of(np.array([[1, 0, 1], [0, 0, 1]])).keep(np.array([1, 2])).numbers
        array([1, 1], dtype=int32)
        """
        place = np.full(self.n_columns, -1, np.int32)
        place[columns] = np.arange(len(columns), dtype=np.int32)
        return self.numbered(self.starts, self.numbers, lambda numbers: place[numbers], len(columns))

    @classmethod
    def numbered(
        cls,
        starts: Ints,
        values: NDArray[np.integer],
        number: Callable[[NDArray[np.integer]], Numbers],
        n_columns: int,
    ) -> "BinaryMatrix":
        """Rows of values, of each of which `number` says the column; those of a column below 0 are left out.

        >>> starts, values = np.array([0, 2, 3]), np.array([70, 90, 80])
        >>> matrix = BinaryMatrix.numbered(starts, values, lambda some: (some // 10 - 8).astype(np.int32), 2)
        >>> matrix.sparse().toarray().tolist()
        [[0, 1], [1, 0]]
        """
        lengths, spool = np.zeros(len(starts) - 1, np.int64), Spool(np.int32)
        for first, end in blocks(starts):
            numbers = number(values[starts[first] : starts[end]])
            row = np.repeat(np.arange(end - first), np.diff(starts[first : end + 1]))
            is_kept = numbers >= 0
            lengths[first:end] = np.bincount(row[is_kept], minlength=end - first)
            spool.add(numbers[is_kept])
        return cls(offsets_of(lengths), spool.array(), n_columns)

    @classmethod
    def beside(cls, matrices: "Sequence[BinaryMatrix]") -> "BinaryMatrix":
        """Matrices with the same rows, side by side.

        >>> matrix = BinaryMatrix.of(np.array([[1, 0], [0, 1]]))
        >>> BinaryMatrix.beside([matrix, matrix]).sparse().toarray().tolist()
        [[1, 0, 1, 0], [0, 1, 0, 1]]
        """
        starts: Ints = np.sum([matrix.starts for matrix in matrices], axis=0)
        parts = (
            sp.hstack([matrix.part(first, end, np.int8) for matrix in matrices], format="csr")
            for first, end in blocks(starts)
        )
        return cls.joined(parts, sum(matrix.n_columns for matrix in matrices))

    def dense(self, columns: Sequence[int]) -> NDArray[np.bool_]:
        """Some columns as truth values: (rows, columns).

        >>> BinaryMatrix.of(np.array([[1, 0, 1], [0, 0, 1]])).dense([2, 0]).tolist()
        [[True, True], [True, False]]
        """
        values = np.zeros((len(self.starts) - 1, len(columns)), bool)
        for at, column in enumerate(columns):
            values[self.transposed.row(column), at] = True
        return values

    def together(self, other: sp.csr_array) -> sp.csr_array:
        """In how many rows each column holds together with each of a matrix of the same rows.

        >>> matrix = BinaryMatrix.of(np.array([[1, 0], [1, 1]]))
        >>> matrix.together(sp.csr_array(np.array([[1], [1]]))).toarray().tolist()
        [[2], [1]]
        """
        counts = sp.csr_array((self.n_columns, other.shape[1]), dtype=np.int64)
        for first, end in self.blocks():
            counts = counts + self.part(first, end, np.int64).T @ other[first:end]
        return sp.csr_array(counts)

    def tally(self, rows: Ints | Numbers) -> Ints:
        """In how many of some rows each column holds."""
        starts, counts = self._starts_of(rows), np.zeros(self.n_columns, np.int64)
        for first, end in blocks(starts):
            numbers = self._gathered(rows[first:end], starts[first : end + 1])
            counts += np.bincount(numbers, minlength=self.n_columns)
        return counts

    def united(self, number: Ints, n: int) -> "BinaryMatrix":
        """A row for each number below n, in which every column holds that holds in a row with this number.

        >>> matrix = BinaryMatrix.of(np.array([[1, 0, 0], [0, 0, 1], [0, 1, 0]]))
        >>> matrix.united(np.array([0, 1, 0]), 2).sparse().toarray().tolist()
        [[1, 1, 0], [0, 0, 1]]
        """
        ordered = self.take(np.argsort(number, kind="stable"))
        ends = offsets_of(np.bincount(number, minlength=n))  # of the rows of a number
        parts = (
            _added(ordered.part(int(ends[first]), int(ends[end]), np.int8), ends[first : end + 1])
            for first, end in blocks(ordered.starts[ends])
        )
        return BinaryMatrix.joined(parts, self.n_columns)

    @cached_property
    def totals(self) -> Ints:
        """In how many rows each column holds."""
        return tally_numbers(self.numbers, self.n_columns)

    @cached_property
    def transposed(self) -> "BinaryMatrix":
        """The rows in which each column holds, ascending."""
        return self.transpose()

    def transpose(self, allocate: Allocate = scratch) -> "BinaryMatrix":
        """The transposed matrix, whose numbers are in a new array."""
        starts = offsets_of(self.totals)
        numbers, place = allocate(len(self.numbers), np.int32), starts[:-1].copy()
        for first, end in self.blocks():
            by_column = self.part(first, end, np.int8).tocsc()
            own = by_column.indptr.astype(np.int64)
            numbers[places(place, own)] = by_column.indices + np.int32(first)
            place += np.diff(own)
        return BinaryMatrix(starts, numbers, len(self.starts) - 1)

    @classmethod
    def of_columns(cls, columns: Sequence[NDArray[np.integer]], n_rows: int) -> "BinaryMatrix":
        """A matrix given by the ascending rows in which each column holds."""
        by_column = cls.of_lists(columns, n_rows)
        matrix = by_column.transpose()
        vars(matrix)["transposed"] = by_column
        return matrix

    def save(self, folder: Path, with_transposed: bool = False) -> None:
        """Write the matrix to a new folder, from which `load` maps it."""
        folder.mkdir(parents=True)
        np.save(folder / "starts.npy", self.starts)
        np.save(folder / "shape.npy", np.array(self.shape))
        with (folder / NUMBERS).open("wb") as sink:
            for at in range(0, len(self.numbers), BLOCK):
                sink.write(np.ascontiguousarray(self.numbers[at : at + BLOCK], np.int32).data)
        if with_transposed:
            self.save_transposed(folder / "transposed")

    def save_transposed(self, folder: Path) -> None:
        """Write the transposed matrix to a new folder; it is made there and needs no room elsewhere."""
        folder.mkdir(parents=True)
        matrix = self.transpose(lambda n, kind: _new_file(folder / NUMBERS, n, kind))
        np.save(folder / "starts.npy", matrix.starts)
        np.save(folder / "shape.npy", np.array(matrix.shape))

    @classmethod
    def load(cls, folder: Path) -> "BinaryMatrix":
        """A saved matrix; its numbers stay on disk until they are used."""
        starts, shape = (np.load(folder / f"{name}.npy", allow_pickle=False) for name in ("starts", "shape"))
        path, n = folder / NUMBERS, int(starts[-1])
        numbers = np.memmap(path, np.int32, "r", shape=(n,)) if n else np.zeros(0, np.int32)
        matrix = cls(starts, numbers, int(shape[1]))
        if (folder / "transposed").exists():
            vars(matrix)["transposed"] = cls.load(folder / "transposed")
        return matrix


LONG = 50
"""Rows with more numbers than this, on average, are copied one by one."""

NUMBERS = "numbers.i4"
"""The file of a saved matrix with its numbers, one after the other."""


def _added(matrix: sp.csr_array, ends: Ints) -> sp.csr_array:
    """How many of some neighbouring rows each column holds in; `ends` says where the next ones begin."""
    width = matrix.shape[0]
    which = sp.csr_array((np.ones(width, np.int32), np.arange(width), ends - ends[0]), (len(ends) - 1, width))
    return sp.csr_array(which @ matrix)


def tally_numbers(numbers: NDArray[np.integer], n: int) -> Ints:
    """How often each number below n occurs."""
    counts = np.zeros(n, np.int64)
    for at in range(0, len(numbers), BLOCK):
        counts += np.bincount(numbers[at : at + BLOCK], minlength=n)
    return counts


def ones(n: int, kind: np.dtype[Any]) -> NDArray[Any]:
    """An array of ones, which must not be changed."""
    if n <= BLOCK:
        return _ones(kind)[:n]
    array = scratch(n, kind)
    array[:] = 1
    return array


@lru_cache
def _ones(kind: np.dtype[Any]) -> NDArray[Any]:
    array = np.ones(BLOCK, kind)
    array.flags.writeable = False
    return array


def _new_file(path: Path, n: int, kind: DTypeLike) -> NDArray[Any]:
    """An array that is a new file."""
    with path.open("w+b") as file:
        if not n:
            return np.zeros(0, kind)
        reserve(file.fileno(), n * np.dtype(kind).itemsize)
        return np.memmap(file, kind, "r+", shape=(n,))
