"""Make command-line options from the fields of config dataclasses: names, types, defaults and help."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from eventcargo.config import field_help


def with_options(*configs: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate `command(..., config, ...)`: fill its last parameters, one per config, from options.

    There is one option per field. A field of several configs, such as the seed, is one option for all.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        every = list(inspect.signature(command, eval_str=True).parameters.values())
        own, last = every[: -len(configs)], [one.name for one in every[-len(configs) :]]

        def run(**values: Any) -> None:
            settings = [{one.name: _settled(values[one.name]) for one in fields(c)} for c in configs]
            rest = {one.name: values[one.name] for one in own}
            built = {name: c(**given) for name, c, given in zip(last, configs, settings, strict=True)}
            command(**rest, **built)

        options = {option.name: option for config in reversed(configs) for option in _options(config)}
        names = dict.fromkeys(one.name for config in configs for one in fields(config))
        parameters = [*own, *(options[name] for name in names)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        run.__doc__, run.__name__ = command.__doc__, command.__name__
        return run

    return decorate


def _options(config: type[Any]) -> list[inspect.Parameter]:
    kinds, texts = get_type_hints(config), field_help(config)
    panel = getattr(config, "panel", None)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=list(field.default) if isinstance(field.default, tuple) else field.default,
            annotation=Annotated[
                _plain(kinds[field.name]),
                typer.Option(
                    *_flag(field.name),
                    help=as_sentence(texts[field.name]),
                    rich_help_panel=panel,
                    autocompletion=completing(_choices(kinds[field.name])),
                ),
            ],
        )
        for field in fields(config)
    ]


def completing(choices: Sequence[str]) -> Callable[[str], list[str]] | None:
    """A function that tells a shell which of some choices begin with a text; None without choices.

    >>> completing(["fast", "paper"])("p")
    ['paper']
    """
    if not choices:
        return None

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


def _choices(kind: Any) -> list[str]:
    """The choices of a field that are not empty."""
    return [choice for choice in get_args(kind) if choice] if get_origin(kind) is Literal else []


def _flag(name: str) -> list[str]:
    """The option of a field that already says no, which needs no `--no-no-...` beside it."""
    return [f"--{name.replace('_', '-')}"] if name.startswith("no_") else []


def as_sentence(text: str) -> str:
    """Help text with a capital letter and a full stop; a leading `choice:` keeps its case.

    >>> as_sentence("number of labels")
    'Number of labels.'
    """
    is_choice = text.split(maxsplit=1)[0].endswith(":")
    start = text[0] if is_choice else text[0].upper()
    return start + text[1:] + ("" if text.endswith(".") else ".")


def _plain(kind: Any) -> Any:
    """The type that parses an option; the config checks choices, with a message that lists them."""
    if get_origin(kind) is Literal:
        return type(get_args(kind)[0])
    if get_origin(kind) is tuple:
        return list[get_args(kind)[0]]  # type: ignore[misc]  # an option that may be repeated
    return kind


def _settled(value: Any) -> Any:
    """A repeated option as a config holds it."""
    return tuple(value) if isinstance(value, list) else value
