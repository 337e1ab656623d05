import json

import pytest

from eventcargo import DataError, EventDataset, EventSequence
from eventcargo.rules import Literal
from eventcargo.rules.occurrences import Occurrences


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        (Literal("presence", ("A",)), "A"),
        (Literal("presence", ("A",), negated=True), "!A"),
        (Literal("count", ("A",), 3.0), "A >= 3 times"),
        (Literal("ordered", ("A", "B")), "A before B"),
        (Literal("ordered", ("A", "B"), negated=True), "!(A before B)"),
        (Literal("adjacent", ("A", "B")), "A directly before B"),
        (Literal("gap", ("A", "B"), 0.6), "B within 0.6 of A"),
        (Literal("gap", ("A", "B"), 0.6, unit="h"), "B within 0.6 h of A"),
        (Literal("gap", ("A", "B"), 5400.0, unit="s"), "B within 1.5 h of A"),
        (Literal("gap", ("A", "B"), 0.0, unit="h"), "B at the same time as A"),
        (Literal("lateness", ("A",), 8.0), "A among the last 8 events"),
        (Literal("since", ("A",), 2.0, unit="d"), "A within 2 d of the end"),
        (Literal("since", ("A",), 0.0), "A at the end"),
        (Literal("count", ("A",), 37.0), "A >= 37 times"),
        (Literal("state", ("A", "M1", "M2")), "A after M1 without M2 between"),
        (Literal("state", ("A", "M 1", "M2"), negated=True), '!(A after "M 1" without M2 between)'),
        (Literal("last_after", ("A", "B")), "last A after last B"),
        (Literal("more", ("A", "B")), "more A than B"),
        (Literal("distance", ("A", "B"), 4.0), "B at most 4 events after A"),
        (Literal("subsequence", ("A", "B")), "A then B"),
        (Literal("subsequence", ("A", "then", "C")), 'A then "then" then C'),
        (Literal("burst", ("A",), 7200.0, unit="s", times=3), "3 times A within 2 h"),
        (Literal("burst", ("A",), 0.5, times=2), "2 times A within 0.5"),
        (Literal("burst", ("A",), 0.0, times=2), "2 times A at the same time"),
        (Literal("burst_events", ("A",), 5.0, times=3), "3 times A within 5 events"),
    ],
)
def test_literals_read_like_sentences(literal: Literal, text: str) -> None:
    assert literal.text == text


@pytest.mark.parametrize(
    "name", ["oil low", "a&b", "(x)", "!x", 'say "x"', "before", "without", "", "a|b", "x>=2"]
)
def test_names_that_look_like_the_language_are_quoted(name: str) -> None:
    told = Literal("presence", (name,)).text
    assert told.startswith('"')
    assert told.endswith('"')


@pytest.mark.parametrize("name", ["P0A1F", "node=value", "Übertemperatur", "LAB//50912", "a.b-c:d"])
def test_plain_names_are_not_quoted(name: str) -> None:
    assert Literal("presence", (name,)).text == name


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        (Literal("presence", ("b",)), [True, True, False]),
        (Literal("presence", ("b",), negated=True), [False, False, True]),
        (Literal("count", ("a",), 2.0), [True, False, False]),
        (Literal("ordered", ("b", "a")), [False, True, False]),
        (Literal("adjacent", ("b", "a")), [True, True, False]),
        (Literal("gap", ("a", "b"), 1.0), [True, False, False]),
        (Literal("lateness", ("a",), 1.0), [True, True, False]),
        (Literal("since", ("b",), 1.0), [True, False, False]),
        (Literal("last_after", ("a", "b")), [True, True, False]),
        (Literal("last_after", ("b", "a"), negated=True), [True, True, True]),
        (Literal("last_after", ("c", "a")), [False, False, True]),  # a does not occur, c does
        (Literal("more", ("a", "b")), [True, False, False]),
        (Literal("distance", ("a", "b"), 1.0), [True, False, False]),
        (Literal("subsequence", ("a", "b")), [True, False, False]),
        (Literal("subsequence", ("a", "b", "a")), [True, False, False]),
        (Literal("subsequence", ("a", "a")), [True, False, False]),
        (Literal("burst", ("a",), 2.0, times=2), [True, False, False]),
        (Literal("burst", ("a",), 1.9, times=2), [False, False, False]),
        (Literal("burst_events", ("a",), 3.0, times=2), [True, False, False]),
        (Literal("burst_events", ("a",), 2.0, times=2), [False, False, False]),
        (Literal("state", ("a", "b", "c")), [True, True, False]),
        (Literal("state", ("a", "c", "b")), [False, False, False]),
    ],
)
def test_every_kind_holds_where_it_says(literal: Literal, expected: list[bool]) -> None:
    data = EventDataset.from_sequences(
        [
            EventSequence("s1", ("a", "b", "a"), (0.0, 1.0, 2.0), ()),
            EventSequence("s2", ("b", "a"), (0.0, 1.5), ()),
            EventSequence("s3", ("c",), (0.0,), ()),
        ]
    )
    assert literal.holds(Occurrences.locate(data, "abc")).tolist() == expected


def test_a_condition_on_time_is_refused_where_there_is_only_an_order() -> None:
    sequence = EventSequence("s1", ("a", "b"), (0.0, 1.0), ())
    found = Occurrences.locate(EventDataset.from_sequences([sequence], time_kind="order"), "ab")
    with pytest.raises(DataError, match="b within 2 of a"):
        Literal("gap", ("a", "b"), 2.0).holds(found)


@pytest.mark.parametrize(
    ("kind", "events", "limit", "said"),
    [
        ("near", ("a", "b"), None, "'near'"),
        ("ordered", ("a",), None, "2 event types"),
        ("count", ("a",), None, "a limit; got None"),
        ("presence", ("a",), 3.0, "no limit; got 3.0"),
        ("subsequence", ("a",), None, "2 or 3 event types; got"),
        ("state", ("a", "b"), None, "3 event types; got"),
        ("burst", ("a",), 2.0, "times of 2 or more; got None"),
    ],
)
def test_a_literal_that_makes_no_sense_is_refused(
    kind: str, events: tuple[str, ...], limit: float | None, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        Literal(kind, events, limit)


@pytest.mark.parametrize(
    ("kind", "times", "said"),
    [("burst", 1, "times of 2 or more; got 1"), ("lateness", 3, "no times; got 3")],
)
def test_a_number_of_times_that_makes_no_sense_is_refused(kind: str, times: int, said: str) -> None:
    with pytest.raises(DataError, match=said):
        Literal(kind, ("a",), 2.0, times=times)


def test_a_burst_is_refused_where_there_is_only_an_order() -> None:
    sequence = EventSequence("s1", ("a", "a"), (0.0, 1.0), ())
    found = Occurrences.locate(EventDataset.from_sequences([sequence], time_kind="order"), "a")
    with pytest.raises(DataError, match="2 times a within 3"):
        Literal("burst", ("a",), 3.0, times=2).holds(found)
    assert Literal("burst_events", ("a",), 2.0, times=2).holds(found).tolist() == [True]


@pytest.mark.parametrize(
    "literal",
    [
        Literal("burst", ("A",), 7200.0, True, "s", times=3),
        Literal("subsequence", ("A", "B", "C")),
        Literal("distance", ("A", "B"), 4.0),
    ],
)
def test_a_literal_is_the_same_as_json_and_back(literal: Literal) -> None:
    assert Literal.from_dict(json.loads(json.dumps(literal.to_dict()))) == literal
