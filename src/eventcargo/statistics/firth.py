"""FirthRegression: logistic regression by penalised likelihood, finite whatever the data.

Firth (1993) maximises log L + log |I| / 2 with the Fisher information I. The penalty, Jeffreys' prior,
removes the bias of few cases and keeps estimates finite where a column separates the sequences with the label
from the others; of a table of two by two, it adds half a sequence to each cell.

Several regressions on the same patterns run side by side, each in a lane of its own: with other coefficients
held fixed, or with counts divided by another design effect.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_STEPS, MAX_HALVINGS = 60, 12
"""Of Newton's method, and of one of its steps."""

LONGEST_STEP = 5.0
"""Largest change of a coefficient in one step; longer ones are too long at first, and halving takes time."""

RIDGE = 1e-12
"""Added to a diagonal of ones, so that every matrix can be inverted."""

LARGEST_LOGIT = 300.0
"""Beyond it, p (1 - p) comes near the smallest numbers there are."""

SMALLEST_GAIN = 1e-9
"""Newton's method ends if a step promises less, in nats: 0.005 % of a standard error."""


@dataclass(frozen=True)
class Lanes:
    """The coefficients of several regressions, and what follows from them."""

    coefficients: Floats  # (lanes, columns)
    scale: Floats  # (lanes,): by which counts are multiplied
    probability: Floats  # (lanes, patterns)
    inverse: Floats  # (lanes, columns, columns), of the information without scale
    value: Floats  # (lanes,): penalised log-likelihood
    curvature: Floats  # (lanes, patterns): p (1 - p)

    def take(self, lanes: Ints | NDArray[np.bool_]) -> "Lanes":
        """Some of the lanes."""
        return Lanes(*(each[lanes] for each in self._fields()))

    def put(self, lanes: Ints | NDArray[np.bool_], others: "Lanes") -> "Lanes":
        """The same with others in place of some lanes."""
        copies = [each.copy() for each in self._fields()]
        for own, other in zip(copies, others._fields(), strict=True):
            own[lanes] = other
        return Lanes(*copies)

    def _fields(self) -> tuple[Floats, ...]:
        return (self.coefficients, self.scale, self.probability, self.inverse, self.value, self.curvature)


@dataclass(frozen=True)
class FirthRegression:
    """The regression of a label on linearly independent columns, of which the first is 1.

    >>> X, hits, trials = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([10.0, 15.0]), np.array([100.0, 30.0])
    >>> found = FirthRegression(X, hits, trials).fit()
    >>> bool(np.isclose(np.exp(found.coefficients[0, 1]), (15.5 / 15.5) / (10.5 / 90.5)))
    True
    """

    X: Floats  # (patterns, columns)
    hits: Floats  # (patterns,)
    trials: Floats  # (patterns,)

    def fit(self, scale: Floats | None = None) -> Lanes:
        """The best coefficients for each scale of the counts; None: the counts as they are."""
        scale = np.ones(1) if scale is None else scale
        start = np.zeros((len(scale), self.X.shape[1]))
        start[:, 0] = logit((self.hits.sum() + 0.5) / (self.trials.sum() + 1.0))
        return self.maximise(start, scale)

    def at(self, coefficients: Floats, scale: Floats) -> Lanes:
        """What follows from some coefficients: (lanes, columns)."""
        logits = np.clip(coefficients @ self.X.T, -LARGEST_LOGIT, LARGEST_LOGIT)
        p = expit(logits)
        curvature = p * expit(-logits)
        information = self._gram(self.trials * curvature)
        likelihood = logits @ self.hits - np.logaddexp(0.0, logits) @ self.trials
        inverse, log_size = _inverse(information)
        return Lanes(coefficients, scale, p, inverse, scale * likelihood + log_size / 2, curvature)

    def maximise(
        self, start: Floats, scale: Floats, fixed: Ints | None = None, enough: float = SMALLEST_GAIN
    ) -> Lanes:
        """The best coefficients from a start, until a step promises less than `enough`.

        `fixed` has, for each lane, a coefficient that stays as it is.
        """
        lanes = self.at(start, scale)
        active = np.arange(len(start))
        for _ in range(MAX_STEPS):
            own = lanes.take(active)
            step, gain = self._newton(own, None if fixed is None else fixed[active])
            after = self._along(own, step)
            lanes = lanes.put(active, after)
            active = active[(gain > enough) & (after.coefficients != own.coefficients).any(axis=1)]
            if not len(active):
                break
        return lanes

    def score(self, lanes: Lanes) -> Floats:
        """The gradient of the penalised log-likelihood: (lanes, columns)."""
        return self._score(lanes, self._leverage(lanes))

    def _score(self, lanes: Lanes, leverage: Floats) -> Floats:
        # X' (hits - trials p + h (1/2 - p)): each pattern counts h sequences more, half of them hits
        residual = lanes.scale[:, None] * (self.hits - self.trials * lanes.probability)
        return (residual + leverage * (0.5 - lanes.probability)) @ self.X

    def _leverage(self, lanes: Lanes) -> Floats:
        """The diagonal of the hat matrix, which sums to the number of columns: (lanes, patterns)."""
        spread = np.einsum("lpc,pc->lp", self.X @ lanes.inverse, self.X)
        return self.trials * lanes.curvature * spread

    def _newton(self, lanes: Lanes, fixed: Ints | None) -> tuple[Floats, Floats]:
        """The step to the maximum of the quadratic model, and what it promises, in nats."""
        h = self._leverage(lanes)
        score = self._score(lanes, h)
        # with the leverages held fixed, these are the curvatures; of a saturated model they do not change
        curvature = self._gram((lanes.scale[:, None] * self.trials + h) * lanes.curvature)
        if fixed is not None:
            every = np.arange(len(fixed))
            score[every, fixed] = curvature[every, fixed] = curvature[every, :, fixed] = 0.0
            curvature[every, fixed, fixed] = 1.0
        step = np.einsum("lcd,ld->lc", _inverse(curvature)[0], score)
        gain = np.einsum("lc,lc->l", score, step) / 2
        return step * np.minimum(1.0, LONGEST_STEP / np.maximum(np.abs(step).max(1), 1e-12))[:, None], gain

    def _along(self, start: Lanes, step: Floats) -> Lanes:
        """The lanes after the step, shortened until the value does not fall."""
        found = self.at(start.coefficients + step, start.scale)
        for _ in range(MAX_HALVINGS):
            worse = ~(found.value >= start.value - SMALLEST_GAIN)
            if not worse.any():
                return found
            step = step / 2
            shorter = self.at(start.coefficients[worse] + step[worse], start.scale[worse])
            found = found.put(worse, shorter)
        return found.put(worse, start.take(worse))

    def _gram(self, weights: Floats) -> Floats:
        """X' diag(weights) X of each lane: (lanes, columns, columns)."""
        return np.matmul(self.X.T * weights[:, None, :], self.X)


def _inverse(matrices: Floats) -> tuple[Floats, Floats]:
    """Inverses of positive definite matrices, and the logarithms of their determinants."""
    size = np.sqrt(np.maximum(np.einsum("lcc->lc", matrices), np.finfo(float).tiny))
    outer = size[:, :, None] * size[:, None, :]
    even = matrices / outer + RIDGE * np.eye(matrices.shape[1])
    return np.linalg.inv(even) / outer, np.linalg.slogdet(even)[1] + 2 * np.log(size).sum(1)
