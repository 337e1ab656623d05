"""Criteria of the paper: the threshold of every label, in frequency or in mutual information.

Frequency is votes / support and must reach its threshold (>=, as in the paper's listing; its appendix says
"exceeds"). Mutual information is in nats and must exceed the cost of an edge.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eventcargo.errors import ConfigError, DataError, EventCargoWarning, argument, counted

FLAT_DECAY = 1.0
"""Decay rate if the quartiles are equal and their range gives none, as in the paper's listing."""


def union(support: Mapping[str, int]) -> dict[str, float]:
    """0 for every label: one vote is enough.

    >>> union({"brake": 40})
    {'brake': 0.0}
    """
    return static(support, 0.0)


def static(support: Mapping[str, int], tau: float) -> dict[str, float]:
    """The same threshold for every label.

    >>> static({"brake": 40, "fuel": 2}, 0.25)
    {'brake': 0.25, 'fuel': 0.25}
    """
    _check_share("tau", tau)
    _check_support(support)
    return dict.fromkeys(support, float(tau))


def adaptive(support: Mapping[str, int], tau_max: float = 0.5, tau_min: float = 0.05) -> dict[str, float]:
    """A threshold that falls from tau_max for rare labels to tau_min for frequent ones.

    tau = tau_min + (tau_max - tau_min) / (1 + exp(decay * (log support - log midpoint))), the paper's
    eq:adaptive_threshold; midpoint = median support, decay = 2 log 3 / (log q75 - log q25). A label never
    seen does not enter median and quartiles and gets tau_max, the limit. Equal quartiles give decay 1; a
    single label, or labels of equal support, get the mean of tau_max and tau_min whatever the decay.

    >>> {label: round(tau, 4) for label, tau in adaptive({"a": 10, "b": 20, "c": 40}).items()}
    {'a': 0.455, 'b': 0.275, 'c': 0.095}
    """
    _check_share("tau_max", tau_max)
    _check_share("tau_min", tau_min)
    if tau_min > tau_max:
        raise ConfigError(
            f"{argument('tau_min', tau_min)} is above {argument('tau_max', tau_max)}; "
            "choose tau_min <= tau_max"
        )
    _check_support(support)
    midpoint, decay = _calibrated([count for count in support.values() if count > 0])
    return {
        label: tau_min + (tau_max - tau_min) * _fall(decay, count, midpoint)
        for label, count in support.items()
    }


def _calibrated(seen: list[int]) -> tuple[float, float]:
    """Midpoint and decay, from the supports of the labels seen."""
    if not seen:
        return 1.0, FLAT_DECAY
    q25, median, q75 = np.percentile(seen, [25, 50, 75]).tolist()
    return median, 2 * math.log(3) / math.log(q75 / q25) if q75 > q25 else FLAT_DECAY


def _fall(decay: float, support: int, midpoint: float) -> float:
    """1 / (1 + exp(decay * log(support / midpoint))) by tanh, which cannot overflow."""
    if support == 0:
        return 1.0
    return (1 - math.tanh(decay * math.log(support / midpoint) / 2)) / 2


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ConfigError(f"{argument(name, value)}: use a share of the sequences, from 0 to 1")


def _check_support(support: Mapping[str, int]) -> None:
    for label, count in support.items():
        if count < 0:
            raise DataError(f"label {label!r} has a support of {count}; a support is 0 or more")


def bes(support: Mapping[str, int], penalty: float = 0.0) -> dict[str, float]:
    """The same cost for every label; 0, the paper's plain sum (eq:criterion_edges), keeps every I > 0.

    >>> bes({"brake": 40, "fuel": 2}, penalty=0.1)
    {'brake': 0.1, 'fuel': 0.1}
    """
    _check_penalty(penalty)
    return dict.fromkeys(support, float(penalty))


def caig(
    support: Mapping[str, int], n_sequences: int | Mapping[str, int], penalty: float
) -> dict[str, float]:
    """The cost of an edge, penalty * log(n_sequences / support + 1), in nats: more for a rare label.

    `n_sequences` may differ by label: it is the number of sequences for which the label is known.

    The score of eq:caig is a sum over edges of I(Y_j, X_i) - alpha * log(m / m_j + 1), so that backward
    elimination keeps exactly the edges whose information exceeds this cost. The paper gives no value for
    alpha, here `penalty`. The cost of a label never seen is infinite: it keeps no edge.

    >>> costs = caig({"brake": 50, "fuel": 0}, n_sequences=100, penalty=0.5)
    >>> round(costs["brake"], 4), costs["fuel"]
    (0.5493, inf)
    """
    _check_penalty(penalty)
    sizes = dict.fromkeys(support, n_sequences) if isinstance(n_sequences, int) else n_sequences
    for label, count in support.items():
        if not 0 <= count <= sizes.get(label, 0):
            sequences = counted(sizes.get(label, 0), "sequence")
            raise DataError(f"label {label!r} has a support of {count:,} among {sequences}")
    return {
        label: penalty * math.log(sizes[label] / count + 1) if count else math.inf
        for label, count in support.items()
    }


