"""Resolved: knowledge as one answer for each pair of a label and an event type."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Resolved:
    """What is known of the pairs of some labels and event types.

    >>> resolved = Resolved(("brake",), ("P01", "U03"), np.array([[True, False]]), frozenset())
    >>> resolved.permits("brake", "P01"), resolved.permits("brake", "U03")
    (True, False)
    """

    label_names: tuple[str, ...]
    event_names: tuple[str, ...]
    allowed: Flags  # (labels, event types)
    required: frozenset[tuple[str, str]]  # (label, event type)

    def permits(self, label: str, event: str) -> bool:
        """Whether a pair may be an edge; of names that were not resolved nothing is known."""
        row, column = self._labels.get(label), self._events.get(event)
        return row is None or column is None or bool(self.allowed[row, column])

    def table(self, label_names: Sequence[str], event_names: Sequence[str]) -> Flags:
        """Which pairs of these names may be edges, (labels, event types), in their order."""
        rows = np.array([self._labels.get(name, -1) for name in label_names], np.int64)
        columns = np.array([self._events.get(name, -1) for name in event_names], np.int64)
        found = np.ones((len(rows), len(columns)), bool)
        known = np.ix_(rows >= 0, columns >= 0)
        found[known] = self.allowed[np.ix_(rows[rows >= 0], columns[columns >= 0])]
        return found

    @cached_property
    def _labels(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.label_names)}

    @cached_property
    def _events(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.event_names)}
