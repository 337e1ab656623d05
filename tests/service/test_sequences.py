import re
from typing import Any

import polars as pl
import pytest

from eventcargo.service.problems import Problem
from eventcargo.service.sequences import Fields, Sent

PLAIN = Fields(max_sequences=3, max_events=4)
RICH = Fields(times=("datetime",), values=("km",), attributes=("age", "sex"))


def one(*events: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "a", "events": list(events), **more}


def at(time: Any, name: str = "x", **more: Any) -> dict[str, Any]:
    return {"name": name, "time": time, **more}


REFUSED: dict[str, tuple[Any, str]] = {
    "text": ("events", "the request is 'events'; send a sequence or a list"),
    "null": (None, "the request is None"),
    "no sequence": ([], "the request is empty; give at least one sequence"),
    "many sequences": ([one(at(0))] * 4, "the request has 4 sequences; send at most 3"),
    "no object": ([5], r"\[0\] is 5, not an object"),
    "no id": ({"events": [at(0)]}, "the request has no entry 'id'"),
    "id is a number": ({"id": 5, "events": [at(0)]}, "^id is 5, not text"),
    "blank id": ({"id": " ", "events": [at(0)]}, "id is ' '; give a name"),
    "half a pair": ({"id": "\ud800", "events": [at(0)]}, r"id is '\\ud800', which has half a surrogate"),
    "same id": ([one(at(0)), one(at(0))], r"\[1\].id is 'a', as \[0\].id"),
    "unknown entry": (one(at(0), evens=1), "unknown entry 'evens'; did you mean 'events'"),
    "no events": ({"id": "a"}, "the request has no entry 'events'"),
    "events are text": ({"id": "a", "events": "x"}, "events is 'x', not a list"),
    "empty": (one(), "events is empty; give at least one event"),
    "many events": (one(*[at(0)] * 5), "events has 5 events; send at most 4"),
    "event is text": (one("x"), r"events\[0\] is 'x', not an object"),  # type: ignore[arg-type]
    "no name": (one({"time": 0}), r"events\[0\] has no entry 'name'"),
    "blank name": (one(at(0, "")), r"events\[0\].name is ''; give a name"),
    "values of none": (one(at(0, values={})), r"unknown entry 'values'; use 'name', 'time'"),
    "attributes of none": (one(at(0), attributes={}), "unknown entry 'attributes'"),
    "time is a flag": (one(at(True)), r"events\[0\].time is True, not a number, a date or null"),
    "time is a list": (one(at([])), r"events\[0\].time is \[\], not a number, a date or null"),
    "large whole number": (one(at(2**53 + 1)), "use whole numbers up to 9,007,199,254,740,992"),
    "no date": (one(at("2024-01-01"), at("today")), r"events\[1\].time is 'today', not a date such as"),
    "no such day": ([one(at("2023-02-29"))], r"^\[0\].events\[0\].time is '2023-02-29'"),
    "two kinds": (one(at("2024-01-01"), at(5)), r"events\[1\].time is 5, but a date before; use one kind"),
    "some without": (one(at(5), {"name": "x"}), r"events\[1\].time is None, but a number before"),
    "a number as text": (one(at("5")), r"events\[0\].time is '5', not a date"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_content_is_refused_with_its_place_and_value(name: str) -> None:
    content, said = REFUSED[name]
    with pytest.raises(Problem) as refusal:
        Sent.parse(content, PLAIN)
    assert refusal.value.status == (409 if name == "same id" else 422)
    assert re.search(said, refusal.value.detail), refusal.value.detail


RICH_REFUSED: dict[str, tuple[Any, str]] = {
    "numbers": (one(at(5)), r"events\[0\].time is 5; this run needs a date such as"),
    "an order": (one({"name": "x"}), r"events\[0\].time is None; this run needs a date"),
    "unknown value": (one(at("2024-01-01", values={"kn": 1})), "unknown entry 'kn'; use 'km'"),
    "value is text": (one(at("2024-01-01", values={"km": "1"})), "values.km is '1', not a number or null"),
    "values are a list": (one(at("2024-01-01", values=[1])), r"values is \[1\], not an object"),
    "unknown attribute": (
        one(at("2024-01-01"), attributes={"site": 1}),
        "unknown entry 'site'; use 'age', 'sex'",
    ),
    "attribute is a flag": (
        one(at("2024-01-01"), attributes={"age": True}),
        "age is True, not text, a number or null",
    ),
    "attribute is half": (one(at("2024-01-01"), attributes={"sex": "\udc00"}), "half a surrogate pair"),
}


@pytest.mark.parametrize("name", RICH_REFUSED)
def test_only_what_the_run_knows_may_be_sent(name: str) -> None:
    content, said = RICH_REFUSED[name]
    with pytest.raises(Problem, match=said):
        Sent.parse(content, RICH)


def test_events_become_a_table() -> None:
    sent = Sent.parse([one(at(0), at(1.5, "y")), {**one(at(-3)), "id": "b"}], PLAIN)
    assert sent.events().to_dict(as_series=False) == {
        "id": ["a", "a", "b"],
        "name": ["x", "y", "x"],
        "time": [0.0, 1.5, -3.0],
    }


def test_without_times_there_is_no_column_of_them() -> None:
    sent = Sent.parse(one(at(None), {"name": "y"}), PLAIN)
    assert sent.events().columns == ["id", "name"]


def test_values_and_attributes_become_columns() -> None:
    first = one(at("2024-01-01", values={"km": 7}), at("2024-01-02T03:04:05+01:00"), attributes={"age": 4})
    second = {"id": "b", "events": [at("2024-01-01")], "attributes": {"age": None, "sex": "f"}}
    sent = Sent.parse([first, second], RICH)
    assert sent.events()["km"].to_list() == [7.0, None, None]
    static = sent.static()
    assert static.rows() == [("a", 4, None), ("b", None, "f")]
    assert static.schema["age"] == pl.Int64()


def test_attributes_of_numbers_and_text_are_text() -> None:
    sequences = [{"id": str(a), "events": [at("2024-01-01")], "attributes": {"age": a}} for a in (4, "old")]
    assert Sent.parse(sequences, RICH).static()["age"].to_list() == ["4", "old"]
