"""The literals that a rule of a label may use: presence always, arrangement if it says more than presence.

Arrangement is count, order, adjacency, distance, closeness in time and lateness of one or two event types. A
boundary of ten event types has hundreds of such literals, and some fit by accident. One is a candidate only
if it separates sequences with and without the label better than accident would, among the sequences in which
its event types occur.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from eventcargo.features import FAMILIES, PAIR_ARRANGEMENTS, Measure
from eventcargo.rules.limits import best_limit, limit_fits
from eventcargo.rules.literals import KINDS, Literal
from eventcargo.rules.occurrences import Occurrences
from eventcargo.rules.patterns import log_likelihood

Flags = NDArray[np.bool_]
Fit = tuple[Literal, float]
"""A literal, and the nats by which it fits better than presence."""

MAX_COUNTED = 5
"""`A >= k times` is tried for k from 2 to this, and for the best k beyond."""

MAX_BURST = 8
"""Bursts of 2 to this many occurrences are tried."""

MAX_ARRANGED = 24
"""Most literals on arrangement for a label: those that fit best."""

MAX_PAIRED = 15
"""Most event types of a boundary, strongest first, that are tried in pairs."""

SURPRISE = 4.0
"""Nats by which a literal on arrangement must improve the fit, besides the log of the number tried."""

FEWEST = 12
"""A literal about fewer sequences is not tried, since it cannot improve the fit enough."""


@dataclass(frozen=True)
class LearningData:
    """Data to learn literals from: occurrences, sequences to learn from, and sequences with the label."""

    found: Occurrences
    learn: Flags
    carried: Flags
    unit: str = ""
    _counts: dict[str, Measure] = field(default_factory=dict, compare=False, repr=False)

    def count(self, event: str) -> Measure:
        """How often an event type occurs; counted once."""
        if event not in self._counts:
            self._counts[event] = self.found.count(event)
        return self._counts[event]

    def having(self, *events: str) -> Flags:
        """The sequences to learn from in which all of some event types occur."""
        among = self.learn.copy()
        for event in events:
            among &= self.count(event) > 0
        return among


def presence_literals(events: Sequence[str]) -> list[Literal]:
    return [Literal("presence", (event,)) for event in events]


def arranged_literals(learning: LearningData, events: Sequence[str]) -> list[Literal]:
    """Literals on arrangement that separate the label, best fit first."""
    return best_fits(list(_tried(learning, events)), learning)


def best_fits(tried: Sequence[Fit], learning: LearningData) -> list[Literal]:
    """The literals that fit better than accident would, best first.

    A literal of no family of features is left out if a better or plainer one holds in the same sequences.
    """
    threshold = SURPRISE + np.log(max(len(tried), 1))
    ranked = sorted((-fit, at) for at, (_, fit) in enumerate(tried) if fit > threshold)
    kept, seen = list[Literal](), set[bytes]()
    for literal in (tried[at][0] for _, at in ranked):
        held = np.packbits(literal.holds(learning.found) & learning.learn).tobytes()
        if literal.kind in FAMILIES or held not in seen:
            kept.append(literal)
        seen.add(held)
        if len(kept) == MAX_ARRANGED:
            break
    return kept


def _tried(learning: LearningData, events: Sequence[str]) -> Iterator[Fit]:
    """Every literal on arrangement of one or two event types with its fit, the plainest kinds first.

    Attributes have no arrangement, and neither has a pair that shares its moments.
    """
    arranged = arranged_events(learning, events)
    pairs = [_Pair.of(learning, *pair) for pair in pairs_of(learning, arranged[:MAX_PAIRED])]
    for event in arranged:
        yield from _of_one(learning, event)
    for pair in pairs:
        if pair.among.sum() >= FEWEST:
            yield from pair.tried()
    for event in arranged:
        yield from _bursts(learning, event)


def arranged_events(learning: LearningData, events: Sequence[str]) -> list[str]:
    """The event types that have a place in the order."""
    return [event for event in events if event not in learning.found.kinds.attributes]


def pairs_of(learning: LearningData, events: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs of event types that do not share their moments."""
    return [pair for pair in combinations(events, 2) if not learning.found.kinds.accompany(*pair)]


