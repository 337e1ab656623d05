"""The help string of every knob, read from the source of its config: the one place where it is written."""

import ast
import inspect
import textwrap
from dataclasses import fields
from typing import Any


def field_help(config: type[Any]) -> dict[str, str]:
    """What each field of a config dataclass means, inherited ones included, in the order of the fields.

    >>> from eventcargo.simulate.ordered import OrderedConfig
    >>> field_help(OrderedConfig)["event_types"]
    'number of event types, causes included'
    """
    found: dict[str, str] = {}
    for owner in reversed(config.__mro__[:-1]):
        found |= _written_in(owner)
    return {field.name: found[field.name] for field in fields(config) if field.name in found}


def _written_in(owner: type[Any]) -> dict[str, str]:
    """Strings that follow a field directly in the source of one class."""
    definition = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    assert isinstance(definition, ast.ClassDef)
    return {
        line.target.id: " ".join(after.value.value.split())
        for line, after in zip(definition.body, definition.body[1:], strict=False)
        if isinstance(line, ast.AnnAssign)
        and isinstance(line.target, ast.Name)
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
        and isinstance(after.value.value, str)
    }
