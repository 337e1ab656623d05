"""Values from outside, such as those of a JSON file, checked against the types that the code expects."""

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from eventcargo.errors import DataError, shown_value

WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", type(None): "null"}
SHOWN = 60
"""Characters of a value in a message."""


def parse_as(kind: Any, value: Any, where: str) -> Any:
    """A value of JSON as a Python type: plain types, lists, tuples, mappings, unions and dataclasses.

    >>> parse_as(dict[str, tuple[int, ...]], {"a": [1, 2]}, "sizes")
    {'a': (1, 2)}
    >>> parse_as(dict[str, int], {"a": "x"}, "sizes")
    Traceback (most recent call last):
    eventcargo.errors.DataError: sizes.a is 'x', not a whole number
    """
    if kind is Any:
        return value
    if is_dataclass(kind):
        return _dataclass(kind, value, where)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _one_of(inner, value, where)
    if origin is Literal:
        _check(any(value == one and type(value) is type(one) for one in inner), value, where, _any_of(inner))
        return value
    if origin in (list, Sequence):
        return [parse_as(inner[0], one, f"{where}[{at}]") for at, one in enumerate(_listed(value, where))]
    if origin is tuple:
        return _tuple(inner, value, where)
    if origin in (dict, Mapping):
        _check(isinstance(value, Mapping), value, where, "an object")
        return {name: parse_as(inner[1], one, f"{where}.{name}") for name, one in value.items()}
    _check(_is_plain(kind, value), value, where, WORDS.get(kind, str(kind)))
    return value


def show(value: Any) -> str:
    """A value in short."""
    return shown_value(value, SHOWN)


def is_text(value: str) -> bool:
    """Whether a text can be written: half a surrogate pair cannot.

    >>> is_text("ü"), is_text(chr(0xD800))
    (True, False)
    """
    return not any("\ud800" <= sign <= "\udfff" for sign in value)


def _is_plain(kind: Any, value: Any) -> bool:
    if kind is float:
        return isinstance(value, float) or (type(value) is int and abs(value) < 2**1023)
    if kind is str:
        return isinstance(value, str) and is_text(value)
    return isinstance(value, kind) and (kind is not int or (type(value) is int and abs(value) < 2**63))


def _check(holds: bool, value: Any, where: str, expected: str) -> None:
    if not holds:
        raise DataError(f"{where} is {show(value)}, not {expected}")


def _any_of(kinds: Sequence[Any]) -> str:
    words = [WORDS.get(kind, show(kind)) for kind in kinds]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _listed(value: Any, where: str) -> Sequence[Any]:
    _check(isinstance(value, list | tuple), value, where, "a list")
    return value


def _tuple(inner: Sequence[Any], value: Any, where: str) -> tuple[Any, ...]:
    listed = _listed(value, where)
    if inner[1:] == (...,):
        return tuple(parse_as(inner[0], one, f"{where}[{at}]") for at, one in enumerate(listed))
    _check(len(listed) == len(inner), value, where, f"a list of {len(inner)}")
    return tuple(
        parse_as(kind, one, f"{where}[{at}]")
        for at, (kind, one) in enumerate(zip(inner, listed, strict=True))
    )


def _one_of(kinds: Sequence[Any], value: Any, where: str) -> Any:
    """The value as the first kind that takes it; if none does, the reason of the first that is not plain."""
    refusals = []
    for kind in kinds:
        try:
            return parse_as(kind, value, where)
        except DataError as refusal:
            refusals.append((kind in WORDS or value is None, refusal))
    odd = [refusal for is_plain, refusal in refusals if not is_plain]
    if odd:
        raise odd[0]
    raise DataError(f"{where} is {show(value)}, not {_any_of(kinds)}")


def _dataclass(kind: Any, value: Any, where: str) -> Any:
    _check(isinstance(value, Mapping), value, where, "an object")
    known, hints = {one.name: one for one in fields(kind) if one.init}, _hints(kind)
    unknown = sorted(map(str, value.keys() - known.keys()))
    if unknown:
        raise DataError(f"{where} has the unknown entry {show(unknown[0])}")
    missing = [n for n, one in known.items() if one.default is MISSING and one.default_factory is MISSING]
    for name in missing:
        if name not in value:
            raise DataError(f"{where} has no entry {name!r}")
    return kind(**{name: parse_as(hints[name], one, f"{where}.{name}") for name, one in value.items()})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
