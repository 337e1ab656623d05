"""Logistic regression with an L1 penalty, for a few hundred informative columns among many sparse ones.

Minimises sum over rows of log(1 + exp(z)) - y z, plus sum of penalty |weight|, with z = bias + X @ weights;
the bias is free, and each column may have its own penalty. Proximal Newton steps run on a working set of
columns, which grows by those that violate the optimality condition. A warm start is fast, so a path of
penalties costs little more than one fit. Nothing is random: the same input gives the same weights, on any
number of threads.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from eventcargo.statistics.log_loss import log_losses

Floats = NDArray[np.float64]

MAX_STEPS, MAX_SWEEPS = 100, 50
SLACK = 0.02
"""Share of the penalty by which a column may violate the optimality condition."""

ENOUGH = 1e-3
"""The fit ends when a step lowers the objective by no more than this, in nats over all rows."""

LONGEST_STEP = 2.0
"""Largest change of a weight in one step: where probabilities saturate, the quadratic model is far off."""

MIN_CURVATURE = 1e-6
"""Smallest p (1 - p) of a row: where probabilities saturate, smaller ones make steps that lead nowhere."""

GROWTH = 20
"""Most columns that join the working set in one step."""

REWEIGHTINGS = 2
"""Refits after the first fit, with penalties that fall with the weights of the previous one."""


@dataclass(frozen=True)
class Fit:
    """Weights of all columns, mostly 0, and the bias."""

    weights: Floats
    bias: float

    def logits(self, X: sp.csc_array) -> Floats:
        used = np.flatnonzero(self.weights)
        return np.asarray(X[:, used] @ self.weights[used] + self.bias)


def base_fit(n_columns: int, n_positive: int, n_rows: int) -> Fit:
    """A fit without weights; the bias is the base rate's logit, smoothed by half a sequence on each side."""
    rate = (n_positive + 0.5) / (n_rows + 1.0)
    return Fit(np.zeros(n_columns), float(np.log(rate / (1 - rate))))


def fit_lasso(
    X: sp.csc_array, y: Floats, penalty: Floats | float, start: Fit, offset: Floats | float = 0.0
) -> Fit:
    """Fit an L1-penalised logistic regression of `y` (0 or 1) on the columns of X, on top of `offset` logits.

    `penalty` is one number for all columns or one per column.

    >>> X = sp.csc_array(np.repeat([[0.0, 1.0], [1.0, 0.0]], 50, axis=0))
    >>> y = np.repeat([0.0, 1.0], 50)
    >>> fit = fit_lasso(X, y, 1.0, base_fit(2, 50, 100))
    >>> bool((fit.logits(X)[y == 1] > 2).all())
    True
    """
    state = _State(start.weights.copy(), start.bias, start.logits(X) + offset)
    penalties = np.broadcast_to(np.asarray(penalty, np.float64), state.weights.shape)
    value, longest = _objective(state, y, penalties), LONGEST_STEP
    for _ in range(MAX_STEPS):
        gradient = X.T @ (expit(state.z) - y)
        working, is_open = _working_set(state.weights, gradient, penalties)
        state, new_value = _step(X[:, working], working, y, penalties, state, value, longest)
        if value - new_value <= ENOUGH and not is_open:
            break
        if new_value == value:  # no step in this direction helps: take a shorter one
            longest /= 4
        value = new_value
    return Fit(state.weights, state.bias)


def reweight(X: sp.csc_array, y: Floats, penalty: float, fit: Fit, offset: Floats | float = 0.0) -> Fit:
    """Refit an L1 fit with the penalty of each column divided by 1 + |weight|.

    The L1 penalty shrinks large weights as much as small ones; a rare label, whose evidence is a few nats, is
    then never predicted. Each refit linearises penalty * sum log(1 + |weights|) at the previous weights
    (Candes, Wakin & Boyd 2008): an informative column pays little more for a large weight, while one without
    a weight pays as before and stays out.

    >>> X, y = sp.csc_array(np.repeat([[0.0], [1.0]], 20, axis=0)), np.repeat([0.0, 1.0], 20)
    >>> first = fit_lasso(X, y, 2.0, base_fit(1, 20, 40))
    >>> bool(reweight(X, y, 2.0, first).weights[0] > first.weights[0] + 1)
    True
    """
    for _ in range(REWEIGHTINGS):
        fit = fit_lasso(X, y, penalty / (1.0 + np.abs(fit.weights)), fit, offset)
    return fit


