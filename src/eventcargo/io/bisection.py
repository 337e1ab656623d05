"""Find the first bad value of a list, for parsers that do not report its position."""

from collections.abc import Callable
from typing import Any


def first_failure(parse: Callable[[Any], Any], values: Any, errors: tuple[type[Exception], ...]) -> int:
    """Position of the first value that `parse` refuses, by bisection; `parse` must refuse the whole list."""
    good, bad = 0, len(values)
    while bad - good > 1:
        middle = (good + bad) // 2
        if parses(parse, values[:middle], errors):
            good = middle
        else:
            bad = middle
    return good


def parses(parse: Callable[[Any], Any], values: Any, errors: tuple[type[Exception], ...]) -> bool:
    """Whether `parse` accepts the values."""
    try:
        parse(values)
    except errors:
        return False
    return True
