"""Hessians X' D X of some columns: by BLAS if they are not sparse, and kept while D hardly changes."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.models.linear.columns import Columns

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
        X = self._X.tocsr()
        data = X.data * np.repeat(curvature, np.diff(X.indptr))
        return np.asarray((X.T @ sp.csr_array((data, X.indices, X.indptr), X.shape)).toarray())


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
        self._rows: Singles = np.zeros((0, X.shape[0]), np.float32)
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
        self._columns, self._rows, self._curvature = self._columns[kept], self._rows[kept], curvature
        scaled = self._rows * np.sqrt(curvature).astype(np.float32)
        self._product = np.asarray(scaled @ scaled.T, np.float64)

    def _extend(self, columns: Ints) -> None:
        assert self._curvature is not None
        rows = np.asarray(self._X.matrix(columns).T.astype(np.float32).toarray())
        scaled = rows * self._curvature.astype(np.float32)
        across, own = np.asarray(scaled @ self._rows.T, np.float64), np.asarray(scaled @ rows.T, np.float64)
        self._product = np.block([[self._product, across.T], [across, (own + own.T) / 2]])
        self._columns, self._rows = (
            np.concatenate([self._columns, columns]),
            np.concatenate([self._rows, rows]),
        )
