"""ScoreTest: which further columns a target still depends on, given a logistic fit; nothing is refitted."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.special import chdtri, expit

from eventcargo.models.linear.lasso import Fit, Floats

RIDGE = 1e-6
"""Added to the diagonal of the information: two equal columns would make it singular."""

MIN_VARIANCE = 1e-3
"""Smallest variance of a score: a column that the fit contains already has none."""


@dataclass(frozen=True)
class ScoreTest:
    """Rao's score test of one column at a time, given the columns with a weight.

    >>> rng = np.random.default_rng(0)
    >>> X = sp.csc_array((rng.random((1000, 3)) < 0.5).astype(float))
    >>> y = X[:, [0]].toarray().ravel() * X[:, [1]].toarray().ravel()
    >>> test = ScoreTest.of(X[:, [0]], y, Fit(np.array([3.0]), -3.0))
    >>> test.finds(X[:, [1]], 0.01), test.finds(X[:, [2]], 0.01)
    (True, False)
    """

    residuals: Floats
    curvature: Floats
    weighted: sp.csr_array  # D A, with A the columns of the fit and a column of ones
    solved: Floats  # (A' D A)^-1 A' r
    factor: tuple[Floats, bool]  # of A' D A

    @classmethod
    def of(cls, X: sp.csc_array, y: Floats, fit: Fit) -> "ScoreTest":
        """The test given a fit on the columns of X."""
        ones = sp.csc_array(np.ones((X.shape[0], 1)))
        A = sp.hstack([ones, X[:, np.flatnonzero(fit.weights)]], format="csr")
        p = expit(fit.logits(X))
        residuals, curvature = y - p, p * (1 - p)
        data = A.data * np.repeat(curvature, np.diff(A.indptr))
        weighted = sp.csr_array((data, A.indices, A.indptr), A.shape)
        information = (A.T @ weighted).toarray() + RIDGE * np.eye(A.shape[1])
        factor = cho_factor(information, lower=True)
        return cls(residuals, curvature, weighted, cho_solve(factor, A.T @ residuals), factor)

    def statistics(self, X: sp.csc_array) -> Floats:
        """For every column a statistic that is chi-square with one degree of freedom if nothing depends."""
        # score s = x' r and variance x' D x, both less what the columns A of the fit explain (Rao 1948):
        # s - x' D A (A' D A)^-1 A' r and x' D x - x' D A (A' D A)^-1 A' D x
        across = (self.weighted.T @ X).toarray()  # (columns of the fit, columns)
        scores = X.T @ self.residuals - across.T @ self.solved
        squares = sp.csc_array((X.data**2, X.indices, X.indptr), X.shape)
        explained = (across * cho_solve(self.factor, across)).sum(axis=0)
        result: Floats = scores**2 / np.maximum(squares.T @ self.curvature - explained, MIN_VARIANCE)
        return result

    def finds(self, X: sp.csc_array, alpha: float) -> bool:
        """Whether the target depends on a column, at level `alpha` for all columns together."""
        return bool(self.statistics(X).max() > chdtri(1, alpha / X.shape[1]))
