"""JSON from strangers: what other programs may read differently, or not at all, is refused."""

import json
import math
from typing import Any

from eventcargo.errors import shortened
from eventcargo.service.problems import Problem, unusable
from eventcargo.typed import show

LONGEST_NUMBER = 40
"""Characters of a number; a float64 never needs more than 24."""


def parse_strictly(body: bytes) -> Any:
    """What a body of JSON says.

    Refuses other encodings than UTF-8, names that occur twice in an object, NaN, infinity, numbers beyond a
    float64, and deep nesting.

    >>> parse_strictly(b'{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    >>> parse_strictly(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    eventcargo.service.problems.Problem: the name 'a' occurs twice in an object; give it once
    """
    try:
        return json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_int,
        )
    except UnicodeDecodeError as error:
        raise unusable(f"the request is not UTF-8 text: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise unusable(f"the request is not JSON: {error}") from None
    except RecursionError:
        raise unusable("the request is nested too deeply; sequences need five levels") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise unusable(f"the name {show(twice)} occurs twice in an object; give it once")
    return content


def _constant(name: str) -> Any:
    raise unusable(f"{name} is no number of JSON; use finite numbers, or null")


def _float(digits: str) -> float:
    number = float(digits) if len(digits) <= LONGEST_NUMBER else math.inf
    if not math.isfinite(number):
        raise _out_of_range(digits)
    return number


def _int(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise _out_of_range(digits)
    return int(digits)


def _out_of_range(digits: str) -> Problem:
    shown = shortened(digits, LONGEST_NUMBER)
    return unusable(f"the number {shown} is too large or too long; use numbers that a float64 holds")
