"""Features of sequences: which event types occur, how often, in which order, how close and how late.

Flat columns of events go in; the moments (sequence row, position, key) at which features become true come
out. A feature stays true from then on; those of the families `lateness` and `since` describe the end and
become true at EOS only. A key is an exact integer made of event types and a bucket: nothing is hashed, so two
features never share a weight, however large the vocabulary.

An attribute has no place in the order, and an event type that accompanies another none beside it:
`is_sensible` tells which features say something. In a batch, events that accompany others still stand between
their neighbours; `own_places` looks through them.

Of a few event types there are further arrangements: `last_after`, `more`, `subsequence`, `state`, `distance`,
`burst` and `burst_events`. They are no families: of a whole vocabulary they would be too many. Rules and
verification ask for those of one boundary, given the `Placed` occurrences of its event types.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.batches import Batch
from eventcargo.event_kinds import NumberedKinds

Ints = NDArray[np.int64]

MAX_COUNTED = 5
"""The second to the fifth occurrence of an event type are features."""

TIME_EDGES = np.float32(2.0) ** (np.arange(-40, 121) / 4).astype(np.float32)
"""Upper ends of the time buckets, four per doubling: from a thousandth to a thousand million."""

DISTANCE_EDGES = np.unique(np.round(2.0 ** (np.arange(0, 65) / 4))).astype(np.int64)
"""Upper ends of the buckets of distance, in events: 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 13, 16, ..."""

N_BUCKETS = 256
"""Number of buckets that fit in a key."""


@dataclass(frozen=True)
class Events:
    """The events of some sequences, one after the other, without BOS, EOS and padding.

    `ends` is the EOS position of every sequence. `size` is the number of ids of the vocabulary.
    """

    rows: Ints
    positions: Ints
    ids: Ints
    times: NDArray[np.float32]
    ends: Ints
    size: int

    @classmethod
    def from_batch(cls, batch: Batch, size: int) -> "Events":
        at = np.arange(batch.ids.shape[1])
        rows, positions = np.nonzero((at > 0) & (at < batch.lengths[:, None] - 1))
        ids, times = batch.ids[rows, positions], batch.times[rows, positions]
        return cls(rows, positions, ids, times, batch.lengths - 1, size)

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_]) -> "Events":
        """Only these events, in their order."""
        return Events(
            self.rows[which], self.positions[which], self.ids[which], self.times[which], self.ends, self.size
        )

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Moments:
    """When features become true: sequence row, position, and key of the feature."""

    rows: Ints
    positions: Ints
    keys: Ints

    @classmethod
    def join(cls, parts: "Sequence[Moments]") -> "Moments":
        return cls(
            np.concatenate([np.zeros(0, np.int64), *(part.rows for part in parts)]),
            np.concatenate([np.zeros(0, np.int64), *(part.positions for part in parts)]),
            np.concatenate([np.zeros(0, np.int64), *(part.keys for part in parts)]),
        )

    def take(self, which: NDArray[np.bool_]) -> "Moments":
        """Only these moments, in their order."""
        return Moments(self.rows[which], self.positions[which], self.keys[which])

    def first(self) -> "Moments":
        """The first moment of every feature in every sequence, sorted by row, then key."""
        order = np.lexsort((self.positions, self.keys, self.rows))
        rows, keys = self.rows[order], self.keys[order]
        new = np.ones(len(rows), bool)
        new[1:] = (rows[1:] != rows[:-1]) | (keys[1:] != keys[:-1])
        return Moments(rows[new], self.positions[order][new], keys[new])


def _occurrence_numbers(events: Events) -> Ints:
    """0 for the first occurrence of an event type in its sequence, 1 for the second, and so on."""
    code = events.rows * events.size + events.ids
    order = np.argsort(code, kind="stable")
    ordered = code[order]
    numbers = np.empty(len(code), np.int64)
    numbers[order] = np.arange(len(code)) - np.searchsorted(ordered, ordered)
    return numbers


def _last_occurrences(events: Events) -> Events:
    """The last occurrence of every event type in every sequence."""
    code = events.rows * events.size + events.ids
    reverse = np.unique(code[::-1], return_index=True)[1]
    return events.take(len(code) - 1 - reverse)


def _pair_keys(events: Events, distance: int) -> tuple[NDArray[np.bool_], Ints]:
    """Which events have another event `distance` before them in their sequence, and the key of each pair."""
    before, after = events.ids[:-distance], events.ids[distance:]
    return events.rows[:-distance] == events.rows[distance:], before * events.size + after


def presence(events: Events, window: int) -> Moments:  # noqa: ARG001
    """An event type occurs."""
    return Moments(events.rows, events.positions, events.ids)


def count(events: Events, window: int) -> Moments:  # noqa: ARG001
    """An event type occurs for the k-th time, k = 2 to 5."""
    numbers = _occurrence_numbers(events)
    again = (numbers > 0) & (numbers < MAX_COUNTED)
    return Moments(events.rows[again], events.positions[again], (events.ids * N_BUCKETS + numbers)[again])


def adjacent(events: Events, window: int) -> Moments:  # noqa: ARG001
    """b directly follows a."""
    return _pairs(events, 1)


def ordered(events: Events, window: int) -> Moments:
    """The first a precedes the first b, with fewer than `window` other first occurrences between."""
    return _pairs(events.take(_occurrence_numbers(events) == 0), window)


def _pairs(events: Events, window: int) -> Moments:
    parts = []
    for distance in range(1, min(window, len(events) - 1) + 1):
        same, keys = _pair_keys(events, distance)
        parts.append(Moments(events.rows[distance:][same], events.positions[distance:][same], keys[same]))
    return Moments.join(parts)


def gap(events: Events, window: int) -> Moments:
    """b follows a, at most `window` events later, with the time between them in one bucket."""
    parts = []
    for distance in range(1, min(window, len(events) - 1) + 1):
        same, keys = _pair_keys(events, distance)
        apart = events.times[distance:][same] - events.times[:-distance][same]
        keys = keys[same] * N_BUCKETS + np.searchsorted(TIME_EDGES, apart)
        parts.append(Moments(events.rows[distance:][same], events.positions[distance:][same], keys))
    return Moments.join(parts)


def lateness(events: Events, window: int) -> Moments:  # noqa: ARG001
    """At the end: how many events before EOS an event type last occurs, in buckets."""
    last = _last_occurrences(events)
    ends = events.ends[last.rows]
    keys = last.ids * N_BUCKETS + np.searchsorted(DISTANCE_EDGES, ends - last.positions)
    return Moments(last.rows, ends, keys)


def since(events: Events, window: int) -> Moments:  # noqa: ARG001
    """At the end: how long before the last event an event type last occurs, in buckets."""
    last = _last_occurrences(events)
    stops = np.searchsorted(events.rows, last.rows, side="right") - 1
    keys = last.ids * N_BUCKETS + np.searchsorted(TIME_EDGES, events.times[stops] - last.times)
    return Moments(last.rows, events.ends[last.rows], keys)


FAMILIES: dict[str, Callable[[Events, int], Moments]] = {
    "presence": presence,
    "count": count,
    "adjacent": adjacent,
    "ordered": ordered,
    "gap": gap,
    "lateness": lateness,
    "since": since,
}
"""Every family by name; each takes the events and the window, which only families of pairs use."""


def n_keys_of(family: str, size: int) -> int:
    """A number above every key of a family."""
    buckets = 1 if family in ("presence", "adjacent", "ordered") else N_BUCKETS
    return (size * size if family in PAIRS else size) * buckets


SINGLE = ("presence", "count")
"""Families whose features depend on one event type only."""

PAIRS = ("adjacent", "ordered", "gap")
"""Families whose features depend on two event types and the events between them."""

AT_END = ("lateness", "since")
"""Families whose features become true at EOS only."""

TIMED = ("gap", "since")
"""Families whose features are about time and say nothing where only the order of events is known."""


def is_sensible(family: str, keys: Ints, kinds: NumberedKinds) -> NDArray[np.bool_]:
    """Which features say something: none on order, count or time of attributes or on pairs of one moment.

    >>> from eventcargo.event_kinds import EventKinds
    >>> kinds = EventKinds(attributes=("sex=F",), families={"I50": ("I50.1",)})
    >>> numbered = kinds.numbered(["sex=F", "I50", "I50.1", "x"])
    >>> is_sensible("ordered", np.array([0 * 4 + 3, 1 * 4 + 2, 1 * 4 + 3]), numbered).tolist()
    [False, False, True]
    """
    if family == "presence":
        return np.ones(len(keys), bool)
    sides = _event_types(family, keys, kinds.size)
    sensible = ~np.logical_or.reduce([kinds.is_attribute[types] for types in sides])
    return sensible if len(sides) == 1 else sensible & ~kinds.accompany(*sides)


def own_places(
    rows: Ints, events: NDArray[np.integer], times: NDArray[np.floating], kinds: NumberedKinds
) -> Ints:
    """The place of every event in its sequence, from 1; attributes have place 0.

    An event that accompanies another of the same moment has its place, whichever of them comes first.

    >>> from eventcargo.event_kinds import EventKinds
    >>> kinds = EventKinds(attributes=("sex=F",), families={"I50": ("I50.1",)})
    >>> numbered, times = kinds.numbered(["sex=F", "I50", "I50.1", "x"]), np.array([0.0, 0.0, 0.0, 1.0])
    >>> own_places(np.zeros(4, np.int64), np.array([0, 2, 1, 3]), times, numbered).tolist()
    [0, 1, 1, 2]
    """
    is_attribute, at = kinds.is_attribute[events], np.arange(len(events))
    is_new = np.ones(len(events), bool)
    is_new[1:] = (rows[1:] != rows[:-1]) | (times[1:] != times[:-1])
    moments = np.cumsum(is_new) - 1
    is_plain = ~kinds.is_companion[events] & ~is_attribute
    alone = np.bincount(moments, is_plain)[moments] == 0  # no event here that it could accompany
    is_own = is_plain | (alone & ~is_attribute)
    count, last = np.cumsum(is_own), np.maximum.accumulate(np.where(is_own, at, 0))
    count -= (count - is_own)[np.searchsorted(rows, rows)]
    follows = is_own[last] & (moments[last] == moments)
    return np.where(is_attribute, 0, np.where(follows, count, count + 1))


def relevant(events: Events, family: str, keys: Ints) -> Events:
    """The events that decide the features: those of their types, or all in sequences with one of each side.

    >>> ids, zeros = np.array([4, 5, 6]), np.zeros(3, np.int64)
    >>> events = Events(np.array([0, 0, 1]), zeros, ids, zeros.astype(np.float32), zeros[:2], size=7)
    >>> relevant(events, "presence", np.array([5, 6])).ids.tolist()
    [5, 6]
    >>> relevant(events, "adjacent", np.array([4 * 7 + 5])).ids.tolist()
    [4, 5]
    """
    sides = [_has(events, types) for types in _event_types(family, keys, events.size)]
    if family in SINGLE:
        return events.take(sides[0])
    has_all = np.ones(len(events.ends), bool)  # (sequences,)
    for side in sides:
        has_all &= np.bincount(events.rows[side], minlength=len(has_all)) > 0
    return events.take(has_all[events.rows])


def chosen_moments(events: Events, family: str, window: int, keys: Ints) -> Moments:
    """First moments of the features with these sorted keys; the moments' keys are indices into `keys`.

    >>> zeros = np.zeros(3, np.int64)
    >>> events = Events(zeros, np.arange(1, 4), np.array([4, 5, 4]), zeros.astype(np.float32), zeros[:1], 6)
    >>> moments = chosen_moments(events, "adjacent", 1, np.array([5 * 6 + 4]))
    >>> moments.rows.tolist(), moments.positions.tolist(), moments.keys.tolist()
    ([0], [3], [0])
    """
    moments = FAMILIES[family](relevant(events, family, keys), window)
    at = np.minimum(np.searchsorted(keys, moments.keys), len(keys) - 1)
    known = keys[at] == moments.keys
    return Moments(moments.rows[known], moments.positions[known], at[known]).first()


def sides(keys: Mapping[str, Ints], size: int) -> tuple[Ints, Ints]:
    """The one or two event types of each feature; the second is -1 if there is no other.

    >>> [side.tolist() for side in sides({"presence": np.array([6]), "adjacent": np.array([4 * 7 + 5])}, 7)]
    [[6, 4], [-1, 5]]
    """
    first, second = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for family, family_keys in keys.items():
        one, *other = _event_types(family, family_keys, size)
        two = other[0] if other else one
        first.append(one)
        second.append(np.where(one == two, -1, two))
    return np.concatenate(first), np.concatenate(second)


def _has(events: Events, types: Ints) -> NDArray[np.bool_]:
    """Which events are of these types."""
    table = np.zeros(events.size, bool)
    table[types] = True
    return table[events.ids]


def _event_types(family: str, keys: Ints, size: int) -> tuple[Ints, ...]:
    """The event types of keys, one array for each side."""
    if family not in ("presence", "adjacent", "ordered"):
        keys = keys // N_BUCKETS
    return (keys // size, keys % size) if family in PAIRS else (keys,)


@dataclass(frozen=True)
class Placed:
    """All occurrences of one event type, in order: sequence row, place and time of each.

    Places ascend through all sequences, each of which has places of its own; neighbours are 1 apart.

    >>> Placed.of(np.array([0, 0, 1]), np.array([1, 3, 1]), np.zeros(3), length=4).places.tolist()
    [1, 3, 7]
    """

    rows: Ints
    places: Ints
    times: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Ints, positions: Ints, times: NDArray[np.floating], length: int) -> "Placed":
        """Occurrences by their positions in sequences of at most `length` events."""
        return cls(rows, rows * (length + 2) + positions, times.astype(np.float64))


Measure = NDArray[np.float64]
"""A number for every sequence; infinite where the event types do not occur so."""


def last_after(n: int, a: Placed, b: Placed) -> NDArray[np.bool_]:
    """The last a comes after the last b; also where a occurs and b does not."""
    return last_places(n, a) > last_places(n, b)


def more(n: int, a: Placed, b: Placed) -> NDArray[np.bool_]:
    """a occurs more often than b."""
    return np.bincount(a.rows, minlength=n) > np.bincount(b.rows, minlength=n)


def subsequence(n: int, a: Placed, *others: Placed) -> NDArray[np.bool_]:
    """The event types occur one after the other, in this order, with anything between them.

    >>> a, b = (Placed(np.zeros(2, np.int64), np.array(at), np.zeros(2)) for at in ([1, 4], [0, 3]))
    >>> subsequence(1, a, b, a).tolist(), subsequence(1, a, b, a, b).tolist()
    ([True], [False])
    """
    reached = first_places(a)
    for other in others:
        reached = next_places(*reached, other)
    return flags(n, reached[0])


def state(n: int, a: Placed, on: Placed, off: Placed) -> NDArray[np.bool_]:
    """Some a comes after `on` without `off` between: the last of the two before it was `on`."""
    return flags(n, a.rows[place_before(a, on) > place_before(a, off)])


def distance(n: int, a: Placed, b: Placed) -> Measure:
    """How many events after an a the nearest b comes: 1 if directly."""
    before = place_before(b, a)
    follows = before >= 0
    return _smallest(n, b.rows[follows], (b.places - before)[follows])


def burst(n: int, a: Placed, times: int) -> Measure:
    """The shortest time in which a occurs so many times."""
    return _shortest(n, a, times, a.times)


def burst_events(n: int, a: Placed, times: int) -> Measure:
    """The fewest events in a row among which a occurs so many times."""
    return _shortest(n, a, times, a.places) + 1


PAIR_ARRANGEMENTS = {"last_after": last_after, "more": more, "subsequence": subsequence}
"""Conditions on two event types besides those of `PAIRS`; each takes the number of sequences and both."""


def last_places(n: int, a: Placed) -> Ints:
    """The place of the last occurrence in every sequence; -1 if there is none."""
    places = np.full(n, -1, np.int64)
    places[a.rows] = a.places
    return places


def place_before(a: Placed, other: Placed) -> Ints:
    """For every a, the place of the last `other` before it in its sequence; -1 if there is none."""
    at = np.searchsorted(other.places, a.places) - 1
    return np.where(taken(other.rows, at) == a.rows, taken(other.places, at), -1)


def first_places(a: Placed) -> tuple[Ints, Ints]:
    """The row and place of the first occurrence in every sequence that has one."""
    is_first = np.ones(len(a.rows), bool)
    is_first[1:] = a.rows[1:] != a.rows[:-1]
    return a.rows[is_first], a.places[is_first]


def next_places(rows: Ints, places: Ints, other: Placed) -> tuple[Ints, Ints]:
    """The row and place of the first `other` after each place, as far as there is one in its row."""
    following = np.searchsorted(other.places, places, side="right")
    is_there = taken(other.rows, following) == rows
    return rows[is_there], other.places[following[is_there]]


def _shortest(n: int, a: Placed, times: int, values: Ints | NDArray[np.float64]) -> Measure:
    """The smallest difference of values between an occurrence and the one `times - 1` later."""
    apart = times - 1
    same = a.rows[apart:] == a.rows[: len(a.rows) - apart]
    spans = (values[apart:] - values[: len(values) - apart])[same]
    return _smallest(n, a.rows[apart:][same], spans)


def _smallest(n: int, rows: Ints, values: Ints | NDArray[np.float64]) -> Measure:
    result = np.full(n, np.inf)
    np.minimum.at(result, rows, values)
    return result


def flags(n: int, rows: Ints) -> NDArray[np.bool_]:
    """Which of n rows are among some."""
    result = np.zeros(n, bool)
    result[rows] = True
    return result


def taken(values: Ints, at: Ints) -> Ints:
    """values[at], or -1 if `at` is out of range."""
    inside = (at >= 0) & (at < len(values))
    result = np.full(len(at), -1, np.int64)
    result[inside] = values[at[inside]]
    return result
