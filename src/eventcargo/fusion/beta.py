"""The expected false-positive rate: two Beta components fitted to the mutual information of all edges.

The mixture of Froehlich and Klau, weight * Beta(alpha, 1) + (1 - weight) * Beta(1, beta): edges that are
there, rising towards 1, and edges that are not, falling from 0. The paper fits it to mutual information and
does not say how nats become numbers between 0 and 1. Here x = 1 - exp(-2 * information), the squared
correlation of a Gaussian pair of that information: it keeps the order, needs no largest value (an estimate
can be above log 2), and Beta(1, beta) then says that the information of a false edge is exponential with the
rate 2 * beta, as that of independent variables nearly is.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eventcargo.errors import ConfigError, DataError, EventCargoWarning

Floats = NDArray[np.float64]

TOLERANCE, MAX_STEPS = 1e-4, 10_000
EDGE = 1e-12
"""Values this near to 0 or 1 are taken to be this far away: their logarithms would be infinite."""


@dataclass(frozen=True)
class BetaMixture:
    """weight * Beta(alpha, 1) + (1 - weight) * Beta(1, beta), with alpha and beta at least 1.

    >>> round(BetaMixture(alpha=2, beta=4, weight=0.5).cutoff(fpr=0.0625), 4)
    0.5
    """

    alpha: float = 1.5
    beta: float = 5.0
    weight: float = 0.5

    def responsibility(self, x: Floats) -> Floats:
        """The chance that each value is of the component Beta(alpha, 1).

        By the logarithms of the densities: both densities of a steep mixture can be too small for a float.
        """
        with np.errstate(divide="ignore"):  # a component of no weight is infinitely less likely
            prior = np.log(self.weight * self.alpha) - np.log((1 - self.weight) * self.beta)
        odds = prior + (self.alpha - 1) * np.log(x) - (self.beta - 1) * np.log1p(-x)
        return (1 + np.tanh(odds / 2)) / 2

    def updated(self, x: Floats, z: Floats) -> "BetaMixture":
        """The mixture of largest likelihood given the responsibilities z.

        alpha = -sum z / sum z log x, beta = -sum(1 - z) / sum (1 - z) log(1 - x). A component of no weight
        keeps its shape.
        """
        alpha, beta = self.alpha, self.beta
        if z.sum() > 0:
            alpha = max(1.0, float(-z.sum() / (z * np.log(x)).sum()))
        if (1 - z).sum() > 0:
            beta = max(1.0, float(-(1 - z).sum() / ((1 - z) * np.log1p(-x)).sum()))
        return BetaMixture(alpha, beta, float(z.mean()))

    def cutoff(self, fpr: float) -> float:
        """The value that a false edge exceeds with the chance fpr: 1 - fpr^(1 / beta)."""
        if not 0 < fpr < 1:
            raise ConfigError(f"fpr={fpr}: use a false-positive rate between 0 and 1")
        return float(-np.expm1(np.log(fpr) / self.beta))

    def _is_near(self, other: "BetaMixture") -> bool:
        before = np.array([self.alpha, self.beta, self.weight])
        after = np.array([other.alpha, other.beta, other.weight])
        return bool((np.abs(after - before) <= TOLERANCE * np.abs(before)).all())


def fit_mixture(values: ArrayLike) -> BetaMixture:
    """The mixture fitted to numbers from 0 to 1 by expectation maximisation, from the paper's start.

    Stops when no parameter changes by more than 1e-4 of itself. The values are sorted first, so that their
    order changes nothing.

    >>> fit_mixture([0.01, 0.02, 0.03, 0.9]).beta > 5
    True
    """
    x = np.sort(np.asarray(values, np.float64))
    if not len(x) or not (x[0] >= 0 and x[-1] <= 1):  # nan sorts last
        span = f"from {x[0]} to {x[-1]}" if len(x) else "none"
        raise DataError(f"{len(x):,} values, {span}; a mixture is fitted to at least one, all from 0 to 1")
    x = x.clip(EDGE, 1 - EDGE)
    mixture = BetaMixture()
    for _ in range(MAX_STEPS):
        before, mixture = mixture, mixture.updated(x, mixture.responsibility(x))
        if before._is_near(mixture):
            return mixture
    warnings.warn(f"the mixture still changed after {MAX_STEPS:,} steps", EventCargoWarning, stacklevel=2)
    return mixture


def expected_fpr(information: ArrayLike, fpr: float = 0.05) -> float:
    """The mutual information, in nats, that an edge has to exceed so that a false one does with chance fpr.

    >>> noise = np.linspace(0.001, 0.01, 50)
    >>> bool(0.005 < expected_fpr([*noise, 0.5, 0.6], fpr=0.05) < 0.5)
    True
    """
    nats = np.asarray(information, np.float64)
    odd = nats[~(np.isfinite(nats) & (nats >= 0))]
    if len(odd):
        raise DataError(
            f"{len(odd):,} values of mutual information are negative or not finite, the first: {odd[0]}; "
            "it is in nats, 0 or more"
        )
    cutoff = fit_mixture(-np.expm1(-2 * nats)).cutoff(fpr)
    return float(-np.log1p(-cutoff) / 2)
