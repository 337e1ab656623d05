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
    ],
)
def test_literals_read_like_sentences(literal: Literal, text: str) -> None:
    assert literal.text == text


@pytest.mark.parametrize("name", ["oil low", "a&b", "(x)", "!x", 'say "x"', "before", "", "a|b", "x>=2"])
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
    assert literal.holds(Occurrences.locate(data, "ab")).tolist() == expected


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
    ],
)
def test_a_literal_that_makes_no_sense_is_refused(
    kind: str, events: tuple[str, ...], limit: float | None, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        Literal(kind, events, limit)
