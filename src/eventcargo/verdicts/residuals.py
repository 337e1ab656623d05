"""Leftovers: what still goes together with a label once its boundary has been taken into account.

If a boundary is complete, a label that it did not lead to expect comes by chance: neither event types outside
the boundary nor other labels know of it. Where they do, something is missing, in the boundary or in the
records. Sums of residuals (label less its chance) over the sequences with an event type or another label are
compared with their standard deviation under chance; one sequence is added to the variance, because a sum over
rare coincidences is not normal.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import norm

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]

AT_ONCE = 64
"""Labels that are compared with all event types at once."""


@dataclass(frozen=True)
class ResidualAssociation:
    """A label is carried more (or less) often than expected in the sequences with something else."""

    label: int
    other: int
    observed: float
    expected: float
    z: float


def event_residuals(
    presence: sp.csr_array,
    carried: Flags,
    probabilities: Floats,
    members: Sequence[Sequence[int]],
    alpha: float,
) -> list[ResidualAssociation]:
    """Event types outside the boundary that a label goes together with, the clearest first.

    `carried` and `probabilities` are (sequences, labels), `members` the boundary of each label. `alpha` is
    the chance of any false alarm at all.
    """
    found: list[ResidualAssociation] = []
    by_event, n_labels = presence.T.tocsr().astype(np.float64), carried.shape[1]
    least = norm.isf(alpha / max(2 * by_event.shape[0] * n_labels, 1))
    for start in range(0, n_labels, AT_ONCE):
        part = slice(start, start + AT_ONCE)
        truth, told = carried[:, part].astype(np.float64), probabilities[:, part]
        observed, expected = by_event @ truth, by_event @ told
        z = (observed - expected) / np.sqrt(by_event @ (told * (1 - told)) + 1)
        for column, own in enumerate(members[part]):
            z[list(own), column] = 0.0
        found += _above(z, observed, expected, least, start)
    return sorted(found, key=lambda surplus: -abs(surplus.z))


def label_residuals(carried: Flags, probabilities: Floats, alpha: float) -> list[ResidualAssociation]:
    """Other labels that a label goes together with although their boundaries do not say so.

    Each pair is told twice, once for either label.
    """
    truth, n_labels = carried.astype(np.float64), carried.shape[1]
    left, spread = truth - probabilities, probabilities * (1 - probabilities)
    z = (left.T @ left) / np.sqrt(spread.T @ spread + 1)
    np.fill_diagonal(z, 0.0)
    least = norm.isf(alpha / max(n_labels * (n_labels - 1), 1))
    observed = truth.T @ truth
    return sorted(
        _above(z, observed, observed - left.T @ left, least, 0), key=lambda surplus: -abs(surplus.z)
    )


def _above(
    z: Floats, observed: Floats, expected: Floats, least: float, start: int
) -> Iterator[ResidualAssociation]:
    for other, column in zip(*np.nonzero(np.abs(z) > least), strict=True):
        at = (other, column)
        yield ResidualAssociation(
            start + int(column), int(other), float(observed[at]), float(expected[at]), float(z[at])
        )
