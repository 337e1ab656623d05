from dataclasses import replace

import numpy as np
import pytest

from eventcargo.batches import Batches
from eventcargo.event_kinds import EventKinds
from eventcargo.events import EventDataset
from eventcargo.models.linear.row_features import RowFeatures
from eventcargo.sequences import EventSequence
from eventcargo.simulation import simulate
from eventcargo.verification.arrangements import MAX_FURTHER, Arrangement, MemberArrangements
from eventcargo.vocabulary import Vocabulary

from ..families import with_kinds


def found(*sequences: str, members: str = "ab", times: float = 1.0) -> list[Arrangement]:
    """Arrangements of sequences of letters, one every `times`."""
    data = EventDataset.from_sequences(
        [
            EventSequence(str(at), tuple(letters), tuple(times * i for i in range(len(letters))), ())
            for at, letters in enumerate(sequences)
        ]
    )
    return MemberArrangements(data).arrangements(
        [data.event_names.index(name) for name in members], min_rows=1
    )


def rows(arrangements: list[Arrangement], family: str, *members: int) -> list[list[int]]:
    return [a.rows.tolist() for a in arrangements if a.family == family and a.members == members]


def test_order_is_seen_however_far_apart() -> None:
    assert rows(found("a" + 50 * "x" + "b", "bxa"), "ordered", 0, 1) == [[0], [1]]


def test_neighbours_have_nothing_between_them() -> None:
    assert rows(found("ab", "axb", "xab"), "adjacent", 0, 1) == [[0, 2]]


def test_occurrences_are_counted() -> None:
    assert rows(found("aba", "ab", "aaab"), "count", 0) == [[0, 2], [2]]


def test_the_last_of_two_is_seen() -> None:
    assert rows(found("abab", "abba", "ab"), "last_after", 0, 1) == [[1]]


def test_the_more_frequent_of_two_is_seen() -> None:
    assert rows(found("abxxxa", "bab", "baa"), "more", 0, 1) == [[0, 2], [1]]


def test_the_distance_of_two_is_told_in_steps() -> None:
    letters = ("axxxb", "axxbx", "axbxx")
    made = [
        EventSequence(str(at), tuple(some), (0.0, 1.0, 2.0, 3.0, 4.0), ()) for at, some in enumerate(letters)
    ]
    data = EventDataset.from_sequences(made, time_kind="order")
    steps = rows(MemberArrangements(data).arrangements([0, 1], min_rows=1), "distance", 0, 1)
    assert steps == [[2], [1, 2]]  # all three hold `ordered`


def test_an_arrangement_that_holds_where_another_does_is_left_out() -> None:
    assert not {"last_after", "more", "distance"} & {one.family for one in found("ab", "ba", "xab")}


def test_only_the_strongest_members_have_further_arrangements() -> None:
    letters = "abcdefghij"
    made = found(letters + letters[::-1], letters + "a", letters + "ij", members=letters)
    pairs = {one.members for one in made if one.family == "last_after"}
    assert (0, MAX_FURTHER - 1) in pairs
    assert max(map(max, pairs)) < MAX_FURTHER


def test_high_counts_are_told_in_steps() -> None:
    made = found("a" * 6, "a" * 9, "a" * 30, "a" * 3, members="a")
    assert rows(made, "count", 0)[-2:] == [[1, 2], [2]]  # and 2 to 5 times


def test_lateness_is_told_in_steps() -> None:
    assert rows(found("bxa", "bax", "abxx"), "lateness", 0) == [[0], [0, 1], [0, 1, 2]]


def test_gaps_are_told_in_steps_of_time() -> None:
    steps = rows(found("ab", "axxb"), "gap", 0, 1)
    assert steps == [[0], [0, 1]]


def test_other_events_between_do_not_hide_a_gap() -> None:
    assert rows(found("axcxcxcxb", members="abc"), "gap", 0, 1) == [[0]]


def test_time_since_an_event_ends_with_the_last_of_the_sequence() -> None:
    assert rows(found("abx", "baxxxx"), "since", 0) == [[0], [0, 1]]


def test_mere_order_has_no_times() -> None:
    data = EventDataset.from_sequences([EventSequence("1", ("a", "b"), (0.0, 1.0), ())], time_kind="order")
    assert {a.family for a in MemberArrangements(data).arrangements([0, 1], min_rows=1)} == {
        "adjacent",
        "ordered",
        "lateness",
    }


