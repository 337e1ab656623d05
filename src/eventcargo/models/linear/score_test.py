"""ScoreTest: which further columns a target still depends on, given a logistic fit; nothing is refitted."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.special import chdtri, expit

from eventcargo.models.linear.columns import Columns
from eventcargo.models.linear.lasso import Fit, Floats

RIDGE = 1e-6
"""Added to the diagonal of the information: two equal columns would make it singular."""

MIN_VARIANCE = 1e-3
"""Smallest variance of a score: a column that the fit contains already has none."""


@dataclass(frozen=True)
class ScoreTest:
    """Rao's score test of one column at a time, given the columns with a weight.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((1000, 3)) < 0.5
    >>> y = (X[:, 0] & X[:, 1]).astype(float)
    >>> first, second, third = (Columns.of(X[:, [at]]) for at in range(3))
    >>> test = ScoreTest.of(first, y, Fit(np.array([3.0]), -3.0))
    >>> test.finds(second, 0.01), test.finds(third, 0.01)
    (True, False)
    """

    residuals: Floats
    curvature: Floats
    weighted: sp.csr_array  # D A, with A the columns of the fit and a column of ones
    solved: Floats  # (A' D A)^-1 A' r
    factor: tuple[Floats, bool]  # of A' D A

    @classmethod
    def of(cls, X: Columns, y: Floats, fit: Fit) -> "ScoreTest":
        """The test given a fit on the columns of X."""
        ones = sp.csc_array(np.ones((X.shape[0], 1)))
        A = sp.hstack([ones, X.matrix(np.flatnonzero(fit.weights))], format="csr")
        p = expit(fit.logits(X))
        residuals, curvature = y - p, p * (1 - p)
        data = A.data * np.repeat(curvature, np.diff(A.indptr))
        weighted = sp.csr_array((data, A.indices, A.indptr), A.shape)
        information = (A.T @ weighted).toarray() + RIDGE * np.eye(A.shape[1])
        factor = cho_factor(information, lower=True)
        return cls(residuals, curvature, weighted, cho_solve(factor, A.T @ residuals), factor)

    def statistics(self, X: Columns) -> Floats:
        """For every column a statistic that is chi-square with one degree of freedom if nothing depends."""
        # score s = x' r and variance x' D x, both less what the columns A of the fit explain (Rao 1948):
        # s - x' D A (A' D A)^-1 A' r and x' D x - x' D A (A' D A)^-1 A' D x
        return np.concatenate([self._statistics(part) for part in X.parts()])

    def _statistics(self, part: sp.csr_array) -> Floats:
        """The same for X', of which no entry is squared, because they are 0 and 1."""
        across = (part @ self.weighted).toarray().T  # (columns of the fit, columns)
        scores = part @ self.residuals - across.T @ self.solved
        explained = (across * cho_solve(self.factor, across)).sum(axis=0)
        result: Floats = scores**2 / np.maximum(part @ self.curvature - explained, MIN_VARIANCE)
        return result

    def finds(self, X: Columns, alpha: float) -> bool:
        """Whether the target depends on a column, at level `alpha` for all columns together."""
        return bool(self.statistics(X).max() > chdtri(1, alpha / X.shape[1]))
