"""EventKinds: what some event types of a data set are besides plain events.

An attribute is true of a whole sequence: it has no place in the order, no count and no time. An adjusted type
is in every condition set and never reported as a cause. A family occurs wherever one of its members does. A
scale is a chain of thresholds of one quantity, such as `creatinine >= 1.2` and `creatinine >= 2.0`: where the
second occurs, the first does, and where a threshold occurs, the event type that was measured does.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import DataError
from eventcargo.typed import parse_as


@dataclass(frozen=True)
class EventKinds:
    """Names of the event types that are attributes, adjusted for, families or thresholds.

    >>> EventKinds(families={"I50": ("I50.1", "I50.9")}).ancestors("I50.9")
    ('I50',)
    """

    attributes: tuple[str, ...] = ()
    adjusted: tuple[str, ...] = ()
    families: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """a family, and all event types below it that occur, at any depth"""
    scales: tuple[tuple[str, ...], ...] = ()
    """thresholds of one quantity and direction, each of which includes the next"""
    measured: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """an event type with numbers, and all of its thresholds"""

    def __bool__(self) -> bool:
        return bool(self.attributes or self.adjusted or self.families or self.scales)

    def check(self, event_names: Collection[str]) -> None:
        """Refuse names that are not event types of the data."""
        unknown = sorted(self._names() - set(event_names))
        if unknown:
            raise DataError(f"kinds of {len(unknown):,} unknown event types, the first: {unknown[0]!r}")

    def ancestors(self, name: str) -> tuple[str, ...]:
        """The families of an event type, the largest first."""
        found = [family for family, members in self.families.items() if name in members]
        return tuple(sorted(found, key=lambda family: (-len(self.families[family]), family)))

    def accompany(self, one: str, other: str) -> bool:
        """Whether two event types share their moments.

        A family and its member do, thresholds of one scale, and what was measured and its thresholds.

        >>> EventKinds(scales=(("age >= 60", "age >= 70"),)).accompany("age >= 70", "age >= 60")
        True
        """
        for below in (self.families, self.measured):
            if one in below.get(other, ()) or other in below.get(one, ()):
                return True
        return one != other and any(one in scale and other in scale for scale in self.scales)

    def only(self, names: Collection[str]) -> "EventKinds":
        """The same kinds, as far as they are about these event types.

        >>> EventKinds(families={"I50": ("I50.1", "I50.9")}).only(["I50", "I50.9"]).families
        {'I50': ('I50.9',)}
        """
        own = set(names)

        def kept(some: Sequence[str]) -> tuple[str, ...]:
            return tuple(name for name in some if name in own)

        families = {family: kept(members) for family, members in self.families.items() if family in own}
        return EventKinds(
            kept(self.attributes),
            kept(self.adjusted),
            {family: members for family, members in families.items() if members},
            tuple(scale for scale in map(kept, self.scales) if scale),
            {name: kept(cuts) for name, cuts in self.measured.items() if name in own and kept(cuts)},
        )

    def numbered(self, names: Sequence[str]) -> "NumberedKinds":
        """The same kinds by the places of the event types in a list of names; other names are left out."""
        number = {name: at for at, name in enumerate(names)}

        def known(some: Sequence[str]) -> tuple[int, ...]:
            return tuple(number[name] for name in some if name in number)

        families = sorted(self.families, key=lambda family: (-len(self.families[family]), family))
        return NumberedKinds(
            len(names),
            known(self.attributes),
            known(self.adjusted),
            {number[family]: known(self.families[family]) for family in families if family in number},
            tuple(scale for scale in map(known, self.scales) if scale),
            {number[name]: known(cuts) for name, cuts in self.measured.items() if name in number},
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "attributes": list(self.attributes),
            "adjusted": list(self.adjusted),
            "families": {family: list(members) for family, members in sorted(self.families.items())},
            "scales": [list(scale) for scale in self.scales],
            "measured": {name: list(cuts) for name, cuts in sorted(self.measured.items())},
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "EventKinds":
        """The kinds that `to_dict` gave; raises `DataError` for anything else."""
        kinds: EventKinds = parse_as(cls, content, "kinds")
        return kinds

    def _names(self) -> set[str]:
        members = (name for family, names in self.families.items() for name in (family, *names))
        thresholds = (name for scale in self.scales for name in scale)
        measured = (name for one, cuts in self.measured.items() for name in (one, *cuts))
        return {*self.attributes, *self.adjusted, *members, *thresholds, *measured}


@dataclass(frozen=True)
class NumberedKinds:
    """The kinds of numbered event types: those of a data set, or the ids of a vocabulary.

    >>> kinds = EventKinds(families={"I50": ("I50.1", "I50.9")}).numbered(["I50", "I50.1", "I50.9"])
    >>> kinds.accompany(np.array([0, 1]), np.array([1, 2])).tolist()
    [True, False]
    """

    size: int
    attributes: tuple[int, ...]
    adjusted: tuple[int, ...]
    families: Mapping[int, tuple[int, ...]]
    """the largest first"""
    scales: tuple[tuple[int, ...], ...]
    measured: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.attributes or self.adjusted or self.families or self.scales)

    @cached_property
    def is_attribute(self) -> NDArray[np.bool_]:
        """Which event types are true of a whole sequence: (event types,)."""
        return self._marked(self.attributes)

    @cached_property
    def is_companion(self) -> NDArray[np.bool_]:
        """Which event types only accompany others, as families and thresholds do: (event types,)."""
        return self._marked([*self.families, *(cut for scale in self.scales for cut in scale)])

    @cached_property
    def families_of(self) -> Mapping[int, tuple[int, ...]]:
        """For an event type the families that it is or belongs to, the largest first."""
        over = dict[int, list[int]]()
        for family, members in self.families.items():
            for event in (family, *members):
                over.setdefault(event, []).append(family)
        return {event: tuple(families) for event, families in over.items()}

    @cached_property
    def scale_of(self) -> Mapping[int, tuple[int, ...]]:
        """For a threshold the scale that it belongs to, after what was measured: that is a cut below all."""
        above = {cut: (event,) for event, cuts in self.measured.items() for cut in cuts}
        return {cut: (*above.get(cut, ()), *scale) for scale in self.scales for cut in scale}

    def accompany(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which pairs share their moments; see `EventKinds.accompany`."""
        return np.isin(one * self.size + other, self._pairs)

    @cached_property
    def _pairs(self) -> NDArray[np.int64]:
        """The pairs that share their moments, each as one number."""
        wider = (self.families, self.measured)
        above = [(one, other) for below in wider for one, others in below.items() for other in others]
        pairs = [*above, *((member, family) for family, member in above)]
        pairs += [pair for scale in self.scales for pair in permutations(scale, 2)]
        return np.array([one * self.size + other for one, other in pairs], np.int64)

    def _marked(self, some: Sequence[int]) -> NDArray[np.bool_]:
        marked = np.zeros(self.size, bool)
        marked[list(some)] = True
        return marked
