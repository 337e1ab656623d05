"""Columns: the features of a fit, a matrix of 0 and 1 by columns that may be larger than memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.binary_matrix import BinaryMatrix
from eventcargo.scratch import scratch

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Columns:
    """The rows in which each column is 1.

    >>> X = Columns.of(np.array([[1, 0, 1], [1, 1, 0]]))
    >>> X.times(np.array([1.0, 2.0, 4.0])).tolist(), X.transposed_times(np.array([1.0, 2.0])).tolist()
    ([5.0, 3.0], [3.0, 2.0, 1.0])
    """

    by_column: BinaryMatrix

    @classmethod
    def of(cls, matrix: sp.csc_array | NDArray[Any]) -> "Columns":
        """An ordinary matrix of 0 and 1."""
        return cls(BinaryMatrix.of(sp.csc_array(matrix).T))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        n_columns, n_rows = self.by_column.shape
        return n_rows, n_columns

    @property
    def lengths(self) -> Ints:
        """In how many rows each column is 1."""
        return self.by_column.lengths

    def take(self, columns: Ints) -> "Columns":
        """Some columns; neighbours are not copied."""
        if len(columns) and (np.diff(columns) == 1).all():
            return Columns(self.by_column.run(int(columns[0]), int(columns[-1]) + 1))
        return Columns(self.by_column.take(columns))

    def within(self, rows: Ints) -> "Columns":
        """Some rows, given in ascending order."""
        return Columns(self.by_column.keep(rows))

    def matrix(self, columns: Ints) -> sp.csc_array:
        """Some columns as an ordinary matrix."""
        return self.by_column.take(columns).sparse(np.float64).T

    def table(self, columns: Ints) -> NDArray[np.float32]:
        """Some columns with all their zeros: (columns, rows). It may be larger than memory.

        >>> Columns.of(np.array([[1, 0], [1, 1]])).table(np.array([1])).tolist()
        [[0.0, 1.0]]
        """
        n_rows, _ = self.shape
        table: NDArray[np.float32] = scratch(len(columns) * n_rows, np.float32).reshape(len(columns), n_rows)
        for values, column in zip(table, columns.tolist(), strict=True):
            values[:] = 0.0
            values[self.by_column.row(column)] = 1.0
        return table

    def times(self, weights: Floats) -> Floats:
        """X @ weights; columns of weight 0 are not read."""
        used = np.flatnonzero(weights)
        product, chosen = np.zeros(self.shape[0]), self.by_column.take(used)
        for first, end in chosen.blocks():
            product += chosen.part(first, end, np.float64).T @ weights[used[first:end]]
        return product

    def transposed_times(self, values: Floats) -> Floats:
        """X' @ values."""
        return np.concatenate([np.zeros(0), *(part @ values for part in self.parts())])

    def parts(self) -> Iterator[sp.csr_array]:
        """X' as ordinary matrices, block after block of columns."""
        return self.by_column.parts(np.float64)
