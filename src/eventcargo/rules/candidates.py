"""The literals that a rule of a label may use: presence always, arrangement if it says more than presence.

Arrangement is count, order, adjacency, closeness in time and lateness. A boundary of ten event types has
hundreds of such literals, and some fit by accident. One is a candidate only if it separates sequences with
and without the label better than accident would, among the sequences in which its event types occur.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from eventcargo.rules.literals import Literal, span_unit
from eventcargo.rules.occurrences import Measure, Occurrences
from eventcargo.rules.patterns import log_likelihood

MAX_COUNTED = 5
"""`A >= k times` is tried for k from 2 to this."""

MAX_ARRANGED = 24
"""Most literals on arrangement for a label: those that fit best."""

MAX_PAIRED = 15
"""Most event types of a boundary, strongest first, that are tried in pairs."""

SURPRISE = 4.0
"""Nats by which a literal on arrangement must improve the fit, besides the log of the number tried."""

SLACK = 1.92
"""Limits within this many nats of the best fit (a 95 % interval) count as equally good."""


@dataclass(frozen=True)
class LearningData:
    """Data to learn literals from: occurrences, sequences to learn from, and sequences with the label."""

    found: Occurrences
    learn: NDArray[np.bool_]
    carried: NDArray[np.bool_]
    unit: str = ""


def presence_literals(events: Sequence[str]) -> list[Literal]:
    return [Literal("presence", (event,)) for event in events]


def arranged_literals(learning: LearningData, events: Sequence[str]) -> list[Literal]:
    """Literals on arrangement that separate the label, best fit first."""
    tried = list(_tried(learning, events))
    threshold = SURPRISE + np.log(max(len(tried), 1))
    ranked = sorted((-fit, at) for at, (_, fit) in enumerate(tried) if fit > threshold)
    return [tried[at][0] for _, at in ranked[:MAX_ARRANGED]]


def _tried(learning: LearningData, events: Sequence[str]) -> Iterator[tuple[Literal, float]]:
    """Every literal on arrangement, and the nats by which it fits better than presence.

    Attributes have no arrangement, and neither has a pair that shares its moments.
    """
    kinds = learning.found.kinds
    arranged = [event for event in events if event not in kinds.attributes]
    paired = arranged[:MAX_PAIRED]
    for event in arranged:
        yield from _of_one(learning, event)
    for a, b in permutations(paired, 2):
        if not kinds.accompany(a, b):
            yield from _of_order(learning, a, b)
    if learning.found.time_kind != "order":
        for a, b in combinations(paired, 2):
            if not kinds.accompany(a, b):
                yield from _limited(learning, learning.found.gap(a, b), "gap", (a, b))


def _of_one(learning: LearningData, event: str) -> Iterator[tuple[Literal, float]]:
    count = learning.found.count(event)
    for times in range(2, MAX_COUNTED + 1):
        literal = Literal("count", (event,), float(times))
        yield literal, _fit(learning, count >= times, count > 0)
    yield from _limited(learning, learning.found.lateness(event), "lateness", (event,))
    if learning.found.time_kind != "order":
        yield from _limited(learning, learning.found.since(event), "since", (event,))


def _of_order(learning: LearningData, a: str, b: str) -> Iterator[tuple[Literal, float]]:
    both = (learning.found.count(a) > 0) & (learning.found.count(b) > 0)
    for kind in ("ordered", "adjacent"):
        literal = Literal(kind, (a, b))
        yield literal, _fit(learning, literal.holds(learning.found), both)


def _fit(learning: LearningData, held: NDArray[np.bool_], among: NDArray[np.bool_]) -> float:
    """Nats by which a rate where `held` and a rate elsewhere fit better than one, in sequences `among`."""
    used = among & learning.learn
    inside, outside = learning.carried[used & held], learning.carried[used & ~held]
    carrying = np.array([inside.sum(), outside.sum()], np.float64)
    sizes = np.array([len(inside), len(outside)], np.float64)
    two_rates = log_likelihood(carrying, sizes - carrying).sum()
    return float(two_rates - log_likelihood(carrying.sum(), (sizes - carrying).sum()))


def _limited(
    learning: LearningData, measure: Measure, kind: str, events: tuple[str, ...]
) -> Iterator[tuple[Literal, float]]:
    """The literal `measure <= limit` with the best limit; none if all measures are equal."""
    used = learning.learn & np.isfinite(measure)
    order = np.argsort(measure[used], kind="stable")
    values, carried = measure[used][order], learning.carried[used][order]
    ends = np.flatnonzero(values[1:] > values[:-1])  # a limit lies after each of these
    if not len(ends):
        return
    fits = _limit_fits(carried, ends)
    unit = "" if kind == "lateness" else "s" if learning.found.time_kind == "datetime" else learning.unit
    bounds = np.append(values[ends], values[-1])
    limit = _best_limit(fits, bounds, kind == "lateness", unit)
    # the best of n limits fits by accident, by a margin that grows like log log n
    yield Literal(kind, events, limit, unit=unit), float(fits.max() - np.log1p(np.log(len(ends))))


def _limit_fits(carried: NDArray[np.bool_], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """Nats by which two rates, up to each limit and beyond it, fit better than one."""
    below, sizes = np.cumsum(carried)[ends].astype(np.float64), ends + 1.0
    total, size = float(carried.sum()), float(len(carried))
    inside = log_likelihood(below, sizes - below)
    outside = log_likelihood(total - below, size - sizes - total + below)
    return inside + outside - log_likelihood(total, size - total)


def _best_limit(fits: NDArray[np.float64], bounds: NDArray[np.float64], whole: bool, unit: str) -> float:
    """The limit with the fewest digits among those that fit nearly as well as the best.

    Every limit from `bounds[i]` up to, but not including, `bounds[i + 1]` has the fit `fits[i]`.
    """
    if whole:
        return float(bounds[fits.argmax()])
    good = np.flatnonzero(fits >= fits.max() - SLACK)
    runs = np.split(good, np.flatnonzero(np.diff(good) > 1) + 1)
    size = span_unit(float(bounds[fits.argmax()]))[0] if unit == "s" else 1
    numbers = [
        (*_roundest(bounds[run[0]] / size, bounds[run[-1] + 1] / size), -fits[run].max()) for run in runs
    ]
    return min((digits, fit, number * size) for digits, number, fit in numbers)[2]


def _roundest(low: float, high: float) -> tuple[int, float]:
    """The number with the fewest digits in low <= number < high, as (digits, number).

    >>> _roundest(0.8973, 1.102), _roundest(3.404, 3.47), _roundest(0.0, 0.2)
    ((1, 1.0), (3, 3.41), (0, 0.0))
    """
    if low <= 0:
        return 0, low
    step = 10.0 ** np.floor(np.log10(high))
    for digits in range(1, 18):
        number = float(f"{np.ceil(low / step) * step:.15g}")
        if low <= number < high:
            return digits, number
        step /= 10
    return 18, low
