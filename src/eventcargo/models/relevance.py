"""Relevance: the events among which chosen features can become true.

Enter events and the keys of some features of one family, leave fewer events, of which the same features are
true at the same moments. A label uses few features and a sequence has few of their event types, so that most
of the pairs that would be made are of no use.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from eventcargo.features import FAMILIES, N_BUCKETS, Events, Moments

Ints = NDArray[np.int64]

SINGLE = ("presence", "count")
"""Families whose features are about one event type whatever else occurs."""

PAIRS = ("adjacent", "ordered", "gap")
"""Families whose features are about two event types, and about what stands between them."""

AT_END = ("lateness", "since")
"""Families whose features become true at EOS only."""


def relevant(events: Events, family: str, keys: Ints) -> Events:
    """The events of the features' types; or of all types, in the sequences that have one of each side.

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
    kept = np.ones(len(events.ends), bool)  # (sequences,)
    for side in sides:
        kept &= np.bincount(events.rows[side], minlength=len(kept)) > 0
    return events.take(kept[events.rows])


def chosen_moments(events: Events, family: str, window: int, keys: Ints) -> Moments:
    """First moments of the features with these sorted keys; `keys` become their numbers.

    >>> zeros = np.zeros(3, np.int64)
    >>> events = Events(zeros, np.arange(1, 4), np.array([4, 5, 4]), zeros.astype(np.float32), zeros[:1], 6)
    >>> found = chosen_moments(events, "adjacent", 1, np.array([5 * 6 + 4]))
    >>> found.rows.tolist(), found.positions.tolist(), found.keys.tolist()
    ([0], [3], [0])
    """
    moments = FAMILIES[family](relevant(events, family, keys), window)
    at = np.minimum(np.searchsorted(keys, moments.keys), len(keys) - 1)
    known = keys[at] == moments.keys
    return Moments(moments.rows[known], moments.positions[known], at[known]).first()


def sides(keys: Mapping[str, Ints], size: int) -> tuple[Ints, Ints]:
    """The event types that each feature is about; the second is -1 where there is none other.

    >>> [side.tolist() for side in sides({"presence": np.array([6]), "adjacent": np.array([4 * 7 + 5])}, 7)]
    [[6, 4], [-1, 5]]
    """
    first, second = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for family, part in keys.items():
        one, *other = _event_types(family, part, size)
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
    """The event types that keys are made of, one array for each side."""
    if family not in ("presence", "adjacent", "ordered"):
        keys = keys // N_BUCKETS
    return (keys // size, keys % size) if family in PAIRS else (keys,)
