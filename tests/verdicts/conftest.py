from collections.abc import Iterable

import numpy as np
import pytest

from eventcargo import EventDataset, EventSequence, LabelGraph

Kind = tuple[tuple[str, ...], tuple[str, ...], int]
"""Events, labels and number of some sequences."""


def sequences(*kinds: Kind, step: float = 1.0) -> EventDataset:
    """So many sequences of each kind."""
    made: list[EventSequence] = []
    for events, labels, count in kinds:
        times = tuple(step * at for at in range(len(events)))
        made += [EventSequence(f"{len(made) + i:05}", events, times, labels) for i in range(count)]
    return EventDataset.from_sequences(made)


def graph(boundaries: dict[str, Iterable[str]] | None = None, **columns: float) -> LabelGraph:
    """A graph with the same figures at every edge."""
    found = LabelGraph.from_boundaries(boundaries or {"bad": ["x"]})
    given = {name: np.full(len(found.edges), value) for name, value in columns.items()}
    return LabelGraph.from_edges(found.edges.with_columns(**given), found.support)


CLEAR: tuple[Kind, ...] = ((("x", "y"), ("bad",), 100), (("z", "y"), (), 100), (("x", "y"), (), 1))
"""x causes bad, with one exception."""


@pytest.fixture(scope="session")
def clear() -> EventDataset:
    return sequences(*CLEAR)
