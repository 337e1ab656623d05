"""AttributableNumber: how many sequences carry a label because of an exposure.

Of the sequences with the exposure, some carry the label; so many of them would have carried it without the
exposure as sequences without it do that are otherwise alike. The difference is the attributable number, the
effect on the exposed times their number.

"Otherwise alike" is settled twice. A logistic regression of the label on the other columns, fitted where the
exposure is absent, says how often an exposed sequence would carry the label; what it gets wrong is corrected
by its residuals among sequences without the exposure, weighted by the odds of exposure given the other
columns, so that they have the columns of the exposed. The estimate is right if either regression is (doubly
robust; Moodie, Saarela & Stephens 2018). Nothing is assumed of how the exposure acts: alone, by its order, in
numbers.

The interval is that of the expected number in as many sequences drawn anew. It adds up the influence of every
sequence on the estimate, through both regressions (stacked estimating equations; Stefanski & Boos 2002), with
groups of sequences as units.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from eventcargo.statistics.design_effect import Groups, sums_by_group
from eventcargo.statistics.distinct_rows import distinct_rows
from eventcargo.statistics.firth import FirthRegression, Floats, Lanes
from eventcargo.statistics.intervals import LEVEL
from eventcargo.statistics.odds_ratio import independent

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class AttributableNumber:
    """How many fewer sequences would carry the label without the exposure, with a 95 % interval.

    >>> exposed = np.repeat([True, True, False, False], [30, 70, 20, 180])
    >>> carries = np.repeat([True, False, True, False], [30, 70, 20, 180])
    >>> found = AttributableNumber.of(exposed, carries, np.zeros((300, 0), bool))
    >>> round(found.fewer, 1), round(found.low, 1), round(found.high, 1)
    (20.0, 9.5, 30.5)
    """

    n_exposed: int
    n_carrying: int
    """exposed sequences that carry the label"""
    n_unmatched: int
    """exposed sequences whose other columns no sequence without the exposure has"""
    fewer: float
    error: float
    """standard error of `fewer`"""
    low: float
    high: float

    @classmethod
    def of(cls, exposed: Bools, carries: Bools, others: Bools, groups: Groups = None) -> "AttributableNumber":
        """From the exposure and label of each sequence and the other columns, (sequences, columns).

        There must be sequences with the exposure and without it.
        """
        assert 0 < exposed.sum() < len(exposed), "nothing to compare"
        first, pattern = distinct_rows(others)
        counts = np.zeros((len(first), 2, 2))
        np.add.at(counts, (pattern, exposed.astype(np.int64), carries.astype(np.int64)), 1.0)
        estimate = _Estimate.of(others[first], counts)
        influence = estimate.influence[pattern, exposed.astype(np.int64), carries.astype(np.int64)]
        sums = sums_by_group(influence, groups)
        units = len(sums)
        error = float(np.sqrt(((sums - sums.mean()) ** 2).sum() * units / max(units - 1, 1)))
        half = float(stdtrit(max(units - 1, 1), (1 + LEVEL) / 2)) * error
        unseen = counts[:, 0].sum(1) == 0
        return cls(
            int(exposed.sum()),
            int((exposed & carries).sum()),
            int(counts[unseen, 1].sum()),
            estimate.fewer,
            error,
            estimate.fewer - half,
            estimate.fewer + half,
        )


@dataclass(frozen=True)
class _Estimate:
    """The estimate, and the influence of a sequence on it by pattern, exposure and label."""

    fewer: float
    influence: Floats  # (patterns, 2, 2)

    @classmethod
    def of(cls, patterns: Bools, counts: Floats) -> "_Estimate":
        X = np.column_stack([np.ones(len(patterns)), patterns])
        n = counts.sum(2)  # (patterns, exposure)
        Z = X[:, independent(X)[0]]
        V = X[:, independent(X[n[:, 0] > 0])[0]]
        exposure = FirthRegression(Z, n[:, 1], n.sum(1)).fit()
        label = FirthRegression(V, counts[:, 0, 1], n[:, 0]).fit()
        e, m = exposure.probability[0], label.probability[0]
        weight = e / (1 - e)
        weight = weight * n[:, 1].sum() / (n[:, 0] @ weight)  # the weights sum to the number of exposed
        rest = np.stack([-m, 1 - m], axis=1)  # label less its expectation: (patterns, label)
        off = float((weight[:, None] * counts[:, 0] * rest).sum()) / n[:, 1].sum()
        own = np.zeros_like(counts)
        own[:, 1] = rest - off
        own[:, 0] = -weight[:, None] * (rest - off)
        # what moves with the coefficients of the regressions: their gradients times their influences
        of_label = ((weight * n[:, 0] - n[:, 1]) * m * (1 - m)) @ V
        of_exposure = -((weight[:, None] * counts[:, 0] * (rest - off)).sum(1) @ Z)
        own[:, 0] += (V @ _inverse(label) @ of_label)[:, None] * rest
        leaning = Z @ _inverse(exposure) @ of_exposure
        own += (leaning[:, None] * np.stack([-e, 1 - e], axis=1))[:, :, None]
        return cls(float((counts[:, 1] * rest).sum() - off * n[:, 1].sum()), own)


def _inverse(lanes: Lanes) -> Floats:
    """The inverse information of the one regression."""
    inverse: Floats = lanes.inverse[0]
    return inverse