def _of_one(learning: LearningData, event: str) -> Iterator[Fit]:
    count, among = learning.count(event), learning.having(event)
    if among.sum() < FEWEST:
        return
    numbers = [float(times) for times in range(2, MAX_COUNTED + 1)]
    fits = fits_among(learning, np.stack([count >= times for times in numbers]), among)
    yield from ((Literal("count", (event,), times), fit) for times, fit in zip(numbers, fits, strict=True))
    beyond = among & (count > MAX_COUNTED)
    if beyond.sum() >= FEWEST:
        yield from _at_least(learning, count, among, event)
    yield from _limited(learning, learning.found.lateness(event), "lateness", (event,))
    if learning.found.time_kind != "order":
        yield from _limited(learning, learning.found.since(event), "since", (event,))


def _at_least(learning: LearningData, count: Measure, among: Flags, event: str) -> Iterator[Fit]:
    """`A >= k times` with the best k, if that is beyond those that are tried anyway."""
    for literal, fit in _limited(learning, np.where(among, -count, np.inf), "count", (event,)):
        if literal.limit is not None and -literal.limit > MAX_COUNTED:
            yield Literal("count", (event,), -literal.limit), fit


def _bursts(learning: LearningData, event: str) -> Iterator[Fit]:
    """Literals on so many occurrences within a time, or within so many events."""
    count = learning.count(event)
    for times in range(2, MAX_BURST + 1):
        if (learning.learn & (count >= times)).sum() < FEWEST:
            return
        if learning.found.time_kind != "order":
            yield from _limited(learning, learning.found.burst(event, times), "burst", (event,), times)
        yield from _limited(
            learning, learning.found.burst_events(event, times), "burst_events", (event,), times
        )


@dataclass(frozen=True)
class _Pair:
    """Two event types, and the sequences to learn from in which both occur."""

    learning: LearningData
    a: str
    b: str
    among: Flags

    @classmethod
    def of(cls, learning: LearningData, a: str, b: str) -> "_Pair":
        return cls(learning, a, b, learning.having(a, b))

    def tried(self) -> Iterator[Fit]:
        """Every literal on the two, with its fit, the plainest kinds first."""
        literals = [
            Literal(kind, events)
            for kind in ("ordered", "adjacent", *PAIR_ARRANGEMENTS)
            for events in ((self.a, self.b), (self.b, self.a))
        ]
        held = np.stack([literal.holds(self.learning.found) for literal in literals])
        yield from zip(literals, fits_among(self.learning, held, self.among), strict=True)
        yield from self._limits()

    def _limits(self) -> Iterator[Fit]:
        found = self.learning.found
        if found.time_kind != "order":
            yield from _limited(self.learning, found.gap(self.a, self.b), "gap", (self.a, self.b))
        for a, b in ((self.a, self.b), (self.b, self.a)):
            yield from _limited(self.learning, found.distance(a, b), "distance", (a, b), among=self.among)


def fits_among(learning: LearningData, held: Flags, among: Flags) -> list[float]:
    """Nats by which a rate where `held` and a rate elsewhere fit better than one, in the sequences `among`.

    `held` has a row for each of some literals.
    """
    inside, carried = held[:, among].astype(np.float32), learning.carried[among].astype(np.float32)
    hits, sizes = (inside @ carried).astype(np.float64), inside.sum(axis=1, dtype=np.float64)
    total, size = float(carried.sum()), float(len(carried))
    two_rates = log_likelihood(hits, sizes - hits)
    two_rates += log_likelihood(total - hits, size - sizes - total + hits)
    return [float(fit) for fit in two_rates - log_likelihood(total, size - total)]


def _limited(
    learning: LearningData,
    measure: Measure,
    kind: str,
    events: tuple[str, ...],
    times: int | None = None,
    among: Flags | None = None,
) -> Iterator[Fit]:
    """The literal `measure <= limit` with the best limit; none if all measures are equal."""
    used = learning.learn & np.isfinite(measure) if among is None else among
    if used.sum() < FEWEST:
        return
    order = np.argsort(measure[used], kind="stable")
    values, carried = measure[used][order], learning.carried[used][order]
    ends = np.flatnonzero(values[1:] > values[:-1])  # a limit lies after each of these
    if not len(ends):
        return
    fits = limit_fits(carried, ends)
    timed = KINDS[kind].timed
    unit = "" if not timed else "s" if learning.found.time_kind == "datetime" else learning.unit
    limit = best_limit(fits, np.append(values[ends], values[-1]), not timed, unit)
    # the best of n limits fits by accident, by a margin that grows like log log n
    yield (
        Literal(kind, events, limit, unit=unit, times=times),
        float(fits.max() - np.log1p(np.log(len(ends)))),
    )
