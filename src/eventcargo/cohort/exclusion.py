"""Exclusion: event types left out of a data set that was read already, as if they had never been recorded."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eventcargo.cohort.event_types import check_left, matches
from eventcargo.errors import argument, counted, warn
from eventcargo.event_kinds import EventKinds
from eventcargo.events import EventDataset, Ragged


@dataclass(frozen=True)
class Exclusion:
    """A data set without some event types, and what they took with them."""

    data: EventDataset
    n_events: int
    n_sequences: int
    """sequences without any other event, which are left out"""

    @property
    def notes(self) -> list[str]:
        """What was left out, one sentence each."""
        counts = (
            (self.n_events, "event", "excluded by name"),
            (self.n_sequences, "sequence", "without any other event left out"),
        )
        return [f"{counted(count, noun)} {words}" for count, noun, words in counts if count]


def exclude(data: EventDataset, patterns: Sequence[str]) -> Exclusion:
    """Leave out the event types that match a pattern such as `WS:*`, with their thresholds.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("a", ("x", "WS:1"), (0.0, 1.0), ())])
    >>> exclude(data, ["WS:*"]).data["a"].events
    ('x',)
    """
    named = _matched(data.event_names, patterns)
    left_out = named.union(*(cuts for name, cuts in data.kinds.measured.items() if name in named))
    _warn_of_families(data.kinds, named)
    names = [name for name in data.event_names if name not in left_out]
    check_left(names, patterns)
    return _without(data, names)


def _matched(names: Sequence[str], patterns: Sequence[str]) -> set[str]:
    """The names that match a pattern; warn of patterns without a match."""
    found = matches(names, patterns)
    for pattern in patterns:
        if not found[pattern]:
            warn(f"{argument('exclude', pattern)}: no event type matches")
    return set().union(*found.values())


def _warn_of_families(kinds: EventKinds, named: set[str]) -> None:
    """Warn of families that occur where an excluded member did: a data set does not say where."""
    held = [f for f, members in kinds.families.items() if f not in named and named.intersection(members)]
    if held:
        warn(
            f"{counted(len(held), 'family', 'families')} such as {held[0]!r} still hold excluded event "
            "types; exclude them when the data set is made"
        )


def _without(data: EventDataset, names: list[str]) -> Exclusion:
    """The data set with these event types alone."""
    number_of = {name: number for number, name in enumerate(names)}
    lookup = np.array([number_of.get(name, -1) for name in data.event_names], np.int32)
    _, events, times = data.flat()
    stays = lookup[events] >= 0
    owners = np.repeat(np.arange(len(data)), data.lengths)[stays]
    lengths = np.bincount(owners, minlength=len(data))
    rest = data.select(np.arange(len(data)))
    rest.rows = Ragged.from_offsets(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    rest.events, rest.times = lookup[events[stays]], times[stays]
    if data.time_kind == "order":
        rest.times = (np.arange(len(owners)) - rest.rows.starts[owners]).astype(np.float64)
    rest.values = data.rows.gather(data.values)[stays]
    rest.event_names, rest.kinds = tuple(names), data.kinds.only(names)
    return Exclusion(rest.select(np.flatnonzero(lengths > 0)), int((~stays).sum()), int((lengths == 0).sum()))
