from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

from eventcargo.config import Settings, check_at_least, field_help, setting
from eventcargo.errors import ConfigError


@dataclass(frozen=True)
class Parent:
    size: int = 1
    """how large"""
    bare: int = 2


@dataclass(frozen=True)
class Child(Parent):
    size: int = 3
    """how large,
    in metres"""


def test_a_field_without_a_string_is_left_out() -> None:
    assert field_help(Parent) == {"size": "how large"}


def test_a_child_replaces_the_help_of_its_parent_on_one_line() -> None:
    assert field_help(Child) == {"size": "how large, in metres"}


@dataclass(frozen=True)
class Grandchild(Child):
    """What is said of a class is no help of a field."""

    count = 4
    """no field: it has no type"""
    first: int = 5
    second: int = 6
    "after the second"
    third: int = 7
    8  # noqa: B018 (a line that is no string)
    fourth: int = 9
    len("a call")
    fifth: int = 10
    last: str = "the default of a field is no help of the one before"


def test_only_a_string_right_after_a_field_is_its_help() -> None:
    assert field_help(Grandchild) == {"size": "how large, in metres", "second": "after the second"}


def test_help_is_inherited() -> None:
    @dataclass(frozen=True)
    class Local(Child):
        depth: int = 1
        "how deep"

    assert field_help(Local) == {"size": "how large, in metres", "depth": "how deep"}


@dataclass(frozen=True)
class Bounded(Settings):
    count: int = setting(2, ge=2)
    closed: float = setting(0.5, ge=0, le=1)
    open: float = setting(0.5, gt=0, lt=1)
    mixed: float = setting(0.5, gt=0, le=1)
    half: float = setting(0.5, ge=0, lt=1)
    above: float = setting(1.0, gt=0)
    free: float = 1.0
    kind: Literal["", "fast", "exact"] = ""
    text: str = "anything"


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        *(({"count": value}, "use a whole number of at least 2") for value in (1, 2.0, True, "3", None)),
        *(
            ({"closed": value}, "use a number from 0 to 1")
            for value in (-0.1, 1.1, float("nan"), "0.5", True)
        ),
        *(({"open": value}, "use a number between 0 and 1") for value in (0, 1)),
        *(({"mixed": value}, "use a number above 0 and at most 1") for value in (0.0, 1.1)),
        *(({"half": value}, "use a number of at least 0 and below 1") for value in (-0.1, 1.0)),
        *(({"above": value}, "use a number above 0") for value in (0, float("inf"))),
        ({"free": float("nan")}, "use a number"),
        ({"kind": "slow"}, "use fast or exact"),
    ],
)
def test_a_value_outside_its_range_is_refused(refused: dict[str, Any], message: str) -> None:
    ((name, value),) = refused.items()
    with pytest.raises(ConfigError) as error:
        Bounded(**refused)
    assert str(error.value) == f"{name}={value!r}: {message}"


@pytest.mark.parametrize(
    "allowed",
    [
        {"count": 2},
        {"count": np.int64(3)},
        {"closed": 0},
        {"closed": 1},
        {"mixed": 1},
        {"half": 0},
        {"kind": "exact"},
    ],
)
def test_the_edge_of_a_range_is_allowed(allowed: dict[str, Any]) -> None:
    ((name, value),) = allowed.items()
    assert getattr(Bounded(**allowed), name) == value


def test_a_bound_may_follow_from_another_field() -> None:
    check_at_least(Bounded(count=3), "count", 3)
    with pytest.raises(ConfigError, match="count=3: use a whole number of at least 1,000"):
        check_at_least(Bounded(count=3), "count", 1000)


def test_the_command_line_reads_the_default_of_a_bounded_field() -> None:
    assert Bounded().count == 2
