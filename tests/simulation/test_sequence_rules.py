"""Every kind of rule against a definition that reads one sequence at a time."""

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise

import numpy as np
import pytest

from eventcargo.simulation.sequence_rules import KINDS, SequenceRule, Sequences

N_SEQUENCES, N_TYPES = 4_000, 4
A, B, C = 0, 1, 2

Definition = Callable[[list[int], list[float]], bool]


def at(events: Sequence[int], wanted: int) -> list[int]:
    return [place for place, event in enumerate(events) if event == wanted]


def state_at(events: list[int], place: int) -> int | None:
    switches = [event for event in events[:place] if event in (B, C)]
    return switches[-1] if switches else None


def is_then(events: list[int]) -> bool:
    return [A, B, C] in [[events[i] for i in places] for places in combinations(range(len(events)), 3)]


DEFINITIONS: dict[str, tuple[tuple[int, ...], tuple[float, ...], Definition]] = {
    "before": ((A, B), (), lambda e, _: A in e and B in e and e.index(A) < e.index(B)),
    "right_after": ((A, B), (), lambda e, _: (A, B) in list(pairwise(e))),
    "at_least": ((A,), (3,), lambda e, _: e.count(A) >= 3),
    "less_apart": (
        (A, B),
        (2.0,),
        lambda e, t: any(abs(t[i] - t[j]) < 2.0 for i in at(e, A) for j in at(e, B)),
    ),
    "among_last": ((A,), (4,), lambda e, _: A in e[-4:]),
    "state": ((A, B, C), (), lambda e, _: any(state_at(e, place) == B for place in at(e, A))),
    "switch": ((A, B), (), lambda e, _: A in e and B in e and at(e, A)[-1] > at(e, B)[-1]),
    "window": ((A, B), (3,), lambda e, _: any(0 < j - i <= 3 for i in at(e, A) for j in at(e, B))),
    "more": ((A, B), (), lambda e, _: e.count(A) > e.count(B)),
    "then": ((A, B, C), (), lambda e, _: is_then(e)),
    "burst": (
        (A,),
        (3, 4.0),
        lambda e, t: any(t[k] - t[i] <= 4.0 for i, _, k in combinations(at(e, A), 3)),
    ),
}


@pytest.fixture(scope="module")
def sequences() -> Sequences:
    """Short random sequences, some of them empty, with times on a grid so that limits are met exactly."""
    rng = np.random.default_rng(1)
    lengths = rng.integers(0, 12, N_SEQUENCES)
    events = rng.integers(0, N_TYPES, lengths.sum()).astype(np.int32)
    return Sequences(lengths, events, np.cumsum(rng.integers(1, 4, len(events)) / 2.0))


@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_holds_where_its_definition_does(kind: str, sequences: Sequences) -> None:
    events, limits, definition = DEFINITIONS[kind]
    starts = sequences.stops - sequences.lengths
    expected = [
        definition(sequences.events[start:stop].tolist(), sequences.times[start:stop].tolist())
        for start, stop in zip(starts, sequences.stops, strict=True)
    ]
    assert 0.02 < np.mean(expected) < 0.98
    assert SequenceRule(kind, events, limits).holds(sequences).tolist() == expected


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("before", "A before B"),
        ("right_after", "B right after A"),
        ("at_least", "A at least 3 times"),
        ("less_apart", "A and B less than 2 apart in time"),
        ("among_last", "A among the last 4 events"),
        ("state", "A after B without C between"),
        ("switch", "last A after last B"),
        ("window", "B at most 3 events after A"),
        ("more", "more A than B"),
        ("then", "A then B then C"),
        ("burst", "3 times A within 4"),
    ],
)
def test_a_rule_is_told_in_words(kind: str, text: str) -> None:
    events, limits, _ = DEFINITIONS[kind]
    assert SequenceRule(kind, events, limits).text("ABC") == text


def test_signs_are_those_of_the_kind() -> None:
    assert SequenceRule("state", (5, 6, 7)).signs == {5: 1, 6: 1, 7: -1}


def test_sequences_without_any_event_of_a_rule_hold_nothing() -> None:
    data = Sequences(np.array([2, 0]), np.array([3, 3], np.int32), np.array([0.0, 1.0]))
    for kind, (events, limits, _) in DEFINITIONS.items():
        assert not SequenceRule(kind, events, limits).holds(data).any()