def test_what_holds_too_rarely_is_left_out() -> None:
    data = EventDataset.from_sequences(
        [EventSequence(str(i), ("a", "b") if i else ("b", "a"), (0.0, 1.0), ()) for i in range(4)]
    )
    assert [
        a.rows.tolist()
        for a in MemberArrangements(data).arrangements([0, 1], min_rows=2)
        if a.family == "ordered"
    ] == [[1, 2, 3]]


@pytest.mark.parametrize("family", ["adjacent", "count"])
def test_arrangements_are_the_features_of_whole_sequences(family: str) -> None:
    data = simulate("follows", sequences=60, labels=1, seed=100).data
    vocabulary = Vocabulary(data.event_names)
    batch = Batches(data, vocabulary, max_length=1000).take(np.arange(len(data)))
    matrix, _ = RowFeatures.of([batch], family, len(vocabulary), 1, 1).whole()
    members = list(range(len(data.event_names)))
    ours = [
        a.rows.tolist()
        for a in MemberArrangements(data).arrangements(members, min_rows=1)
        if a.family == family
    ]
    theirs = [column.indices.tolist() for column in matrix.sparse().T.tocsr()]
    assert sorted(ours) == sorted(theirs)


def of_kinds(*sequences: tuple[str, list[float]], kinds: EventKinds, members: str) -> list[Arrangement]:
    made = [
        EventSequence(str(at), tuple(letters), tuple(map(float, times)), ())
        for at, (letters, times) in enumerate(sequences)
    ]
    data = with_kinds(EventDataset.from_sequences(made), kinds)
    places = [data.event_names.index(name) for name in members]
    return MemberArrangements(data).arrangements(places, min_rows=1)


FAMILY = EventKinds(families={"I": ("a",)})


def test_attributes_have_no_arrangements() -> None:
    kinds = EventKinds(attributes=("f",))
    sequences = [("fab", [0, 0, 1]), ("fba", [0, 0, 1])]
    with_attribute = of_kinds(*sequences, kinds=kinds, members="afb")
    assert all(1 not in one.members for one in with_attribute)
    assert {one.family for one in with_attribute if one.members == (0, 2)} == {"adjacent", "ordered", "gap"}
    assert of_kinds(*sequences, kinds=kinds, members="f") == []


def test_a_family_and_its_member_have_no_order_gap_or_neighbourhood() -> None:
    pairs = [
        one for one in of_kinds(("aIb", [0, 0, 1]), kinds=FAMILY, members="aIb") if len(one.members) == 2
    ]
    assert {one.members for one in pairs} == {(0, 2), (1, 2)}
    assert {one.family for one in pairs} == {"adjacent", "ordered", "gap"}


@pytest.mark.parametrize("events", ["aIb", "Iab"])
def test_events_that_accompany_others_do_not_stand_between_neighbours(events: str) -> None:
    found = of_kinds((events, [0, 0, 1]), ("acb", [0, 1, 2]), kinds=FAMILY, members="aIb")
    assert rows(found, "adjacent", 0, 2) == [[0]]
    assert rows(found, "adjacent", 1, 2) == [[0]]


@pytest.mark.parametrize("events", ["aIbI", "IaIb"])
def test_events_that_accompany_others_do_not_count_towards_the_end(events: str) -> None:
    families = EventKinds(families={"I": ("a", "b")})
    times: list[float] = [0, 0, 1, 1]
    plain = MemberArrangements(EventDataset.from_sequences([EventSequence("0", ("a", "b"), (0.0, 1.0), ())]))
    expected = [one.rows.tolist() for one in plain.arrangements([0], 1) if one.family == "lateness"]
    longer = ("abb", [0, 1, 2])  # its a is one further from the end
    found = of_kinds((events, times), longer, kinds=families, members="a")
    assert rows(found, "lateness", 0) == [expected[0], [0, 1]]


def test_arrangements_by_place_are_those_by_order() -> None:
    data = simulate("follows", sequences=100, labels=1, seed=1).data
    extra = [replace(one, events=(*one.events, "f"), times=(*one.times, one.times[-1])) for one in data]
    later = [one if at else extra[0] for at, one in enumerate(data)]  # one sequence ends with an attribute
    placed = with_kinds(EventDataset.from_sequences(later), EventKinds(attributes=("f",)))
    made = [
        [
            (one.family, one.members, one.rows.tolist())
            for one in MemberArrangements(some).arrangements(range(6), 1)
        ]
        for some in (data, placed)
    ]
    assert made[0] == made[1]
