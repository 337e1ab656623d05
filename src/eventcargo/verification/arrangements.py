"""Arrangements: how often, in which order, how close and how late the members of one boundary occur.

The families of `features` are applied to the events of a few event types alone, so that pairs far apart are
seen and the cost does not depend on the size of the vocabulary. Buckets of time and distance become steps
("at most this long"): one step can say what many buckets say together. Of the strongest members, which of two
comes last, which is more frequent and how many events apart they are is asked as well.

Attributes have no arrangements, and a pair that shares its moments (a family and its member) has none either.
Events that accompany others have the place of the event they accompany.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from eventcargo.events import EventDataset
from eventcargo.features import (
    FAMILIES,
    MAX_COUNTED,
    N_BUCKETS,
    PAIRS,
    TIMED,
    Events,
    Moments,
    Placed,
    distance,
    last_after,
    more,
    own_places,
)
from eventcargo.ragged import blocks, positions_by_number
from eventcargo.scratch import Spool

Ints = NDArray[np.int64]

WINDOW = 6
"""A pair of members counts if fewer than this many other members lie between them."""

MAX_STEPS = 24
"""Most steps of time or distance for each pair or member, at quantiles over the sequences."""

MAX_FURTHER = 8
"""Most members, strongest first, whose arrangements beyond the families of features are tested."""

FURTHER_STEPS = 8
"""Most steps of a high count, and of the distance of two members in events."""

STEPPED = ("gap", "lateness", "since")
"""Families whose buckets become steps."""

NEEDS_OTHERS = ("adjacent", "lateness", "since")
"""Families that depend on events between the members or at the end of the sequence."""


@dataclass(frozen=True)
class Arrangement:
    """A condition on some members of a boundary, given by their places, and the rows in which it holds."""

    family: str
    members: tuple[int, ...]
    rows: Ints


class MemberArrangements:
    """The events of a data set sorted by event type, for fast access to the events of a few types."""

    def __init__(self, data: EventDataset) -> None:
        self._offsets, self._events, self._times = data.flat()
        self._starts, self._by_type = positions_by_number(self._events, len(data.event_names))
        self._timed = data.time_kind != "order"
        self._group = data.group_numbers
        self._kinds = data.kinds.numbered(data.event_names)
        self._companions = self._placed() if self._kinds else None

    def _placed(self) -> tuple[NDArray[np.int32], Ints]:
        """The place of every event in its sequence, and that of the end of every sequence."""
        spool, ends = Spool(np.int32), np.zeros(len(self._offsets) - 1, np.int64)
        for first, end in blocks(self._offsets):
            inside = slice(self._offsets[first], self._offsets[end])
            rows = np.repeat(np.arange(first, end), np.diff(self._offsets[first : end + 1]))
            places = own_places(rows, self._events[inside], self._times[inside], self._kinds)
            np.maximum.at(ends, rows, places)
            spool.add(places)
        return spool.array(), ends + 1

    def arrangements(self, members: Sequence[int], min_rows: int) -> list[Arrangement]:
        """All arrangements of these event types that hold in at least `min_rows` sequences.

        >>> from eventcargo.events import EventSequence
        >>> data = EventDataset.from_sequences([EventSequence("1", ("a", "x", "b"), (0.0, 1.0, 2.0), ())])
        >>> [one.family for one in MemberArrangements(data).arrangements([0, 1], min_rows=1)]
        ['ordered', 'gap', 'lateness', 'lateness', 'since', 'since']
        """
        shown = self._events_of(members)
        among = shown.take(shown.ids < len(members))
        arrangements: list[Arrangement] = []
        for family in FAMILIES:
            if family == "presence" or (family in TIMED and not self._timed):
                continue
            make = _neighbours if family == "adjacent" and self._kinds else FAMILIES[family]
            moments = make(shown if family in NEEDS_OTHERS else among, WINDOW)
            arrangements += _columns(
                family, self._sensible(family, moments, members), len(members), min_rows, self._group
            )
        further = self._further(among, members[:MAX_FURTHER], min_rows)
        known = {_key(one) for one in arrangements}  # what holds alike is one question, not two
        return arrangements + [one for one in further if _key(one) not in known]

    def _further(self, events: Events, members: Sequence[int], min_rows: int) -> Iterator[Arrangement]:
        """Arrangements of no family: high counts; which of two is last, or more frequent; how far apart."""
        rows, local = np.unique(events.rows, return_inverse=True)
        length = int(events.ends.max(initial=0))
        of_member = (events.ids == member for member in range(len(members)))
        placed = [
            Placed.of(local[own], events.positions[own], events.times[own], length) for own in of_member
        ]
        for member, one in enumerate(placed):
            for held in _count_sets(len(rows), one, self._group[rows]):
                if len(held) >= min_rows:
                    yield Arrangement("count", (member,), rows[held])
        for a, b in combinations(range(len(members)), 2):
            if self._kinds and self._kinds.accompany(*np.array([[members[a]], [members[b]]])).any():
                continue
            for kind, held in _pair_sets(len(rows), placed[a], placed[b], self._group[rows]):
                if len(held) >= min_rows:
                    yield Arrangement(kind, (a, b), rows[held])

    def _sensible(self, family: str, moments: Moments, members: Sequence[int]) -> Moments:
        """The moments without pairs that share theirs."""
        if not self._kinds or family not in PAIRS:
            return moments
        pairs = moments.keys // (N_BUCKETS if family in STEPPED else 1)
        sides = np.append(members, -1)[np.stack(np.divmod(pairs, len(members) + 1))]
        return moments.take(~self._kinds.accompany(*sides))

    def _events_of(self, members: Sequence[int]) -> Events:
        """The members' events; the event before each and the last of its sequence have the id "other"."""
        arranged = [member for member in members if not self._kinds.is_attribute[member]]
        own = np.concatenate(
            [np.zeros(0, np.int64), *(self._by_type[self._starts[m] : self._starts[m + 1]] for m in arranged)]
        )
        rows = self._rows_of(own)
        at = np.unique(
            np.concatenate([own, np.maximum(own - 1, self._offsets[rows]), self._offsets[rows + 1] - 1])
        )
        rows = self._rows_of(at)
        number = np.full(len(self._starts), len(members), np.int64)
        places = {member: place for place, member in enumerate(members)}
        number[arranged] = [places[member] for member in arranged]
        ids, since = number[self._events[at]], self._times[at] - self._times[self._offsets[rows]]
        if self._companions is None:
            positions, ends = at - self._offsets[rows] + 1, np.diff(self._offsets) + 1
        else:
            positions, ends = self._companions[0][at].astype(np.int64), self._companions[1]
        return Events(rows, positions, ids, since.astype(np.float32), ends, len(members) + 1)

    def _rows_of(self, at: Ints) -> Ints:
        """The sequences of some events."""
        return np.searchsorted(self._offsets, at, side="right") - 1


