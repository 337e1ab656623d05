"""Everywhere: what becomes of a label when an event type is hidden that every sequence has.

The data have no sequence without it, so a fit may give its absence any worth: the bias and the weight of its
presence can trade any amount, and no logit of a sequence that has it changes. Of all these fits the one is
taken by which the label, with the event type hidden, is as likely on average as it is in the data. Then
hiding a part of `a before b` leaves the base rate, and not a label that is certain or impossible by accident.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from eventcargo.features import sides
from eventcargo.models.linear.lasso import Fit, Floats

Ints = NDArray[np.int64]

FURTHEST = 100.0
"""Bound of the amount that is traded, beyond that of the logits."""


@dataclass(frozen=True)
class Everywhere:
    """Event types that nearly every row has: the column of their presence, and the columns about them.

    >>> X = sp.csc_array(np.array([[1.0, 1.0], [1.0, 0.0]] * 50))      # presence of 4; a feature about it
    >>> found = Everywhere.of(X, {"presence": np.array([4]), "lateness": np.array([4 * 256])}, size=5, few=5)
    >>> y = np.array([1.0, 0.0] * 50)
    >>> settled = found.settle(Fit(np.array([0.0, 8.0]), -4.0), X, y)
    >>> settled.logits(X)[:2].tolist(), round(settled.bias, 6)         # half of the rows carry the label
    ([4.0, -4.0], 0.0)
    """

    columns: tuple[tuple[int, Ints], ...]

    @classmethod
    def of(cls, X: sp.csc_array, keys: Mapping[str, Ints], size: int, few: int) -> "Everywhere":
        """Those that fewer than `few` rows are without; `keys` name the columns, family by family."""
        first, second = sides(keys, size)
        start = sum(len(keys[family]) for family in list(keys)[: list(keys).index("presence")])
        present = start + np.arange(len(keys["presence"]))
        common = present[X.shape[0] - np.diff(X.indptr)[present] < few]
        about = [np.flatnonzero((first == first[column]) | (second == first[column])) for column in common]
        return cls(tuple(zip(common.tolist(), about, strict=True)))

    def settle(self, fit: Fit, X: sp.csc_array, y: Floats) -> Fit:
        """The fit of the same logits by which hiding one of these leaves the label as likely as it is."""
        logits, weights, bias = fit.logits(X), fit.weights.copy(), fit.bias
        for presence, about in self.columns:
            used = about[fit.weights[about] != 0]
            if len(used):
                amount = _shift(logits - X[:, used] @ fit.weights[used], float(y.mean()))
                weights[presence] -= amount
                bias += amount
        return Fit(weights, bias)


def _shift(logits: Floats, rate: float) -> float:
    """What must be added to logits for their mean probability to be the rate."""
    furthest = FURTHEST + float(np.abs(logits).max())
    return float(brentq(lambda amount: expit(logits + amount).mean() - rate, -furthest, furthest))
