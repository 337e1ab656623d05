"""Occurrences: where and when some event types occur, and measures of them in every sequence.

A measure is one number per sequence: how often, how early, how late, how close in time. It is infinite (or 0
for a count) in a sequence without the events, so that no condition on it holds there. Attributes count as no
events, and an event that accompanies another (a family beside its member) has the place of the other. Further
arrangements of the occurrences are defined in `features`; `placed` gives them what they need.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.event_kinds import EventKinds
from eventcargo.events import EventDataset, TimeKind
from eventcargo.features import Measure, Placed, burst, burst_events, distance, own_places, taken
from eventcargo.ragged import BLOCK


@dataclass(frozen=True)
class Spots:
    """All occurrences of one event type: `flat` positions in the data, in order, and the sequence of each."""

    flat: NDArray[np.int64]
    rows: NDArray[np.int64]


NOWHERE = Spots(np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True)
class Occurrences:
    """The occurrences of some event types in sequences; any other event type counts as never occurring.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("car1", ("a", "b", "a"), (0.0, 2.0, 2.5), ())])
    >>> found = Occurrences.locate(data, ["a", "b"])
    >>> found.count("a").tolist(), found.gap("a", "b").tolist(), found.lateness("b").tolist()
    ([2.0], [0.5], [2.0])
    """

    time_kind: TimeKind
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    times: NDArray[np.float64]
    spots: Mapping[str, Spots]
    kinds: EventKinds = EventKinds()  # noqa: RUF009 (frozen)
    places: NDArray[np.int64] | None = None  # of all events, ascending by one; None: as they stand
    ends: NDArray[np.int64] | None = None  # the place after the last, for every sequence

    @classmethod
    def locate(cls, data: EventDataset, names: Iterable[str]) -> "Occurrences":
        """Where the event types `names` occur in a data set."""
        offsets, events, times = data.flat()
        ids = {name: number for number, name in enumerate(data.event_names)}
        known = {name: ids[name] for name in names if name in ids}
        wanted = np.zeros(len(ids), bool)
        wanted[list(known.values())] = True
        found = (np.flatnonzero(wanted[events[at : at + BLOCK]]) + at for at in range(0, len(events), BLOCK))
        flat = np.concatenate([np.zeros(0, np.int64), *found])
        flat = flat[np.argsort(events[flat], kind="stable")]
        rows = np.searchsorted(offsets, flat, side="right") - 1
        ordered = events[flat]
        spots = {}
        for name, number in known.items():
            start, stop = np.searchsorted(ordered, [number, number + 1])
            spots[name] = Spots(flat[start:stop], rows[start:stop])
        placed = _placed(data) if data.kinds else (None, None)
        return cls(data.time_kind, offsets[:-1], offsets[1:], times, spots, data.kinds, *placed)

    def narrow(self, names: Iterable[str]) -> "tuple[Occurrences, NDArray[np.int64]]":
        """The occurrences in only the sequences that have one of the event types, and their rows."""
        chosen = {name: self.spots[name] for name in names if name in self.spots}
        rows = np.unique(np.concatenate([np.zeros(0, np.int64), *(spots.rows for spots in chosen.values())]))
        narrowed = {
            name: Spots(spots.flat, np.searchsorted(rows, spots.rows)) for name, spots in chosen.items()
        }
        ends = None if self.ends is None else self.ends[rows]
        starts, stops = self.starts[rows], self.stops[rows]
        return Occurrences(
            self.time_kind, starts, stops, self.times, narrowed, self.kinds, self.places, ends
        ), rows

    @property
    def n(self) -> int:
        """Number of sequences."""
        return len(self.starts)

    def of(self, name: str) -> Spots:
        """Where an event type occurs."""
        return self.spots.get(name, NOWHERE)

    def placed(self, name: str) -> Placed:
        """The occurrences of an event type, for the arrangements of `features`."""
        spots = self.of(name)
        return Placed(spots.rows, self._places(spots), self.times[spots.flat])

    def count(self, name: str) -> Measure:
        """How often an event type occurs."""
        return np.bincount(self.of(name).rows, minlength=self.n).astype(np.float64)

    def first(self, name: str) -> Measure:
        """Position of the first occurrence."""
        spots = self.of(name)
        result = np.full(self.n, np.inf)
        result[spots.rows[::-1]] = spots.flat[::-1] - self.starts[spots.rows[::-1]]
        return result

    def lateness(self, name: str) -> Measure:
        """Distance of the last occurrence from the end, in events: 1 if it is the last event."""
        spots = self.of(name)
        result = np.full(self.n, np.inf)
        ends = self.stops if self.ends is None else self.ends
        result[spots.rows] = ends[spots.rows] - self._places(spots)
        return result

    def since(self, name: str) -> Measure:
        """Time from the last occurrence to the last event."""
        spots = self.of(name)
        result = np.full(self.n, np.inf)
        result[spots.rows] = self.times[self.stops[spots.rows] - 1] - self.times[spots.flat]
        return result

    def adjacent(self, name: str, following: str) -> NDArray[np.bool_]:
        """Whether `following` occurs directly after `name` anywhere."""
        a, b = self.of(name), self.of(following)
        before, after = self._places(a), self._places(b)
        at = np.searchsorted(after, before + 1)
        hit = taken(after, at) == before + 1
        same = taken(b.rows, at) == a.rows
        result = np.zeros(self.n, bool)
        result[a.rows[hit & same]] = True
        return result

    def gap(self, name: str, other: str) -> Measure:
        """Shortest time between an occurrence of `name` and one of `other`, in either order."""
        a, b = self.of(name), self.of(other)
        after = np.searchsorted(b.flat, a.flat)
        result = np.full(self.n, np.inf)
        # times never decrease within a sequence, so the nearest in time are neighbours in order
        for at in (after - 1, after):
            same = taken(b.rows, at) == a.rows
            rows = a.rows[same]
            apart = np.abs(self.times[b.flat[at[same]]] - self.times[a.flat[same]])
            np.minimum.at(result, rows, apart)
        return result

    def distance(self, name: str, following: str) -> Measure:
        """How many events after an occurrence of `name` the nearest one of `following` comes."""
        return distance(self.n, self.placed(name), self.placed(following))

    def burst(self, name: str, times: int) -> Measure:
        """The shortest time in which an event type occurs so many times."""
        return burst(self.n, self.placed(name), times)

    def burst_events(self, name: str, times: int) -> Measure:
        """The fewest events in a row among which an event type occurs so many times."""
        return burst_events(self.n, self.placed(name), times)

    def _places(self, spots: Spots) -> NDArray[np.int64]:
        return spots.flat if self.places is None else self.places[spots.flat]


def _placed(data: EventDataset) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The place of every event and of the end of every sequence; sequences lie apart."""
    offsets, events, times = data.flat()
    rows = np.repeat(np.arange(len(data)), data.lengths)
    own = own_places(rows, events, times, data.kinds.numbered(data.event_names))
    ends = np.zeros(len(data), np.int64)
    np.maximum.at(ends, rows, own)
    apart = offsets[:-1] + 2 * np.arange(len(data))
    return own + apart[rows], ends + 1 + apart
