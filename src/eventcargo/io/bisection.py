"""Where a list of values goes wrong, for parsers that do not say it."""

from collections.abc import Callable
from typing import Any


def first_failure(parse: Callable[[Any], Any], values: Any, errors: tuple[type[Exception], ...]) -> int:
    """Position of the first value that `parse` refuses, by halving; it must refuse all of them together."""
    good, bad = 0, len(values)
    while bad - good > 1:
        middle = (good + bad) // 2
        if parses(parse, values[:middle], errors):
            good = middle
        else:
            bad = middle
    return good


def parses(parse: Callable[[Any], Any], values: Any, errors: tuple[type[Exception], ...]) -> bool:
    """Whether `parse` takes the values."""
    try:
        parse(values)
    except errors:
        return False
    return True
