"""Sequences drawn for the tests of verify: independent event types in random order, a rule for the label."""

from collections.abc import Callable

import numpy as np
import polars as pl

from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.sequences import EventSequence

Rule = Callable[[list[str]], bool]


def draw(
    rule: Rule, chances: dict[str, float], n: int = 2000, noise: float = 0.02, seed: int = 0
) -> EventDataset:
    """`n` sequences; each event type occurs with its chance. The rule sees the events in their order."""
    rng = np.random.default_rng(seed)
    return EventDataset.from_sequences([_sequence(rng, f"{at:05}", rule, chances, noise) for at in range(n)])


def _sequence(
    rng: np.random.Generator, name: str, rule: Rule, chances: dict[str, float], noise: float
) -> EventSequence:
    events = [event for event, chance in chances.items() if rng.random() < chance]
    events = [events[at] for at in rng.permutation(len(events))]
    holds = rule(events) != (rng.random() < noise)
    times = tuple(float(time) for time in range(len(events)))
    return EventSequence(name, tuple(events), times, ("bad",) if holds else ())


def draw_long(
    rule: Callable[[str], bool],
    letters: str,
    n: int = 1000,
    length: int = 30,
    noise: float = 0.02,
    seed: int = 0,
) -> EventDataset:
    """`n` sequences in which every letter occurs many times; the rule sees the events as a text."""
    rng = np.random.default_rng(seed)
    made = []
    for at in range(n):
        events = "".join(rng.choice(list(letters), length))
        holds = rule(events) != (rng.random() < noise)
        times = tuple(map(float, range(length)))
        made.append(EventSequence(f"{at:05}", tuple(events), times, ("bad",) if holds else ()))
    return EventDataset.from_sequences(made)


def claimed(
    events: str,
    frequency: float | None = 0.5,
    strength: float | None = 1.0,
    sign: int = 1,
    evidence: float | None = None,
) -> LabelGraph:
    """A graph with an edge into `bad` from each of these one-letter event types, as phase 1 would have it."""
    edges = pl.DataFrame({"label": ["bad"] * len(events), "event": list(events)}).with_columns(
        frequency=frequency, strength=strength, sign=sign, evidence=evidence
    )
    return LabelGraph.from_edges(edges, {"bad": None})
