"""Settings: a frozen dataclass per stage whose fields declare their range, and the help string of each field.

A range is written once, beside the field it bounds, in pydantic's words (ge, gt, le, lt). The help string is
the text that follows the field; the command line makes its options from both.
"""

import ast
import inspect
import math
import textwrap
from dataclasses import field, fields
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, get_args, get_origin, get_type_hints

from eventcargo.errors import ConfigError, DataError, argument
from eventcargo.typed import WORDS, parse_as


def setting(
    default: Any,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
) -> Any:
    """A dataclass field with a default and the range of its values: at least, above, at most, below."""
    return field(default=default, metadata={"range": (ge, gt, le, lt)})


LARGEST = 2**63 - 1
"""The largest whole number of a setting."""


class Settings:
    """Base of all config dataclasses: refuses a value outside its field's type, choices or range.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class ExampleConfig(Settings):
    ...     share: float = setting(0.5, gt=0, le=1)
    ...     kind: Literal["fast", "exact"] = "fast"
    >>> ExampleConfig(share=1.0).share
    1.0
    >>> ExampleConfig(share=0)
    Traceback (most recent call last):
    eventcargo.errors.ConfigError: share=0: use a number above 0 and at most 1
    >>> ExampleConfig(kind="slow")
    Traceback (most recent call last):
    eventcargo.errors.ConfigError: kind='slow': use fast or exact
    """

    def __post_init__(self) -> None:
        types = get_type_hints(type(self))
        for one in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, one.name)
            bounds = one.metadata.get("range", (None,) * 4)
            if not _is_allowed(value, types[one.name], bounds):
                raise ConfigError(f"{argument(one.name, value)}: use {_allowed(types[one.name], bounds)}")


def check_at_least(config: Settings, name: str, least: int) -> None:
    """Refuse a field below a bound that follows from other fields."""
    value = getattr(config, name)
    if value < least:
        raise ConfigError(f"{argument(name, value)}: use a whole number of at least {least:,}")


def _is_allowed(value: Any, kind: Any, bounds: tuple[float | None, ...]) -> bool:
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if kind not in (int, float):
        return _is_of(value, kind)
    if isinstance(value, bool) or not isinstance(value, Integral if kind is int else Real):
        return False
    if isinstance(value, Integral) and abs(int(value)) > LARGEST:
        return False
    ge, gt, le, lt = bounds
    number = float(value)
    return (
        math.isfinite(number)
        and (ge is None or number >= ge)
        and (gt is None or number > gt)
        and (le is None or number <= le)
        and (lt is None or number < lt)
    )


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is text, a flag or a list of such, as a field's type says."""
    try:
        parse_as(kind, value, "")
    except DataError:
        return False
    return True


def _allowed(kind: Any, bounds: tuple[float | None, ...]) -> str:
    """The range of a field in words."""
    if get_origin(kind) is Literal:
        return _choices([str(choice) for choice in get_args(kind) if choice != ""])
    if get_origin(kind) is tuple:
        return f"a list, each {WORDS.get(get_args(kind)[0], 'of its kind')}"
    if kind not in (int, float):
        return WORDS.get(kind, "another value")
    ge, gt, le, lt = bounds
    noun = "a whole number" if kind is int else "a number"
    low = f"of at least {ge:,g}" if ge is not None else f"above {gt:,g}" if gt is not None else ""
    high = f"at most {le:,g}" if le is not None else f"below {lt:,g}" if lt is not None else ""
    if ge is not None and le is not None:
        return f"{noun} from {ge:,g} to {le:,g}"
    if gt is not None and lt is not None:
        return f"{noun} between {gt:,g} and {lt:,g}"
    return f"{noun} {' and '.join(filter(None, (low, high)))}".strip()


def _choices(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def field_help(config: type[Any]) -> dict[str, str]:
    """What each field of a config dataclass means, inherited ones included, in the order of the fields.

    >>> from eventcargo.simulation.ordered import OrderedConfig
    >>> field_help(OrderedConfig)["event_types"]
    'number of event types, causes included'
    """
    texts: dict[str, str] = {}
    for owner in reversed(config.__mro__[:-1]):
        texts |= _texts_in(owner)
    return {one.name: texts[one.name] for one in fields(config) if one.name in texts}


@cache  # the base of several configs is read once
def _texts_in(owner: type[Any]) -> dict[str, str]:
    """The strings that directly follow a field in the source of one class."""
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
