"""Thresholds: the least frequency that an edge of each label needs, from the support of the labels.

Frequency is votes / support. An edge is kept from its threshold on (>=, as in the paper's listing; its
appendix says "exceeds").
"""

import math
from collections.abc import Mapping

import numpy as np

from eventcargo.errors import ConfigError, DataError

FLAT_DECAY = 1.0
"""Decay where the quartiles are equal and their range gives none: the paper's listing has the same."""


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

    eq:adaptive_threshold: (tau_max - tau_min) / (1 + exp(decay * (log support - log midpoint))) + tau_min.
    The midpoint is the median support, decay is 2 log 3 / (log q75 - log q25). Labels never seen take no part
    in median and quartiles and get tau_max, the limit. Equal quartiles give a decay of 1; a single label, or
    labels of equal support, get the mean of tau_max and tau_min whatever the decay.

    >>> {label: round(tau, 4) for label, tau in adaptive({"a": 10, "b": 20, "c": 40}).items()}
    {'a': 0.455, 'b': 0.275, 'c': 0.095}
    """
    _check_share("tau_max", tau_max)
    _check_share("tau_min", tau_min)
    if tau_min > tau_max:
        raise ConfigError(f"tau_min={tau_min} is above tau_max={tau_max}; use one that is not")
    _check_support(support)
    midpoint, decay = _calibrated([count for count in support.values() if count > 0])
    return {
        label: tau_min + (tau_max - tau_min) * _fall(decay, count, midpoint)
        for label, count in support.items()
    }


def _calibrated(seen: list[int]) -> tuple[float, float]:
    """Midpoint and decay that follow from the supports of the labels that were seen."""
    if not seen:
        return 1.0, FLAT_DECAY
    q25, median, q75 = np.percentile(seen, [25, 50, 75]).tolist()
    return median, 2 * math.log(3) / math.log(q75 / q25) if q75 > q25 else FLAT_DECAY


def _fall(decay: float, support: int, midpoint: float) -> float:
    """1 / (1 + exp(decay * log(support / midpoint))), written so that it cannot overflow."""
    if support == 0:
        return 1.0
    return (1 - math.tanh(decay * math.log(support / midpoint) / 2)) / 2


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ConfigError(f"{name}={value}: use a share of the sequences, from 0 to 1")


def _check_support(support: Mapping[str, int]) -> None:
    for label, count in support.items():
        if count < 0:
            raise DataError(f"label {label!r} has a support of {count}; a support is 0 or more")
