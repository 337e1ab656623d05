"""Rules on the arrangement of events, evaluated exactly on whole sequences.

Each kind of rule is a function of the flat columns of all sequences and one row of the table `KINDS`, with
the sign of each event type and the text of the rule.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eventcargo.simulation.simulated import Cause

Holds = NDArray[np.bool_]
Positions = NDArray[np.int64]

NEVER = np.iinfo(np.int64).max
"""The first position of an event type that does not occur."""


@dataclass(frozen=True)
class Sequences:
    """Flat, concatenated events and times of all sequences; positions count through all of them."""

    lengths: NDArray[np.int64]
    events: NDArray[np.int32]
    times: NDArray[np.float64]

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The sequence of every position."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def stops(self) -> Positions:
        """The position after the last event of each sequence."""
        return np.cumsum(self.lengths)

    def where(self, event: int) -> Positions:
        """All positions of an event type."""
        return np.flatnonzero(self.events == event)

    def count(self, event: int) -> NDArray[np.int64]:
        """How often an event type occurs in each sequence."""
        return np.bincount(self.rows[self.where(event)], minlength=len(self.lengths))

    def first(self, event: int) -> Positions:
        """The first position of an event type in each sequence, `NEVER` if there is none."""
        positions = self.where(event)[::-1]
        result = np.full(len(self.lengths), NEVER)
        result[self.rows[positions]] = positions
        return result

    def last(self, event: int) -> Positions:
        """The last position of an event type in each sequence, -1 if there is none."""
        positions = self.where(event)
        result = np.full(len(self.lengths), -1)
        result[self.rows[positions]] = positions
        return result

    def preceding(self, at: Positions, event: int) -> Positions:
        """The last position of an event type before each position of `at`, in its sequence; -1 if none."""
        candidates = np.concatenate([[-1], self.where(event)])
        found = candidates[np.searchsorted(candidates, at) - 1]
        starts = (self.stops - self.lengths)[self.rows[at]]
        return np.where(found >= starts, found, -1)

    def elapsed(self, earlier: Positions, later: Positions) -> NDArray[np.float64]:
        """Time from one position to another, infinite where the earlier one is -1."""
        return np.where(earlier < 0, np.inf, self.times[later] - self.times[earlier])

    def with_any(self, positions: Positions) -> Holds:
        """The sequences that have any of the positions."""
        result = np.zeros(len(self.lengths), bool)
        result[self.rows[positions]] = True
        return result


def _before(data: Sequences, a: int, b: int) -> Holds:
    return (data.first(a) < data.first(b)) & (data.count(b) > 0)


def _right_after(data: Sequences, a: int, b: int) -> Holds:
    return _window(data, a, b, 1)


def _window(data: Sequences, a: int, b: int, most: float) -> Holds:
    at = data.where(b)
    preceding = data.preceding(at, a)
    return data.with_any(at[(preceding >= 0) & (at - preceding <= most)])


def _at_least(data: Sequences, a: int, times: float) -> Holds:
    return data.count(a) >= times


def _among_last(data: Sequences, a: int, most: float) -> Holds:
    return (data.count(a) > 0) & (data.last(a) >= data.stops - most)


def _less_apart(data: Sequences, a: int, b: int, limit: float) -> Holds:
    holds = np.zeros(len(data.lengths), bool)
    for earlier, later in ((a, b), (b, a)):
        at = data.where(later)
        holds |= data.with_any(at[data.elapsed(data.preceding(at, earlier), at) < limit])
    return holds


def _state(data: Sequences, a: int, on: int, off: int) -> Holds:
    at = data.where(a)
    return data.with_any(at[data.preceding(at, on) > data.preceding(at, off)])


def _switch(data: Sequences, a: int, b: int) -> Holds:
    return (data.last(a) > data.last(b)) & (data.count(b) > 0)


def _more(data: Sequences, a: int, b: int) -> Holds:
    return data.count(a) > data.count(b)


def _then(data: Sequences, a: int, b: int, c: int) -> Holds:
    at = data.where(c)
    middle = data.preceding(at, b)
    return data.with_any(at[(middle >= 0) & (data.first(a)[data.rows[at]] < middle)])


def _burst(data: Sequences, a: int, times: float, limit: float) -> Holds:
    ends = data.where(a)[int(times) - 1 :]
    begins = data.where(a)[: len(ends)]
    together = data.rows[begins] == data.rows[ends]
    return data.with_any(ends[together & (data.times[ends] - data.times[begins] <= limit)])


@dataclass(frozen=True)
class SequenceKind:
    """A kind of rule: the sign of each event type, its text, and where it holds."""

    signs: tuple[int, ...]
    form: str
    holds: Callable[..., Holds]


KINDS: Mapping[str, SequenceKind] = {
    "before": SequenceKind((0, 0), "{0} before {1}", _before),
    "right_after": SequenceKind((0, 0), "{1} right after {0}", _right_after),
    "at_least": SequenceKind((1,), "{0} at least {1:g} times", _at_least),
    "less_apart": SequenceKind((0, 0), "{0} and {1} less than {2:g} apart in time", _less_apart),
    "among_last": SequenceKind((1,), "{0} among the last {1:g} events", _among_last),
    "state": SequenceKind((1, 1, -1), "{0} after {1} without {2} between", _state),
    "switch": SequenceKind((1, -1), "last {0} after last {1}", _switch),
    "window": SequenceKind((0, 0), "{1} at most {2:g} events after {0}", _window),
    "more": SequenceKind((1, -1), "more {0} than {1}", _more),
    "then": SequenceKind((0, 0, 0), "{0} then {1} then {2}", _then),
    "burst": SequenceKind((1,), "{1:g} times {0} within {2:g}", _burst),
}
"""Every kind of rule. All but `state` and `more` need every event type to occur; `burst` includes its limit.

A sign of 0 means that an event type neither promotes nor inhibits by itself.
"""


@dataclass(frozen=True)
class SequenceRule:
    """A rule: its kind, its event types in the order of the kind's function, and its limits.

    >>> rule = SequenceRule("window", (0, 1), (4,))
    >>> rule.text("AB")
    'B at most 4 events after A'
    >>> events = np.array([0, 2, 1, 1, 0], np.int32)
    >>> rule.holds(Sequences(np.array([3, 2]), events, np.arange(5.0))).tolist()
    [True, False]
    """

    kind: str
    events: tuple[int, ...]
    limits: tuple[float, ...] = ()

    def holds(self, data: Sequences) -> Holds:
        """Whether the rule holds in each sequence: (sequences,)."""
        return KINDS[self.kind].holds(data, *self.events, *self.limits)

    def text(self, names: Sequence[str]) -> str:
        return KINDS[self.kind].form.format(*(names[event] for event in self.events), *self.limits)

    @property
    def signs(self) -> dict[int, int]:
        """1 for event types that promote, -1 for those that inhibit, 0 for those that do neither alone."""
        return dict(zip(self.events, KINDS[self.kind].signs, strict=True))

    def cause(self, names: Sequence[str]) -> Cause:
        return Cause(self.signs, self.text(names))