def exceeds(labels: Sequence[str], information: ArrayLike, costs: Mapping[str, float]) -> NDArray[np.bool_]:
    """Which edges, given by label and information, exceed their cost: those that backward elimination keeps.

    An edge worth exactly its cost is removed: of equally good graphs the smaller one wins.

    >>> exceeds(["brake", "fuel"], [0.3, 0.3], {"brake": 0.1, "fuel": 0.5}).tolist()
    [True, False]
    """
    missing = sorted(set(labels) - set(costs))
    if missing:
        raise DataError(f"{counted(len(missing), 'label')} without a cost, the first: {missing[0]!r}")
    nats = np.asarray(information, np.float64)
    if nats.shape != (len(labels),) or np.isnan(nats).any():
        raise DataError(
            f"information of shape {nats.shape} with {int(np.isnan(nats).sum()):,} missing for "
            f"{counted(len(labels), 'label')}; give one number for each edge"
        )
    return nats > np.array([costs[label] for label in labels], np.float64)


def _check_penalty(penalty: float) -> None:
    if not 0 <= penalty < math.inf:
        raise ConfigError(f"{argument('penalty', penalty)}: use a number of nats, 0 or more")


Floats = NDArray[np.float64]

TOLERANCE, MAX_STEPS = 1e-4, 10_000
EDGE = 1e-12
"""Values are moved at least this far from 0 and 1, where their logarithms are infinite."""


@dataclass(frozen=True)
class BetaMixture:
    """weight * Beta(alpha, 1) + (1 - weight) * Beta(1, beta), alpha and beta >= 1: true and false edges.

    The paper fits it to mutual information; Froehlich and Klau, whom it follows, to edge frequencies.

    >>> round(BetaMixture(alpha=2, beta=4, weight=0.5).cutoff(fpr=0.0625), 4)
    0.5
    """

    alpha: float = 1.5
    beta: float = 5.0
    weight: float = 0.5

    def responsibility(self, x: Floats) -> Floats:
        """The probability that each value belongs to the component Beta(alpha, 1).

        weight f(x) / (weight f(x) + (1 - weight) g(x)) with f = alpha x^(alpha - 1) and
        g = beta (1 - x)^(beta - 1), from log densities: both can underflow in a steep mixture.
        """
        with np.errstate(divide="ignore"):  # the log odds are infinite if a component has no weight
            prior = np.log(self.weight * self.alpha) - np.log((1 - self.weight) * self.beta)
        odds = prior + (self.alpha - 1) * np.log(x) - (self.beta - 1) * np.log1p(-x)
        return (1 + np.tanh(odds / 2)) / 2

    def updated(self, x: Floats, z: Floats) -> "BetaMixture":
        """The mixture of maximum likelihood given the responsibilities z.

        alpha = -sum z / sum z log x, beta = -sum(1 - z) / sum (1 - z) log(1 - x), both at least 1. A
        component without weight keeps its shape.
        """
        alpha, beta = self.alpha, self.beta
        if z.sum() > 0:
            alpha = max(1.0, float(-z.sum() / (z * np.log(x)).sum()))
        if (1 - z).sum() > 0:
            beta = max(1.0, float(-(1 - z).sum() / ((1 - z) * np.log1p(-x)).sum()))
        return BetaMixture(alpha, beta, float(z.mean()))

    def cutoff(self, fpr: float) -> float:
        """The value that a false edge, Beta(1, beta), exceeds with probability fpr: 1 - fpr^(1 / beta)."""
        if not 0 < fpr < 1:
            raise ConfigError(f"{argument('fpr', fpr)}: use a false-positive rate between 0 and 1")
        return float(-np.expm1(np.log(fpr) / self.beta))

    def _is_near(self, other: "BetaMixture") -> bool:
        before = np.array([self.alpha, self.beta, self.weight])
        after = np.array([other.alpha, other.beta, other.weight])
        return bool((np.abs(after - before) <= TOLERANCE * np.abs(before)).all())


def fit_mixture(values: ArrayLike) -> BetaMixture:
    """The mixture fitted to values from 0 to 1 by expectation maximisation, from the default mixture.

    Stops when no parameter changes by more than 1e-4 of itself. The values are sorted first, so their order
    does not matter.

    >>> fit_mixture([0.01, 0.02, 0.03, 0.9]).beta > 5
    True
    """
    x = np.sort(np.asarray(values, np.float64))
    if not len(x) or not (x[0] >= 0 and x[-1] <= 1):  # nan sorts last
        span = f"from {x[0]} to {x[-1]}" if len(x) else "none"
        raise DataError(
            f"{counted(len(x), 'value')}, {span}; a mixture needs at least one value, all from 0 to 1"
        )
    x = x.clip(EDGE, 1 - EDGE)
    mixture = BetaMixture()
    for _ in range(MAX_STEPS):
        before, mixture = mixture, mixture.updated(x, mixture.responsibility(x))
        if before._is_near(mixture):
            return mixture
    warnings.warn(
        f"the mixture did not converge in {counted(MAX_STEPS, 'step')}", EventCargoWarning, stacklevel=2
    )
    return mixture


def expected_fpr(information: ArrayLike, fpr: float = 0.05) -> float:
    """The mutual information, in nats, that a false edge exceeds with probability fpr.

    The mixture is fitted to 1 - exp(-2 I), which lies between 0 and 1, and its cutoff is mapped back to nats.

    >>> noise = np.linspace(0.001, 0.01, 50)
    >>> bool(0.005 < expected_fpr([*noise, 0.5, 0.6], fpr=0.05) < 0.5)
    True
    """
    nats = np.asarray(information, np.float64)
    odd = nats[~(np.isfinite(nats) & (nats >= 0))]
    if len(odd):
        raise DataError(
            f"{counted(len(odd), 'value')} of mutual information negative or not finite, the first: "
            f"{odd[0]}; give nats, 0 or more"
        )
    cutoff = fit_mixture(-np.expm1(-2 * nats)).cutoff(fpr)
    return float(-np.log1p(-cutoff) / 2)
