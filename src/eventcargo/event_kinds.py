"""EventKinds: what some event types of a data set are besides plain events.

An attribute is true of a whole sequence: it has no place in the order, no count and no time. An adjusted type
is in every condition set and never reported as a cause. A family occurs wherever one of its members does. A
scale is a chain of thresholds of one quantity, such as `creatinine >= 1.2` and `creatinine >= 2.0`: where the
second occurs, the first does.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from eventcargo.errors import DataError


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

    def to_dict(self) -> dict[str, Any]:
        return {
            "attributes": list(self.attributes),
            "adjusted": list(self.adjusted),
            "families": {family: list(members) for family, members in sorted(self.families.items())},
            "scales": [list(scale) for scale in self.scales],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "EventKinds":
        return cls(
            tuple(content.get("attributes", ())),
            tuple(content.get("adjusted", ())),
            {family: tuple(members) for family, members in content.get("families", {}).items()},
            tuple(tuple(scale) for scale in content.get("scales", ())),
        )

    def _names(self) -> set[str]:
        members = (name for family, names in self.families.items() for name in (family, *names))
        thresholds = (name for scale in self.scales for name in scale)
        return {*self.attributes, *self.adjusted, *members, *thresholds}
