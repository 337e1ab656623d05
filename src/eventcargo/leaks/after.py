"""Event types that occur only once their outcome has happened, where outcomes have a time."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrc

from eventcargo.leaks.counts import ACCIDENT, MOSTLY, practically

Flags = NDArray[np.bool_]


def occurs_after(
    before: ArrayLike, after: ArrayLike, expected: ArrayLike = 0.5, tests: int | None = None
) -> Flags:
    """Which event types occur practically only after their outcome: they cannot have caused it.

    `before` and `after` count, for each event type and label, subjects with the label in whom the event type
    first occurs before the outcome, and at or after it. Count subjects, not events: events of one subject are
    not independent. `expected` is the share of `after` if the outcome made no difference, such as the share
    of all events of these subjects that follow their outcomes. `tests` is the number of pairs looked at, by
    default that of the array.

    A flag needs a share of `after` of 1, or one whose lower 95 % bound (Clopper & Pearson) exceeds 90 %, and
    so many after by accident with a probability of at most 1 % among all pairs (exact binomial, Bonferroni).

    >>> occurs_after(before=[0, 0, 5, 1], after=[12, 3, 12, 99]).tolist()
    [True, False, False, True]
    """
    counts = np.asarray(after, np.int64), np.asarray(before, np.int64) + np.asarray(after, np.int64)
    return _practically_only(*counts, expected, tests)


def occurs_at_once(
    same: ArrayLike, total: ArrayLike, expected: ArrayLike = 0.1, tests: int | None = None
) -> Flags:
    """Which event types occur practically only at the very instant of their outcome: recorded with it.

    Of `total` subjects with both event type and label, `same` have the event type at the instant of the
    outcome. `expected` is the share of all events of these subjects at that instant. The rule is that of
    `occurs_after`.

    >>> occurs_at_once(same=[12, 12], total=[12, 40]).tolist()
    [True, False]
    """
    return _practically_only(np.asarray(same, np.int64), np.asarray(total, np.int64), expected, tests)


def _practically_only(
    count: NDArray[np.int64], total: NDArray[np.int64], expected: ArrayLike, tests: int | None
) -> Flags:
    accident = np.where(count > 0, bdtrc(np.maximum(count - 1, 0), total, expected), 1.0)
    flags: Flags = practically(count, total, MOSTLY) & (accident * (tests or max(count.size, 1)) <= ACCIDENT)
    return flags
