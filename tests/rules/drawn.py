"""Random sequences whose label is carried where a literal holds."""

import numpy as np

from eventcargo import EventDataset, EventSequence
from eventcargo.events import TimeKind
from eventcargo.graphs import LabelGraph
from eventcargo.rules import Literal
from eventcargo.rules.occurrences import Occurrences


def draw_labelled(
    literal: Literal,
    *,
    sequences: int = 1500,
    types: str = "ABCDEFGH",
    length: int = 18,
    noise: float = 0.02,
    members: str = "",
    time_kind: TimeKind = "number",
) -> tuple[EventDataset, LabelGraph]:
    """Sequences of random events, the label `x` flipped with chance `noise`, and its boundary."""
    rng = np.random.default_rng(100)
    drawn = [
        (
            tuple(rng.choice(list(types), length).tolist()),
            tuple(np.cumsum(rng.exponential(1.0, length)).tolist()),
        )
        for _ in range(sequences)
    ]
    plain = _dataset([(events, times, ()) for events, times in drawn], time_kind)
    held = literal.holds(Occurrences.locate(plain, literal.events)) ^ (rng.random(sequences) < noise)
    labelled = [(*one, ("x",) if carried else ()) for one, carried in zip(drawn, held, strict=True)]
    return _dataset(labelled, time_kind), LabelGraph.from_boundaries({"x": [*literal.events, *members]})


def _dataset(
    rows: list[tuple[tuple[str, ...], tuple[float, ...], tuple[str, ...]]], time_kind: TimeKind
) -> EventDataset:
    made = [EventSequence(f"{number:05}", *row) for number, row in enumerate(rows)]
    return EventDataset.from_sequences(made, time_kind)
