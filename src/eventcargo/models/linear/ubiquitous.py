"""Ubiquitous: what hiding does if an event type is ubiquitous, that is, in nearly every sequence.

The data hardly show its absence, so a fit may give the absence any value: the bias and the weight of its
presence can trade any amount without changing the logit of a sequence that has it. Of all these fits, this
module picks the one by which the label, with the event type hidden, is on average as probable as in the data.
Hiding a part of `a before b` then leaves the base rate, not a label that is accidentally certain or
impossible.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from eventcargo.features import sides
from eventcargo.models.linear.columns import Columns
from eventcargo.models.linear.lasso import Fit, Floats

Ints = NDArray[np.int64]

FURTHEST = 100.0
"""Search bound of the traded amount, beyond the largest absolute logit."""


@dataclass(frozen=True)
class Ubiquitous:
    """Ubiquitous event types: the column of their presence, and the columns of all features about them.

    >>> X = Columns.of(np.array([[1, 1], [1, 0]] * 50))                # presence of 4; a feature about it
    >>> keys = {"presence": np.array([4]), "lateness": np.array([4 * 256])}
    >>> types = Ubiquitous.of(X, keys, size=5, min_absent=5)
    >>> y = np.array([1.0, 0.0] * 50)
    >>> settled = types.settle(Fit(np.array([0.0, 8.0]), -4.0), X, y)
    >>> settled.logits(X)[:2].tolist(), round(settled.bias, 6)         # half of the rows carry the label
    ([4.0, -4.0], 0.0)
    """

    columns: tuple[tuple[int, Ints], ...]

    @classmethod
    def of(cls, X: Columns, keys: Mapping[str, Ints], size: int, min_absent: int) -> "Ubiquitous":
        """Event types absent from fewer than `min_absent` rows; `keys` name the columns, family by family."""
        first, second = sides(keys, size)
        start = sum(len(keys[family]) for family in list(keys)[: list(keys).index("presence")])
        present = start + np.arange(len(keys["presence"]))
        common = present[X.shape[0] - X.lengths[present] < min_absent]
        about = [np.flatnonzero((first == first[column]) | (second == first[column])) for column in common]
        return cls(tuple(zip(common.tolist(), about, strict=True)))

    def settle(self, fit: Fit, X: Columns, y: Floats) -> Fit:
        """The fit by which hiding one of these types leaves the base rate; other logits do not change."""
        logits, weights, bias = fit.logits(X), fit.weights.copy(), fit.bias
        for presence, about in self.columns:
            own = np.zeros(len(fit.weights))
            own[about] = fit.weights[about]
            if own.any():
                amount = _shift(logits - X.times(own), float(y.mean()))
                weights[presence] -= amount
                bias += amount
        return Fit(weights, bias)


def _shift(logits: Floats, rate: float) -> float:
    """The amount to add to logits so that their mean probability is the rate."""
    furthest = FURTHEST + float(np.abs(logits).max())
    return float(brentq(lambda amount: expit(logits + amount).mean() - rate, -furthest, furthest))
