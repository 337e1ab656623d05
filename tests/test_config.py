from dataclasses import dataclass

from eventcargo.config import field_help


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
