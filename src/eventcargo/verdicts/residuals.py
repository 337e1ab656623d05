"""Residuals: associations with a label that its boundary does not explain.

If a boundary is complete, its residuals (label minus predicted probability) are random: neither event types
outside the boundary nor other labels are associated with them. If some are, something is missing, in the
boundary or in the records. z is the sum of residuals over the sequences with an event type, or of products
with another label's residuals, divided by sqrt(its variance + 1); the 1 allows for sums over rare
coincidences, which are not normal.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from eventcargo.binary_matrix import BinaryMatrix

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

AT_ONCE = 16
"""Labels compared with all event types at once."""

ROWS_AT_ONCE = 20_000
"""Sequences over which labels are compared with each other at once."""


@dataclass(frozen=True)
class ResidualAssociation:
    """A label occurs with an event type or another label more (or less) often than predicted."""

    label: int
    other: int
    observed: float
    expected: float
    z: float


def event_residuals(
    presence: BinaryMatrix,
    carried: BinaryMatrix,
    probabilities: Floats | Singles,
    members: Sequence[Sequence[int]],
    alpha: float,
) -> list[ResidualAssociation]:
    """Event types outside the boundary that are associated with a label, clearest first.

    `presence` is (sequences, event types), `carried` (sequences, labels), `probabilities` (labels,
    sequences), `members` the boundary of each label; none of them need fit in memory. `alpha` is the
    probability of any false alarm (Bonferroni).
    """
    associations: list[ResidualAssociation] = []
    n_labels, n_events = carried.n_columns, presence.n_columns
    least = -ndtri(alpha / max(2 * n_events * n_labels, 1))
    for start in range(0, n_labels, AT_ONCE):
        block = slice(start, start + AT_ONCE)
        observed, expected, variance = _sums(presence, carried, probabilities, block)
        z = (observed - expected) / np.sqrt(variance + 1)
        for column, own in enumerate(members[block]):
            z[list(own), column] = 0.0
        associations += _above(z, observed, expected, least, start)
    return sorted(associations, key=lambda one: -abs(one.z))


def _sums(
    presence: BinaryMatrix, carried: BinaryMatrix, probabilities: Floats | Singles, labels: slice
) -> Floats:
    """By event type and label, over the sequences with the event type: how many carry the label, how many
    should, and the variance of that: (3, event types, labels)."""
    sums = np.zeros((3, presence.n_columns, len(probabilities[labels])))
    for first, end in presence.blocks():
        truth = carried.part(first, end, np.float64)[:, labels].toarray()
        predicted = probabilities[labels, first:end].T.astype(np.float64)
        by_event = presence.part(first, end, np.float64).T
        sums += [by_event @ each for each in (truth, predicted, predicted * (1 - predicted))]
    return sums


def label_residuals(
    carried: BinaryMatrix, probabilities: Floats | Singles, alpha: float
) -> list[ResidualAssociation]:
    """Other labels that are associated with a label although their boundaries do not predict it.

    `carried` is (sequences, labels), `probabilities` (labels, sequences). Each pair appears twice, once for
    either label.
    """
    n_sequences, n_labels = carried.shape
    observed, left_over, variance = (np.zeros((n_labels, n_labels)) for _ in range(3))
    for start in range(0, n_sequences, ROWS_AT_ONCE):
        end = min(start + ROWS_AT_ONCE, n_sequences)
        truth = carried.part(start, end, np.float64).toarray()
        predicted = probabilities[:, start:end].T.astype(np.float64)
        left, spread = truth - predicted, predicted * (1 - predicted)
        observed += truth.T @ truth
        left_over += left.T @ left
        variance += spread.T @ spread
    z = left_over / np.sqrt(variance + 1)
    np.fill_diagonal(z, 0.0)
    least = -ndtri(alpha / max(n_labels * (n_labels - 1), 1))
    return sorted(_above(z, observed, observed - left_over, least, 0), key=lambda one: -abs(one.z))


def _above(
    z: Floats, observed: Floats, expected: Floats, least: float, start: int
) -> Iterator[ResidualAssociation]:
    for other, column in zip(*np.nonzero(np.abs(z) > least), strict=True):
        at = (other, column)
        yield ResidualAssociation(
            start + int(column), int(other), float(observed[at]), float(expected[at]), float(z[at])
        )
