"""Data sets with attributes, families and scales, for the tests of what these kinds mean."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from eventcargo.event_kinds import EventKinds
from eventcargo.events import EventDataset
from eventcargo.sequences import EventSequence


def with_kinds(data: EventDataset, kinds: EventKinds) -> EventDataset:
    """The same data set with kinds of event types."""
    kinds.check(data.event_names)
    columns = (data.sequence_ids, data.events, data.times, data.rows, data.labels, data.label_rows)
    return EventDataset(*columns, data.event_names, data.label_names, data.time_kind, kinds=kinds)


def accompanied(sequence: EventSequence, families: Mapping[str, Sequence[str]]) -> EventSequence:
    """The sequence with an event of every family beside each of its members, the largest family first."""
    events, times = list[str](), list[float]()
    for event, time in zip(sequence.events, sequence.times, strict=True):
        above = sorted((f for f in families if event in families[f]), key=lambda f: -len(families[f]))
        events += [event, *above]
        times += [time] * (1 + len(above))
    return replace(sequence, events=tuple(events), times=tuple(times))


def drawn(
    n: int, chances: Mapping[str, float], rate: Callable[[set[str]], float], seed: int = 0
) -> list[EventSequence]:
    """Sequences of independent event types in random order; `rate` is the label's probability given them."""
    rng = np.random.default_rng(seed)
    names, p = list(chances), np.array(list(chances.values()))
    sequences = []
    for at in range(n):
        events = rng.permutation([names[i] for i in np.flatnonzero(rng.random(len(p)) < p)]).tolist()
        labels = ("bad",) if rng.random() < rate(set(events)) else ()
        times = tuple(float(time) for time in range(len(events)))
        sequences.append(EventSequence(f"{at:05}", tuple(events), times, labels))
    return sequences


MEMBERS = tuple(f"I50.{at:02}" for at in range(30))
"""A family of thirty codes."""


def with_family(causes: Sequence[str], n: int = 5000, chance: float = 0.006, seed: int = 0) -> EventDataset:
    """A family of thirty rare codes, of which some cause the label, among twenty other event types."""
    chances = dict.fromkeys(MEMBERS, chance) | {f"X{at:02}": 0.2 for at in range(20)}
    sequences = drawn(n, chances, lambda events: 0.9 if events & set(causes) else 0.03, seed)
    families = {"I50": MEMBERS}
    data = EventDataset.from_sequences([accompanied(one, families) for one in sequences])
    return with_kinds(data, EventKinds(families=families))


def with_sites(n: int = 4000, seed: int = 0, adjust: bool = True) -> EventDataset:
    """Site B raises the rates of `code` and of the label; `cause` causes the label, `code` does not."""
    rng = np.random.default_rng(seed)
    sequences = []
    for at in range(n):
        is_b = rng.random() < 0.5
        chances = {"code": 0.7 if is_b else 0.1, "cause": 0.2, "x": 0.3, "y": 0.3}
        events = [event for event, chance in chances.items() if rng.random() < chance]
        rate = 0.9 if "cause" in events else 0.4 if is_b else 0.05
        labels = ("bad",) if rng.random() < rate else ()
        events = ["site=B" if is_b else "site=A", *rng.permutation(events).tolist()]
        sequences.append(
            EventSequence(f"{at:05}", tuple(events), tuple(map(float, range(len(events)))), labels)
        )
    sites = ("site=A", "site=B")
    kinds = EventKinds(attributes=sites, adjusted=sites if adjust else ())
    return with_kinds(EventDataset.from_sequences(sequences), kinds)


def without_sites() -> EventDataset:
    """The same sequences if nobody had recorded the site."""
    bare = [replace(one, events=one.events[1:], times=one.times[1:]) for one in with_sites()]
    return EventDataset.from_sequences(bare)


def with_scale(n: int = 3000, seed: int = 0) -> EventDataset:
    """Values of creatinine as nested thresholds; the label follows a value of at least 2.0."""
    cuts, rng = (1.0, 1.5, 2.0, 2.5), np.random.default_rng(seed)
    sequences = []
    for at in range(n):
        value = rng.uniform(0.5, 3.0)
        names = ["creatinine", *(f"creatinine >= {cut}" for cut in cuts if value >= cut)]
        others = [event for event in ("x", "y") if rng.random() < 0.3]
        labels = ("bad",) if rng.random() < (0.8 if value >= 2.0 else 0.05) else ()
        times = (*(float(time) for time in range(len(others))), *(9.0 for _ in names))
        sequences.append(EventSequence(f"{at:05}", (*others, *names), times, labels))
    scale = tuple(f"creatinine >= {cut}" for cut in cuts)
    return with_kinds(EventDataset.from_sequences(sequences), EventKinds(scales=(scale,)))


MODELS = ("model=golf", "model=passat", "model=polo")


def with_long_histories(n: int = 1500, seed: int = 0) -> EventDataset:
    """Thirty events after an attribute; `x` late in the sequence causes the label on one model only."""
    rng = np.random.default_rng(seed)
    sequences = []
    for at in range(n):
        model = str(rng.choice(MODELS, p=(0.4, 0.3, 0.3)))
        events = rng.choice(["a", "b", "c"], 30).tolist()
        if rng.random() < 0.4:
            events[int(rng.integers(22, 30))] = "x"
        labels = ("bad",) if rng.random() < (0.9 if "x" in events and model == "model=golf" else 0.03) else ()
        times = (0.0, *(float(time) for time in range(30)))
        sequences.append(EventSequence(f"{at:05}", (model, *events), times, labels))
    return with_kinds(EventDataset.from_sequences(sequences), EventKinds(attributes=MODELS))
