import inspect
from dataclasses import dataclass
from typing import Literal, get_args

import pytest

from eventcargo.cli.options import as_sentence, with_options


@dataclass(frozen=True)
class Config:
    size: int = 3
    "How large."
    share: float = 0.5
    "How much."


def test_every_field_becomes_an_option_with_its_default_and_help() -> None:
    @with_options(Config)
    def command(name: str, config: Config) -> None: ...

    parameters = inspect.signature(command).parameters
    assert list(parameters) == ["name", "size", "share"]
    assert parameters["size"].default == 3
    assert parameters["size"].annotation.__metadata__[0].help == "How large."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("how large", "How large."), ("How large.", "How large."), ("one: a; two: b", "one: a; two: b.")],
)
def test_the_help_of_an_option_is_a_sentence_but_a_choice_keeps_its_case(text: str, sentence: str) -> None:
    assert as_sentence(text) == sentence


def test_the_command_gets_the_config_built_from_its_options() -> None:
    seen = []

    @with_options(Config)
    def command(name: str, config: Config) -> None:
        seen.append((name, config))

    command(name="a", size=9, share=0.1)
    assert seen == [("a", Config(9, 0.1))]


@dataclass(frozen=True)
class Choice:
    kind: Literal["one", "two"] = "one"
    "Which."


def test_a_choice_is_parsed_as_text_so_that_the_config_refuses_it() -> None:
    @with_options(Choice)
    def command(config: Choice) -> None: ...

    assert get_args(inspect.signature(command).parameters["kind"].annotation)[0] is str


def test_the_command_keeps_its_name_and_help() -> None:
    @with_options(Config)
    def command(config: Config) -> None:
        """Does it."""

    assert (command.__name__, command.__doc__) == ("command", "Does it.")


@dataclass(frozen=True)
class Other:
    size: int = 4
    "How large, too."
    names: tuple[str, ...] = ()
    "Which; repeat for more."


def test_several_configs_are_filled_and_share_the_options_they_both_have() -> None:
    seen = []

    @with_options(Config, Other)
    def command(name: str, config: Config, other: Other) -> None:
        seen.append((name, config, other))

    assert list(inspect.signature(command).parameters) == ["name", "size", "share", "names"]
    assert inspect.signature(command).parameters["size"].default == 3
    command(name="a", size=9, share=0.1, names=["x", "y"])
    assert seen == [("a", Config(9, 0.1), Other(9, ("x", "y")))]


def test_a_tuple_is_an_option_that_may_be_repeated() -> None:
    @with_options(Other)
    def command(config: Other) -> None: ...

    assert get_args(inspect.signature(command).parameters["names"].annotation)[0] == list[str]
