"""Logistic regression with an L1 penalty, for a few hundred informative columns among many sparse ones.

Minimises sum over rows of log(1 + exp(z)) - y z, plus sum of penalty |weight|, with z = bias + X @ weights;
the bias is free, and each column may have its own penalty. The fit runs on a working set of columns, which
grows by those that violate the optimality condition; rows without any of these columns count as one. A warm
start is fast, so a path of penalties costs little more than one fit. Nothing is random: the same input gives
the same weights, on any number of threads.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from eventcargo.models.linear.columns import Columns
from eventcargo.models.linear.hessian import GrowingHessian, Hessian, is_dense
from eventcargo.models.linear.newton import Rows, minimise

Floats = NDArray[np.float64]

MAX_ROUNDS = 100
"""Most times that the working set grows in one fit."""

SLACK = 0.02
"""Share of the penalty by which a column may violate the optimality condition."""

GROWTH = 20
"""Most columns that join the working set in one round, or as many as it has."""

REWEIGHTINGS = 2
"""Refits after the first fit, with penalties that fall with the weights of the previous one."""


@dataclass(frozen=True)
class Fit:
    """Weights of all columns, mostly 0, and the bias."""

    weights: Floats
    bias: float

    def logits(self, X: Columns) -> Floats:
        return X.times(self.weights) + self.bias


def base_fit(n_columns: int, n_positive: int, n_rows: int) -> Fit:
    """A fit without weights; the bias is the base rate's logit, smoothed by half a sequence on each side."""
    rate = (n_positive + 0.5) / (n_rows + 1.0)
    return Fit(np.zeros(n_columns), float(np.log(rate / (1 - rate))))


class Lasso:
    """The fits of one target on the columns of one matrix, on top of `offset` logits.

    `counts` says how often each row counts, None: once. A row that counts 0 times is left out, without a copy
    of the matrix.

    >>> X = Columns.of(np.repeat([[0.0, 1.0], [1.0, 0.0]], 50, axis=0))
    >>> y = np.repeat([0.0, 1.0], 50)
    >>> fit = Lasso(X, y).fit(1.0, base_fit(2, 50, 100))
    >>> bool((fit.logits(X)[y == 1] > 2).all())
    True
    """

    def __init__(
        self, X: Columns, y: Floats, offset: Floats | float = 0.0, counts: Floats | None = None
    ) -> None:
        self._X, self._y, self._offset, self._counts = X, y, offset, counts
        self._growing = GrowingHessian(X)
        self._known: deque[tuple[Fit, Floats]] = deque(
            maxlen=REWEIGHTINGS + 2
        )  # the last fits, their gradients

    def fit(self, penalty: Floats | float, start: Fit) -> Fit:
        """Fit the target (0 or 1); `penalty` is one number for all columns or one per column."""
        penalties = np.broadcast_to(np.asarray(penalty, np.float64), start.weights.shape)
        fit, gradient = start, self._gradient(start)
        for _ in range(MAX_ROUNDS):
            working = _working_set(fit.weights, gradient, penalties)
            fit = self._fit_columns(working, penalties, fit)
            gradient = self._gradient(fit)
            if not _violating(fit.weights, gradient, penalties).any():
                break
        return fit

    def reweight(self, penalty: float, fit: Fit) -> Fit:
        """Refit an L1 fit with the penalty of each column divided by 1 + |weight|.

        The L1 penalty shrinks large weights as much as small ones; a rare label, whose evidence is a few
        nats, is then never predicted. Each refit linearises penalty * sum log(1 + |weights|) at the previous
        weights (Candes, Wakin & Boyd 2008): an informative column pays little more for a large weight, while
        one without a weight pays as before and stays out.

        >>> X, y = Columns.of(np.repeat([[0.0], [1.0]], 20, axis=0)), np.repeat([0.0, 1.0], 20)
        >>> lasso = Lasso(X, y)
        >>> first = lasso.fit(2.0, base_fit(1, 20, 40))
        >>> bool(lasso.reweight(2.0, first).weights[0] > first.weights[0] + 1)
        True
        """
        for _ in range(REWEIGHTINGS):
            fit = self.fit(penalty / (1.0 + np.abs(fit.weights)), fit)
        return fit

    def _fit_columns(self, working: NDArray[np.int64], penalties: Floats, fit: Fit) -> Fit:
        rows = Rows.of(self._X.matrix(working), self._y, self._offset, self._counts)
        weights = fit.weights.copy()
        hessian = self._hessian(rows, working)
        weights[working], bias = minimise(rows, hessian, penalties[working], fit.weights[working], fit.bias)
        return Fit(weights, bias)

    def _hessian(self, rows: Rows, working: NDArray[np.int64]) -> Hessian | GrowingHessian:
        if len(rows.counts) != len(self._y) or not is_dense(rows.X):
            return Hessian(rows.X)
        self._growing.choose(working)
        return self._growing

    def _gradient(self, fit: Fit) -> Floats:
        """Of the log-loss, by the weights; that of the last fit is remembered for a warm start."""
        for known, gradient in self._known:
            if known is fit:
                return gradient
        residual = expit(fit.logits(self._X) + self._offset) - self._y
        gradient = self._X.transposed_times(residual if self._counts is None else residual * self._counts)
        self._known.append((fit, gradient))
        return gradient


def _excess(weights: Floats, gradient: Floats, penalties: Floats) -> Floats:
    """By how much each column without a weight violates the optimality condition."""
    # A zero weight is optimal if |gradient| <= penalty (Friedman, Hastie & Tibshirani 2010).
    return np.where(weights == 0, np.abs(gradient) - penalties, 0.0)


def _violating(weights: Floats, gradient: Floats, penalties: Floats) -> NDArray[np.bool_]:
    return _excess(weights, gradient, penalties) > SLACK * penalties


def _working_set(weights: Floats, gradient: Floats, penalties: Floats) -> NDArray[np.int64]:
    """Columns in use and the worst of those that violate the optimality condition."""
    used = np.flatnonzero(weights)
    excess = _excess(weights, gradient, penalties)
    breaking = np.flatnonzero(excess > SLACK * penalties)
    strongest = breaking[np.argsort(-excess[breaking], kind="stable")[: max(GROWTH, len(used))]]
    return np.union1d(used, strongest)
