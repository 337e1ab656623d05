"""Find the bad values of a list, for parsers that do not report their positions."""

from collections.abc import Callable
from typing import Any


def failures(parse: Callable[[Any], Any], values: Any, errors: tuple[type[Exception], ...]) -> list[int]:
    """Positions of all values that `parse` refuses, by bisection.

    >>> failures(lambda words: [int(word) for word in words], ["1", "x", "3", "y"], (ValueError,))
    [1, 3]
    """
    if parses(parse, values, errors):
        return []
    if len(values) == 1:
        return [0]
    middle = len(values) // 2
    later = failures(parse, values[middle:], errors)
    return failures(parse, values[:middle], errors) + [middle + position for position in later]


def parses(parse: Callable[[Any], Any], values: Any, errors: tuple[type[Exception], ...]) -> bool:
    """Whether `parse` accepts the values."""
    try:
        parse(values)
    except errors:
        return False
    return True
