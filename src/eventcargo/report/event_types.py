"""Event types in the page: numbers in place of names, how frequent each is, and the members of families."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eventcargo.graphs import LabelGraph

LONGEST = 80
"""Longest name of an event type that causes nothing; names of causes are not shortened."""

MAX_TYPES = 30_000
"""Most event types in the page: those that something else in it names, then the most frequent."""

MAX_MEMBERS = 200
"""Most members of a family that are named."""


@dataclass
class EventTypes:
    """Numbers event types in the order in which they are first used.

    >>> types = EventTypes()
    >>> types.number("P01", is_cause=True), types.number("U02"), types.number("P01"), types.names()
    (0, 1, 0, ['P01', 'U02'])
    """

    numbers: dict[str, int] = field(default_factory=dict)
    causes: set[str] = field(default_factory=set)

    def number(self, name: str, is_cause: bool = False) -> int:
        if is_cause:
            self.causes.add(name)
        return self.numbers.setdefault(name, len(self.numbers))

    def add_frequent(self, seen: Mapping[str, int]) -> None:
        """Number further event types, the most frequent first, up to `MAX_TYPES`."""
        rest = sorted(
            (name for name in seen if name not in self.numbers), key=lambda name: (-seen[name], name)
        )
        for name in rest[: max(0, MAX_TYPES - len(self.numbers))]:
            self.number(name)

    def names(self) -> list[str]:
        """All names by number; those that are cut stay different from each other."""
        result: list[str] = []
        used: set[str] = set()
        for name in self.numbers:
            shown = name if name in self.causes or len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
            shown = f"{shown}{len(result)}" if shown in used else shown
            used.add(shown)
            result.append(shown)
        return result

    def families(self, graph: LabelGraph) -> dict[str, dict[str, Any]]:
        """By number, the members of each family in the graph: how many, and the first of them by number."""
        return {
            str(self.number(family)): {
                "n": len(members),
                "members": [self.number(member) for member in members[:MAX_MEMBERS]],
            }
            for family, members in graph.families.items()
        }