@dataclass(frozen=True)
class _State:
    weights: Floats
    bias: float
    z: Floats


def _objective(state: _State, y: Floats, penalties: Floats) -> float:
    return float(log_losses(state.z, y).sum() + penalties @ np.abs(state.weights))


def _working_set(weights: Floats, gradient: Floats, penalties: Floats) -> tuple[NDArray[np.int64], bool]:
    """Columns in use and the worst of those that violate the optimality condition; whether any does."""
    # A zero weight is optimal if |gradient| <= penalty (Friedman, Hastie & Tibshirani 2010).
    excess = np.where(weights == 0, np.abs(gradient) - penalties, 0.0)
    breaking = np.flatnonzero(excess > SLACK * penalties)
    strongest = breaking[np.argsort(-excess[breaking], kind="stable")[:GROWTH]]
    return np.union1d(np.flatnonzero(weights), strongest), len(breaking) > 0


def _step(
    X: sp.csc_array,
    working: NDArray[np.int64],
    y: Floats,
    penalties: Floats,
    state: _State,
    value: float,
    longest: float,
) -> tuple[_State, float]:
    """One proximal Newton step on the working set, shortened until the objective does not rise."""
    step, bias_step = _direction(X.tocsr(), y, penalties[working], state.weights[working], state.z, longest)
    along, size = X @ step + bias_step, 1.0
    while size > 1e-4:
        weights = state.weights.copy()
        weights[working] += size * step
        tried = _State(weights, state.bias + size * bias_step, state.z + size * along)
        new_value = _objective(tried, y, penalties)
        if new_value <= value:
            return tried, new_value
        size /= 2
    return state, value


def _direction(
    X: sp.csr_array, y: Floats, penalties: Floats, weights: Floats, z: Floats, longest: float
) -> tuple[Floats, float]:
    """The step to the minimum of the quadratic model of the objective; the bias is eliminated."""
    # Proximal Newton step (newGLMNET; Yuan, Ho & Lin 2012): H = X' D X with D = p (1 - p), g = X' (p - y).
    # Minimising over the bias first leaves H - m m' / sum(D) and g - m sum(p - y) / sum(D), with m = X' D 1.
    p = expit(z)
    curvature, residual = np.maximum(p * (1 - p), MIN_CURVATURE), p - y
    weighted = sp.csr_array((X.data * np.repeat(curvature, np.diff(X.indptr)), X.indices, X.indptr), X.shape)
    total, means = curvature.sum(), X.T @ curvature
    hessian = (X.T @ weighted).toarray() - np.outer(means, means) / total
    hessian[np.diag_indices_from(hessian)] += 1e-6
    gradient = X.T @ residual - means * (residual.sum() / total)
    step = _descend(hessian, gradient, penalties, weights, longest) - weights
    return step, float(-(residual.sum() + means @ step) / total)


def _descend(hessian: Floats, gradient: Floats, penalties: Floats, weights: Floats, longest: float) -> Floats:
    """The weights + d that minimise gradient . d + d . hessian . d / 2 + penalties . |weights + d|."""
    # Coordinate descent (Friedman, Hastie & Tibshirani 2010): w_j = S(h_jj w_j - slope_j, penalty_j) / h_jj
    # with slope = gradient + hessian d and S(t, c) = sign(t) max(|t| - c, 0), within `longest` of the start.
    new, slope, diagonal = weights.tolist(), gradient.copy(), hessian.diagonal().tolist()
    pulls = penalties.tolist()
    low, high = (weights - longest).tolist(), (weights + longest).tolist()
    for _ in range(MAX_SWEEPS):
        largest = 0.0
        for j, (curve, pull) in enumerate(zip(diagonal, pulls, strict=True)):
            target = curve * new[j] - float(slope[j])
            value = ((target - pull if target > 0 else target + pull) / curve) if abs(target) > pull else 0.0
            value = min(max(value, low[j]), high[j])
            change = value - new[j]
            if change:
                slope += change * hessian[j]
                new[j] = value
                largest = max(largest, abs(change))
        if largest < 1e-3:
            break
    return np.array(new)
