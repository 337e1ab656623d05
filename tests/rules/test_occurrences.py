import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventcargo import EventDataset, EventSequence
from eventcargo.event_kinds import EventKinds
from eventcargo.rules import Literal
from eventcargo.rules.occurrences import Occurrences

from ..families import with_kinds

SEQUENCES = st.lists(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), max_size=6), min_size=1, max_size=5
)


def dataset(sequences: list[list[tuple[str, int]]]) -> EventDataset:
    """Sequences of (event, time since the one before)."""
    made = []
    for number, events in enumerate(sequences):
        times = itertools.accumulate(float(gap) for _, gap in events)
        made.append(EventSequence(f"s{number:02}", tuple(name for name, _ in events), tuple(times), ()))
    return EventDataset.from_sequences(made)


def at(sequence: EventSequence, name: str) -> list[int]:
    return [place for place, event in enumerate(sequence.events) if event == name]


@settings(max_examples=40)
@given(SEQUENCES)
def test_gaps_are_those_of_all_pairs(sequences: list[list[tuple[str, int]]]) -> None:
    data = dataset(sequences)
    expected = [
        min(
            (abs(s.times[i] - s.times[j]) for i in at(s, "a") for j in at(s, "b")),
            default=np.inf,
        )
        for s in data
    ]
    assert Occurrences.locate(data, "ab").gap("a", "b").tolist() == expected


@settings(max_examples=40)
@given(SEQUENCES)
def test_neighbours_are_those_of_the_sequence(sequences: list[list[tuple[str, int]]]) -> None:
    data = dataset(sequences)
    expected = [("a", "b") in itertools.pairwise(s.events) for s in data]
    assert Occurrences.locate(data, "ab").adjacent("a", "b").tolist() == expected


@settings(max_examples=40)
@given(SEQUENCES)
def test_positions_count_from_both_ends(sequences: list[list[tuple[str, int]]]) -> None:
    data = dataset(sequences)
    found = Occurrences.locate(data, "a")
    assert found.first("a").tolist() == [min(at(s, "a"), default=np.inf) for s in data]
    assert found.lateness("a").tolist() == [len(s) - max(at(s, "a"), default=-np.inf) for s in data]


@settings(max_examples=40)
@given(SEQUENCES)
def test_age_is_the_time_from_the_last_occurrence_to_the_end(sequences: list[list[tuple[str, int]]]) -> None:
    data = dataset(sequences)
    expected = [s.times[-1] - s.times[at(s, "a")[-1]] if at(s, "a") else np.inf for s in data]
    assert Occurrences.locate(data, "a").since("a").tolist() == expected


@settings(max_examples=40)
@given(SEQUENCES)
def test_narrowing_leaves_the_measures_of_the_sequences_kept(sequences: list[list[tuple[str, int]]]) -> None:
    whole = Occurrences.locate(dataset(sequences), "abc")
    narrowed, rows = whole.narrow("ab")
    assert rows.tolist() == np.flatnonzero(whole.count("a") + whole.count("b")).tolist()
    assert narrowed.n == len(rows)
    assert narrowed.gap("a", "b").tolist() == whole.gap("a", "b")[rows].tolist()
    assert narrowed.lateness("b").tolist() == whole.lateness("b")[rows].tolist()


@pytest.mark.parametrize("name", ["c", "unheard of"])
def test_what_was_not_located_never_occurs(name: str) -> None:
    found = Occurrences.locate(dataset([[("a", 1), ("c", 1)]]), ["a", "unheard of"])
    assert found.count(name).tolist() == [0.0]
    assert found.lateness(name).tolist() == [np.inf]


def test_neighbours_do_not_reach_into_the_next_sequence() -> None:
    found = Occurrences.locate(dataset([[("b", 1), ("a", 1)], [("b", 1), ("a", 1)]]), "ab")
    assert found.adjacent("a", "b").tolist() == [False, False]


