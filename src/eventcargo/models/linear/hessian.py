"""Hessians X' D X of some columns: by BLAS if they are not sparse, and kept while D hardly changes."""

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.models.linear.columns import Columns
from eventcargo.ragged import BLOCK

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

STALE = 0.05
"""Share by which D, summed over the rows, may change before the product is computed again."""

DENSE, MOST_DENSE = 0.04, 50_000_000
"""Share of nonzeros from which BLAS is faster than a sparse product, and most numbers of a dense copy."""


def is_dense(X: sp.csc_array) -> bool:
    """Whether a dense copy pays, and fits in memory."""
    size = X.shape[0] * X.shape[1]
    return DENSE * size <= X.nnz and size <= MOST_DENSE


def has_changed(old: Floats | None, new: Floats) -> bool:
    """Whether the curvature of the rows is clearly another."""
    return old is None or len(old) != len(new) or np.abs(new - old).sum() > STALE * old.sum()


class Hessian:
    """X' D X of one matrix for changing D.

    >>> X = sp.csc_array(np.array([[1.0, 0.0], [1.0, 1.0]]))
    >>> Hessian(X).at(np.array([2.0, 3.0]))[0].tolist()
    [[5.0, 3.0], [3.0, 3.0]]
    """

    def __init__(self, X: sp.csc_array) -> None:
        self._X = X
        self._curvature: Floats | None = None
        self._product: Floats = np.zeros((0, 0))

    def at(self, curvature: Floats) -> tuple[Floats, Floats]:
        """The product at this D or at one that is nearly the same, and that D."""
        if has_changed(self._curvature, curvature):
            self._curvature = curvature
            self._product = self._dense(curvature) if is_dense(self._X) else self._sparse(curvature)
        assert self._curvature is not None
        return self._product, self._curvature

    def forget(self) -> None:
        """Compute the next product anew."""
        self._curvature = None

    @cached_property
    def _rows(self) -> Singles:
        return np.asarray(self._X.T.astype(np.float32).toarray())

    def _dense(self, curvature: Floats) -> Floats:
        scaled = self._rows * np.sqrt(curvature).astype(np.float32)
        return np.asarray(scaled @ scaled.T, np.float64)

    def _sparse(self, curvature: Floats) -> Floats:
        n_rows, n_columns = self._X.shape
        product, n_blocks = np.zeros((n_columns, n_columns)), -(-self._X.nnz // BLOCK) or 1
        for block in _blocks(n_rows, -(-n_rows // n_blocks)):
            X = _rows_of(self._X, block).tocsr()
            data = X.data * np.repeat(curvature[block], np.diff(X.indptr))
            product += (X.T @ sp.csr_array((data, X.indices, X.indptr), X.shape)).toarray()
        return product


class GrowingHessian:
    """X' D X of a growing choice of dense columns: a column that joins costs one row, not a new product.

    >>> growing = GrowingHessian(Columns.of(np.array([[1, 0, 1], [1, 1, 0]])))
    >>> growing.choose(np.array([0]))
    >>> growing.at(np.array([2.0, 3.0]))[0].tolist()
    [[5.0]]
    >>> growing.choose(np.array([0, 1]))
    >>> growing.at(np.array([2.0, 3.0]))[0].tolist()
    [[5.0, 3.0], [3.0, 3.0]]
    """

    def __init__(self, X: Columns) -> None:
        self._X = X
        self._chosen: Ints = np.zeros(0, np.int64)
        self._columns: Ints = np.zeros(0, np.int64)  # those of the product, in the order they joined
        self._rows: list[Singles] = []  # of each of these, its number in every row
        self._product: Floats = np.zeros((0, 0))
        self._curvature: Floats | None = None

    def choose(self, columns: Ints) -> None:
        """Choose the columns of the next products."""
        self._chosen = columns

    def at(self, curvature: Floats) -> tuple[Floats, Floats]:
        """The product of the chosen columns at this D or at one that is nearly the same, and that D."""
        if has_changed(self._curvature, curvature):
            self._begin(curvature)
        missing = np.setdiff1d(self._chosen, self._columns)
        if len(missing):
            self._extend(missing)
        order = np.argsort(self._columns)
        at = order[np.searchsorted(self._columns, self._chosen, sorter=order)]
        assert self._curvature is not None
        return self._product[np.ix_(at, at)], self._curvature

    def forget(self) -> None:
        """Compute the next product anew."""
        self._curvature = None

    def _begin(self, curvature: Floats) -> None:
        kept = np.isin(self._columns, self._chosen)
        self._columns, self._curvature = self._columns[kept], curvature
        self._rows = [rows for rows, is_kept in zip(self._rows, kept, strict=True) if is_kept]
        self._product = np.zeros((len(self._rows), len(self._rows)))
        for block in _blocks(self._X.shape[0], BLOCK // max(len(self._rows), 1)):
            scaled = _stacked(self._rows, block) * np.sqrt(curvature[block]).astype(np.float32)
            self._product += scaled @ scaled.T

    def _extend(self, columns: Ints) -> None:
        assert self._curvature is not None
        rows = self._X.table(columns)
        across, own = np.zeros((len(rows), len(self._rows))), np.zeros((len(rows), len(rows)))
        for block in _blocks(self._X.shape[0], BLOCK // (len(rows) + len(self._rows))):
            scaled = rows[:, block] * self._curvature[block].astype(np.float32)
            across += scaled @ _stacked(self._rows, block).T
            own += scaled @ rows[:, block].T
        self._product = np.block([[self._product, across.T], [across, (own + own.T) / 2]])
        self._columns = np.concatenate([self._columns, columns])
        self._rows = [*self._rows, *rows]


def _blocks(n: int, size: int) -> Iterator[slice]:
    """Blocks of about so many of n rows."""
    size = max(size, 1)
    return (slice(at, min(at + size, n)) for at in range(0, n, size))


def _rows_of(X: sp.csc_array, block: slice) -> sp.csc_array:
    """A block of the rows of a matrix whose columns name their rows in ascending order.

    >>> _rows_of(sp.csc_array(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])), slice(1, 3)).toarray().tolist()
    [[0.0, 1.0], [1.0, 1.0]]
    """
    if block.stop - block.start == X.shape[0]:
        return X
    ends = list(itertools.pairwise(X.indptr.tolist()))
    inside = [first + np.searchsorted(X.indices[first:end], (block.start, block.stop)) for first, end in ends]
    lengths = np.array([end - first for first, end in inside])
    at = np.concatenate([np.arange(first, end) for first, end in inside])
    parts = X.data[at], X.indices[at] - block.start, np.concatenate([[0], np.cumsum(lengths)])
    return sp.csc_array(parts, shape=(block.stop - block.start, X.shape[1]))


def _stacked(rows: Sequence[Singles], block: slice) -> Singles:
    """A block of rows of some columns: (columns, rows of the block)."""
    values = [own[block] for own in rows]
    return np.array(values, np.float32).reshape(len(rows), block.stop - block.start)
