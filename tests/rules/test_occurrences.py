import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventcargo import EventDataset, EventSequence
from eventcargo.event_kinds import EventKinds
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