def of_kinds(kinds: EventKinds, *sequences: tuple[str, list[float]]) -> Occurrences:
    made = [
        EventSequence(f"s{at}", tuple(letters), tuple(map(float, times)), ())
        for at, (letters, times) in enumerate(sequences)
    ]
    return Occurrences.locate(with_kinds(EventDataset.from_sequences(made), kinds), "abcfI")


FAMILY = EventKinds(attributes=("f",), families={"I": ("a",)})


def test_events_that_accompany_others_do_not_stand_between_neighbours() -> None:
    found = of_kinds(FAMILY, ("faIb", [0, 0, 0, 1]), ("fIab", [0, 0, 0, 1]), ("acb", [0, 1, 2]))
    assert found.adjacent("a", "b").tolist() == [True, True, False]
    assert found.adjacent("I", "b").tolist() == [True, True, False]


def test_the_last_event_of_a_sequence_is_no_neighbour_of_the_next_one_s_first() -> None:
    found = of_kinds(FAMILY, ("faI", [0, 0, 0]), ("b", [1]), ("fb", [1, 1]))
    assert not found.adjacent("a", "b").any()


def test_events_that_accompany_others_do_not_count_towards_the_end() -> None:
    found = of_kinds(FAMILY, ("faIbaI", [0, 0, 0, 1, 2, 2]), ("fcIa", [0, 0, 1, 1]))
    assert found.lateness("b").tolist() == [2.0, np.inf]
    assert found.lateness("a").tolist() == found.lateness("I").tolist() == [1.0, 1.0]
    assert found.lateness("c").tolist() == [np.inf, 2.0]
    narrowed, kept = found.narrow("c")
    assert (kept.tolist(), narrowed.lateness("c").tolist()) == ([1], [2.0])


@settings(max_examples=60)
@given(SEQUENCES)
def test_further_arrangements_are_those_of_the_definition(sequences: list[list[tuple[str, int]]]) -> None:
    data = dataset(sequences)
    found = Occurrences.locate(data, "abc")
    for kind, expected in DEFINITIONS.items():
        literal = Literal(kind, ("a", "b", "c")[: 2 if kind in ("last_after", "more") else 3])
        assert literal.holds(found).tolist() == [expected(s) for s in data], literal.text


def is_on(sequence: EventSequence) -> bool:
    """Whether the last of b and c before some a was b."""
    switches = ["".join(sequence.events[:place]).replace("a", "") for place in at(sequence, "a")]
    return any(before.endswith("b") for before in switches)


DEFINITIONS: dict[str, Callable[[EventSequence], bool]] = {
    "last_after": lambda s: max(at(s, "a"), default=-1) > max(at(s, "b"), default=-1),
    "more": lambda s: len(at(s, "a")) > len(at(s, "b")),
    "subsequence": lambda s: any(i < j < k for i in at(s, "a") for j in at(s, "b") for k in at(s, "c")),
    "state": is_on,
}


@settings(max_examples=40)
@given(SEQUENCES)
def test_distances_and_bursts_are_the_shortest_there_are(sequences: list[list[tuple[str, int]]]) -> None:
    data = dataset(sequences)
    found = Occurrences.locate(data, "ab")
    apart = [min((j - i for i in at(s, "a") for j in at(s, "b") if j > i), default=np.inf) for s in data]
    assert found.distance("a", "b").tolist() == apart
    for times in (2, 3):
        runs = [list(zip(at(s, "a"), at(s, "a")[times - 1 :], strict=False)) for s in data]
        spans = [
            min((s.times[j] - s.times[i] for i, j in run), default=np.inf)
            for s, run in zip(data, runs, strict=True)
        ]
        events = [min((j - i + 1 for i, j in run), default=np.inf) for run in runs]
        assert found.burst("a", times).tolist() == spans
        assert found.burst_events("a", times).tolist() == events


def test_further_arrangements_look_through_events_that_accompany_others() -> None:
    found = of_kinds(FAMILY, ("faIcb", [0, 0, 0, 1, 2]), ("fIab", [0, 0, 0, 1]))
    assert found.distance("a", "b").tolist() == [2.0, 1.0]
    assert found.distance("I", "b").tolist() == [2.0, 1.0]
