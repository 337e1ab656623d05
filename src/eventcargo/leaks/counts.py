"""Which counts of sequences speak for a leak: rules on arrays, valid for any number of sequences.

An event type and a label are *doubles* if neither occurs without the other. What that asks for depends on
the number of sequences: none may be an exception where there are few, and where there are more than 300, the
lower 95 % bounds of both shares must exceed 99 %. Exceptions are what tells a cause from a record: causes are
missed, and do not always act. If the event type is also the last of more than half of these sequences, both
shares only have to be compatible with 99 %. All signs must be more than an accident, of which the
probability among all pairs is at most 1 % (Bonferroni).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrc, gammaln

from eventcargo.statistics.intervals import clopper_pearson

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]

ALWAYS, MOSTLY = 0.99, 0.9
"""Shares that count as always and mostly."""

HARDLY_WITHOUT, MOST = 0.8, 0.5
"""Shares of an event type's sequences with the label, and of the label's sequences with the event type, that
the lower 95 % bounds exceed where no date shows which of the two came first."""

ACCIDENT = 0.01
"""Largest probability that any pair shows a sign by accident."""


def practically(count: ArrayLike, total: ArrayLike, share: float) -> Flags:
    """Whether a share is 1, or its lower 95 % bound exceeds `share`.

    >>> practically([12, 11, 499, 495], [12, 12, 500, 500], ALWAYS).tolist()
    [True, False, True, False]
    """
    some, (low, _) = np.asarray(count) > 0, clopper_pearson(count, total)
    return some & ((np.asarray(count) == np.asarray(total)) | (low > share))


def compatible(count: ArrayLike, total: ArrayLike, share: float) -> Flags:
    """Whether the upper 95 % bound of a share reaches `share`.

    >>> compatible([11, 95, 90], [12, 100, 100], ALWAYS).tolist()
    [True, False, False]
    """
    return (np.asarray(count) > 0) & (clopper_pearson(count, total)[1] >= share)


def is_double(both: Ints, with_event: Ints, with_label: Ints, last: Ints) -> Flags:
    """Whether an event type and a label practically never occur without each other."""
    perfect = practically(both, with_event, ALWAYS) & practically(both, with_label, ALWAYS)
    near = compatible(both, with_event, ALWAYS) & compatible(both, with_label, ALWAYS)
    return perfect | (near & (clopper_pearson(last, both)[0] > 0.5))


def is_closing(both: Ints, with_event: Ints, last: Ints) -> Flags:
    """Whether an event type mostly comes with the label and is then the last event."""
    return practically(both, with_event, MOSTLY) & practically(last, both, MOSTLY)


def is_mostly_double(both: Ints, with_event: Ints, with_label: Ints) -> Flags:
    """Whether an event type hardly occurs without a label, and most sequences with the label hold it.

    >>> counts = (np.array(count) for count in ([80, 80, 40], [82, 120, 41], [100, 100, 100]))
    >>> is_mostly_double(*counts).tolist()
    [True, False, False]
    """
    precision, recall = clopper_pearson(both, with_event)[0], clopper_pearson(both, with_label)[0]
    flags: Flags = (precision > HARDLY_WITHOUT) & (recall > MOST)
    return flags


def together_by_accident(
    both: Ints, with_event: Ints, with_label: Ints, sequences: int
) -> NDArray[np.float64]:
    """A bound of P(at least so many sequences with both) if event type and label are independent.

    The expected number of ways to choose `both` of the sequences with the event type that all carry the
    label; exact if all sequences with the event type carry it.

    >>> together_by_accident(np.array([2]), np.array([2]), np.array([2]), 10).round(4)  # 1 in 45
    array([0.0222])
    """
    ways = _log_choose(with_event, both) + _log_choose(with_label, both)
    accident: NDArray[np.float64] = np.exp(np.minimum(ways - _log_choose(sequences, both), 0.0))
    return accident


def last_by_accident(last: ArrayLike, both: ArrayLike, chance: ArrayLike) -> NDArray[np.float64]:
    """P(at least so many sequences with the event type at the end), `chance` being that of one sequence."""
    count = np.asarray(last, np.float64)
    return np.where(count > 0, bdtrc(np.maximum(count - 1, 0), both, chance), 1.0)


def _log_choose(total: ArrayLike, count: ArrayLike) -> NDArray[np.float64]:
    n, k = np.asarray(total, np.float64), np.asarray(count, np.float64)
    ways: NDArray[np.float64] = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return ways
