"""Make command-line options from the fields of a config dataclass: names, types, defaults and help."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from eventcargo.config import field_help


def with_options(config: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate `command(..., config)`: fill its last parameter from one option per field of `config`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[:-1]

        def run(**values: Any) -> None:
            settings = {field.name: values.pop(field.name) for field in fields(config)}
            command(**values, **{last: config(**settings)})

        last = list(inspect.signature(command).parameters)[-1]
        parameters = [*own, *_options(config)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        run.__doc__, run.__name__ = command.__doc__, command.__name__
        return run

    return decorate


def _options(config: type[Any]) -> list[inspect.Parameter]:
    kinds, texts = get_type_hints(config), field_help(config)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=Annotated[
                _plain(kinds[field.name]),
                typer.Option(*_flag(field.name), help=as_sentence(texts[field.name])),
            ],
        )
        for field in fields(config)
    ]


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
    return type(get_args(kind)[0]) if get_origin(kind) is not None else kind