def _neighbours(events: Events, window: int) -> Moments:  # noqa: ARG001 (as every family)
    """b has the place after a; several events may have one place."""
    place = events.rows * (int(events.ends.max(initial=0)) + 2) + events.positions
    first, last = np.searchsorted(place, place + 1), np.searchsorted(place, place + 1, side="right")
    counts = last - first
    before = np.repeat(np.arange(len(events)), counts)
    after = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts - first, counts)
    keys = events.ids[before] * events.size + events.ids[after]
    return Moments(events.rows[after], events.positions[after], keys)


def _key(arrangement: Arrangement) -> tuple[tuple[int, ...], bytes]:
    return arrangement.members, arrangement.rows.tobytes()


def _count_sets(n: int, a: Placed, group_of: Ints) -> Iterator[Ints]:
    """The rows in which a member occurs at least so many times, beyond the counts that are features."""
    counts = np.bincount(a.rows, minlength=n)
    often = np.flatnonzero(counts > MAX_COUNTED)
    for step in _steps(often, counts[often].astype(np.float64), group_of):
        yield often[counts[often] >= step]


def _pair_sets(n: int, a: Placed, b: Placed, group_of: Ints) -> Iterator[tuple[str, Ints]]:
    """The rows of each further arrangement of two members; both occur in all of them."""
    both = np.intersect1d(a.rows, b.rows)
    yield "last_after", both[last_after(n, a, b)[both]]
    for one, other in ((a, b), (b, a)):
        yield "more", both[more(n, one, other)[both]]
        apart = distance(n, one, other)
        follows = both[np.isfinite(apart[both])]
        for step in _steps(follows, apart[follows], group_of):
            yield "distance", follows[apart[follows] <= step]


def _steps(rows: Ints, values: NDArray[np.float64], group_of: Ints) -> NDArray[np.float64]:
    """Quantiles of values over the first row of each group."""
    if not len(rows):
        return np.zeros(0)
    alone = values[np.unique(group_of[rows], return_index=True)[1]]
    return np.unique(np.quantile(alone, np.arange(1, FURTHER_STEPS + 1) / FURTHER_STEPS, method="lower"))


def _columns(
    family: str, moments: Moments, n_members: int, min_rows: int, group_of: Ints
) -> Iterator[Arrangement]:
    group, bucket = np.divmod(moments.keys, N_BUCKETS if family in (*STEPPED, "count") else 1)
    pairs = family in PAIRS
    about = np.stack(np.divmod(group, n_members + 1) if pairs else (group,))  # (1 or 2, moments)
    known = (about < n_members).all(0)
    rows, group, bucket = moments.rows[known], group[known], bucket[known]
    order = np.lexsort((bucket, rows, group))
    rows, group, bucket = rows[order], group[order], bucket[order]
    for block in np.split(np.arange(len(group)), np.flatnonzero(np.diff(group)) + 1):
        if len(block):
            first = int(group[block[0]])
            members = tuple(sorted({*divmod(first, n_members + 1)})) if pairs else (first,)
            for holding in _sets(family, rows[block], bucket[block], group_of):
                if len(holding) >= min_rows:
                    yield Arrangement(family, members, holding)


def _sets(family: str, rows: Ints, bucket: Ints, group_of: Ints) -> Iterator[Ints]:
    """The rows in which one arrangement holds: for each number of occurrences, for each step, or overall.

    Steps are quantiles over the first row of each group, so that copies of a sequence do not move them.
    """
    if family == "count":
        for number in np.unique(bucket):
            yield rows[bucket == number]
    elif family in STEPPED:
        first = np.unique(rows, return_index=True)[1]  # the smallest bucket of every row
        rows, bucket = rows[first], bucket[first]
        alone = bucket[np.unique(group_of[rows], return_index=True)[1]]
        steps = np.unique(np.quantile(alone, np.arange(1, MAX_STEPS + 1) / MAX_STEPS, method="lower"))
        for step in steps:
            yield rows[bucket <= step]
    else:
        yield np.unique(rows)
