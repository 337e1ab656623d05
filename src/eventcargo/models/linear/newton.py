"""Proximal Newton steps: the minimum of an L1-penalised log-loss over a few columns.

The Hessian is a dense product by BLAS if the columns are not sparse, and is kept while the curvature of the
rows hardly changes. The L1-penalised quadratic model is minimised exactly, by solving for the nonzero weights
with their signs fixed: a few Cholesky factorisations, no loop over columns.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv
from scipy.special import expit

from eventcargo.models.linear.hessian import GrowingHessian, Hessian

Floats = NDArray[np.float64]

MAX_STEPS, MAX_SOLVES = 100, 100
"""Most Newton steps of a fit, and most systems of equations solved in one."""

ENOUGH = 1e-3
"""The minimum is reached when a step lowers the objective by no more than this, in nats over all rows."""

LONGEST_STEP, SHORTEST_STEP = 2.0, 0.01
"""Largest change of a weight in one step, and how far it is lowered if no step helps: where probabilities
saturate, the quadratic model is far off."""

SMALLEST_SHARE = 1e-4
"""Smallest share of a step that is tried."""

MIN_CURVATURE = 1e-6
"""Smallest p (1 - p) of a row: where probabilities saturate, smaller ones make steps that lead nowhere."""

RIDGE = 1e-5
"""Added to the diagonal of the Hessian: two equal columns would make it singular."""

TIE = 1e-9
"""By how much a slope must exceed its penalty."""

MOST_TOUCHED = 0.5
"""Share of rows with an entry up to which it pays to count the others as one."""


@dataclass(frozen=True)
class Rows:
    """Some columns of all rows; rows without an entry are one row, unless their offsets differ.

    >>> rows = Rows.of(sp.csc_array(np.array([[1.0], [0.0], [0.0]])), np.array([1.0, 1.0, 0.0]), 0.0)
    >>> rows.X.toarray().ravel().tolist(), rows.counts.tolist(), rows.positives.tolist()
    ([1.0, 0.0], [1.0, 2.0], [1.0, 1.0])
    """

    X: sp.csc_array
    counts: Floats  # (rows,)
    positives: Floats  # (rows,)
    offset: Floats | float

    @classmethod
    def of(cls, X: sp.csc_array, y: Floats, offset: Floats | float, counts: Floats | None = None) -> "Rows":
        """Rows of a target 0 or 1; `counts` says how often each counts, None: once."""
        n_rows, n_columns = X.shape
        counts = np.ones(n_rows) if counts is None else counts
        touched = np.zeros(n_rows, bool)
        touched[X.indices] = True
        if np.ndim(offset) > 0 or touched.mean() > MOST_TOUCHED:
            return cls(X, counts, y * counts, offset)
        number = (np.cumsum(touched) - 1).astype(np.int32)
        n = int(touched.sum())
        own = sp.csc_array((X.data, number[X.indices], X.indptr), shape=(n + 1, n_columns))
        n_rows_of, positives = (
            np.concatenate([each[touched], [each[~touched].sum()]]) for each in (counts, y * counts)
        )
        return cls(own, n_rows_of, positives, offset)

    def logits(self, weights: Floats, bias: float) -> Floats:
        return np.asarray(self.X @ weights) + bias + self.offset

    def loss(self, logits: Floats) -> float:
        return float(self.counts @ np.logaddexp(0.0, logits) - self.positives @ logits)


AnyHessian = Hessian | GrowingHessian


@dataclass(frozen=True)
class Point:
    """Weights and bias, the logits they give, and the penalised loss."""

    weights: Floats
    bias: float
    z: Floats
    value: float

    @classmethod
    def of(cls, rows: Rows, penalties: Floats, weights: Floats, bias: float, z: Floats) -> "Point":
        return cls(weights, bias, z, rows.loss(z) + float(penalties @ np.abs(weights)))


def minimise(
    rows: Rows, hessian: AnyHessian, penalties: Floats, weights: Floats, bias: float
) -> tuple[Floats, float]:
    """The weights and the bias with the lowest penalised loss, from a start."""
    point = Point.of(rows, penalties, weights, bias, rows.logits(weights, bias))
    longest = LONGEST_STEP
    for _ in range(MAX_STEPS):
        before = point
        step = _direction(rows, hessian, penalties, point, longest)
        point = _along(rows, penalties, point, *step)
        if point is before and longest > SHORTEST_STEP:  # no step in this direction helps: take a shorter one
            longest /= 4
            hessian.forget()
        elif before.value - point.value <= ENOUGH:
            break
    return point.weights, point.bias


def _along(rows: Rows, penalties: Floats, start: Point, step: Floats, bias_step: float) -> Point:
    """The point after the step, shortened until the penalised loss does not rise."""
    along, size = rows.X @ step + bias_step, 1.0
    while size > SMALLEST_SHARE:
        weights, bias = start.weights + size * step, start.bias + size * bias_step
        tried = Point.of(rows, penalties, weights, bias, start.z + size * along)
        if tried.value <= start.value:
            return tried
        size /= 2
    return start


def _direction(
    rows: Rows, hessian: AnyHessian, penalties: Floats, point: Point, longest: float
) -> tuple[Floats, float]:
    """The step to the minimum of the quadratic model of the objective; the bias is eliminated."""
    # Proximal Newton step (newGLMNET; Yuan, Ho & Lin 2012): H = X' D X with D = p (1 - p), g = X' (p - y).
    # Minimising over the bias first leaves H - m m' / sum(D) and g - m sum(p - y) / sum(D), with m = X' D 1.
    p, weights = expit(point.z), point.weights
    residual = rows.counts * p - rows.positives
    product, curvature = hessian.at(rows.counts * np.maximum(p * (1 - p), MIN_CURVATURE))
    total, means = curvature.sum(), rows.X.T @ curvature
    H = product - np.outer(means, means) / total
    H[np.diag_indices_from(H)] = np.maximum(H.diagonal(), 0.0) * (1 + RIDGE) + RIDGE
    gradient = rows.X.T @ residual - means * (residual.sum() / total)
    step = lowest(H, gradient - H @ weights, penalties, weights) - weights
    step *= min(1.0, longest / max(float(np.abs(step).max(initial=0.0)), 1e-12))
    return step, float(-(residual.sum() + means @ step) / total)


def lowest(H: Floats, linear: Floats, penalties: Floats, weights: Floats) -> Floats:
    """The weights that minimise linear . w + w . H . w / 2 + penalties . |w|, from a start.

    >>> lowest(np.eye(2), np.array([-3.0, 0.5]), np.ones(2), np.zeros(2)).tolist()
    [2.0, 0.0]
    """
    # Feature-sign search (Lee, Battle, Raina & Ng 2007): with the signs of the nonzero weights fixed, the
    # minimum solves a linear system. On the way there, weights that would change sign stop at 0; the value
    # falls in every round. Several columns enter at once; those that move against their sign wait.
    w, is_settled = weights, False
    for _ in range(MAX_SOLVES):
        slope = H @ w + linear
        excess = np.where(w == 0, np.abs(slope) - penalties * (1 + TIE) - TIE, 0.0)
        if is_settled and not (excess > 0).any():
            break
        target, signs = _with_entering(H, linear, penalties, np.sign(w), slope, excess)
        w = _toward(H, linear, penalties, w, target)
        is_settled = np.array_equal(np.sign(w), signs)
    return w


def _with_entering(
    H: Floats, linear: Floats, penalties: Floats, signs: Floats, slope: Floats, excess: Floats
) -> tuple[Floats, Floats]:
    """The minimum with these signs once columns have entered, and the signs then.

    All columns that violate the optimality condition enter, or else the one that violates it most, or else
    none: those that would move against their sign stay out.
    """
    strongest = excess == excess.max(initial=0.0)
    for entering in (excess > 0, (excess > 0) & strongest):
        tried = np.where(entering, -np.sign(slope), signs)
        while True:
            target = _solve(H, linear, penalties, tried)
            wrong = entering & (tried * target < 0)
            if not wrong.any():
                break
            tried = np.where(wrong, 0.0, tried)
        if (entering & (tried != 0)).any() or not entering.any():
            return target, tried
    return target, tried


def _solve(H: Floats, linear: Floats, penalties: Floats, signs: Floats) -> Floats:
    """The minimum with these signs."""
    active, target = np.flatnonzero(signs), np.zeros(len(linear))
    if len(active):
        right = -(linear[active] + penalties[active] * signs[active])
        target[active] = _solved(H[np.ix_(active, active)], right)
    return target


def _solved(H: Floats, right: Floats) -> Floats:
    _, solution, failed = dposv(H, right)
    if failed:  # rounding made H indefinite
        solution = np.linalg.lstsq(H, right, rcond=None)[0]
    return np.asarray(solution)


def _toward(H: Floats, linear: Floats, penalties: Floats, start: Floats, end: Floats) -> Floats:
    """The lowest point from start to end among the end and the points where a weight becomes 0."""
    crossing = np.flatnonzero(start * end < 0)
    if not len(crossing):
        return end
    move = end - start
    shares = np.concatenate([start[crossing] / (start[crossing] - end[crossing]), [1.0]])
    points = start + shares[:, None] * move  # (points, columns)
    points[np.arange(len(crossing)), crossing] = 0.0
    bend, slope = move @ (H @ move), move @ (H @ start + linear)
    values = shares * slope + shares**2 * bend / 2 + np.abs(points) @ penalties
    return np.asarray(points[np.argmin(values)])
