from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from eventcargo import DataError
from eventcargo.typed import is_text, parse_as, show


@dataclass(frozen=True)
class Part:
    name: str
    share: float | None = None
    kind: Literal["a", "b"] = "a"
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    sizes: Mapping[str, int]
    rest: dict[str, Any]


def test_nested_content_is_read_as_its_types_say() -> None:
    content = {"parts": [{"name": "x", "share": 1, "members": ["y"]}], "sizes": {"x": 3}, "rest": {"z": [1]}}
    assert parse_as(Whole, content, "it") == Whole((Part("x", 1, "a", ("y",)),), {"x": 3}, {"z": [1]})


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (int, True, "it is True, not a whole number"),
        (int, 2**70, "not a whole number"),
        (float, "1", "it is '1', not a number"),
        (str, 1, "it is 1, not text"),
        (str, "\ud800", "not text"),
        (bool, 1, "it is 1, not true or false"),
        (list[int], {"a": 1}, "not a list"),
        (list[int], [1, "b"], r"it\[1\] is 'b', not a whole number"),
        (tuple[str, str], ["a"], "not a list of 2"),
        (dict[str, int], [1], "not an object"),
        (int | None, "x", "it is 'x', not a whole number or null"),
        (dict[str, Any] | None, 7, "it is 7, not an object"),
        (Literal["a", "b"], "c", "it is 'c', not 'a' or 'b'"),
        (Part, [], "not an object"),
        (Part, {}, "it has no entry 'name'"),
        (Part, {"name": "x", "odd": 1}, "it has the unknown entry 'odd'"),
        (Part, {"name": "x", "members": "y"}, "it.members is 'y', not a list"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_place(kind: Any, value: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_as(kind, value, "it")


@pytest.mark.parametrize("kind", [int, float])
def test_a_number_that_python_does_not_write_is_refused(kind: type) -> None:
    with pytest.raises(DataError, match="it is a number with thousands of digits, not a"):
        parse_as(kind, 10**5_000, "it")


def test_numbers_that_are_not_finite_are_numbers() -> None:
    assert parse_as(float, float("inf"), "it") == float("inf")


def test_long_values_are_shown_in_short() -> None:
    assert len(show("x" * 1_000)) < 70
    assert not is_text("a\udfff")
