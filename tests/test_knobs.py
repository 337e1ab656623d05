from dataclasses import dataclass

from eventcargo.knobs import knob_help


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
    assert knob_help(Parent) == {"size": "how large"}


def test_a_child_replaces_the_help_of_its_parent_on_one_line() -> None:
    assert knob_help(Child) == {"size": "how large, in metres"}
