import numpy as np
import pytest

from eventcargo.batches import Batches
from eventcargo.events import EventDataset
from eventcargo.features import feature_matrix
from eventcargo.sequences import EventSequence
from eventcargo.simulation import simulate
from eventcargo.verification.arrangements import Arrangement, MemberArrangements
from eventcargo.vocabulary import Vocabulary


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
    matrix, _ = feature_matrix([batch], family, len(vocabulary), window=1, min_support=1)
    members = list(range(len(data.event_names)))
    ours = [
        a.rows.tolist()
        for a in MemberArrangements(data).arrangements(members, min_rows=1)
        if a.family == family
    ]
    theirs = [column.indices.tolist() for column in matrix.T.tocsr()]
    assert sorted(ours) == sorted(theirs)
