"""Patterns: names, globs and regular expressions, and the names of a data set that they stand for."""

import fnmatch
import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, EventCargoWarning

Ints = NDArray[np.int64]

REGEX = "re:"
"""How a pattern that is a regular expression begins."""


def check_patterns(given: Any, where: str) -> tuple[str, ...]:
    """One or several patterns as a tuple; what is none is refused with the place it was found at.

    >>> check_patterns("P0A*", "forbidden")
    ('P0A*',)
    """
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, Sequence) or not listed:
        raise ConfigError(f"{where} has {given!r}; use a name, a pattern or a list of them")
    for pattern in listed:
        _check_pattern(pattern, where)
    return tuple(listed)


def _check_pattern(pattern: Any, where: str) -> None:
    if not isinstance(pattern, str) or not pattern:
        raise ConfigError(f"{where} has {pattern!r}, which is no text; use names and patterns in quotes")
    if pattern.startswith(REGEX):
        try:
            re.compile(pattern[len(REGEX) :])
        except re.error as error:
            raise ConfigError(f"{where} has {pattern!r}, which is no regular expression: {error}") from None


class Names:
    """The names of labels or event types, to be found by patterns.

    >>> Names("event type", ["P01", "P02", "U03"]).match("P*", "forbidden").tolist()
    [0, 1]
    """

    def __init__(self, kind: str, names: Sequence[str]) -> None:
        self.kind, self.names = kind, names
        self._numbers = {name: i for i, name in enumerate(names)}
        self._found: dict[str, Ints] = {}

    def __len__(self) -> int:
        return len(self.names)

    def match(self, pattern: str, where: str) -> Ints:
        """Numbers of the names; a text that is itself one of them stands for it alone."""
        if pattern in self._numbers:
            return np.array([self._numbers[pattern]], np.int64)
        if not _is_pattern(pattern):
            raise ConfigError(
                f"{where} has the {self.kind} {pattern!r}, which is not among the {len(self):,} of the data; "
                "correct it, or use a pattern, which may match nothing"
            )
        if pattern not in self._found:
            matches = _compiled(pattern).fullmatch
            found = [number for number, name in enumerate(self.names) if matches(name)]
            self._found[pattern] = np.array(found, np.int64)
        return self._found[pattern]

    def report(self) -> None:
        """Warn of the patterns that matched nothing."""
        empty = [pattern for pattern, found in self._found.items() if not len(found)]
        if empty:
            warnings.warn(
                f"{len(empty):,} of {len(self._found):,} patterns for the {self.kind} match nothing; "
                f"the first is {empty[0]!r}",
                EventCargoWarning,
                stacklevel=2,
            )


def _is_pattern(text: str) -> bool:
    return text.startswith(REGEX) or any(letter in text for letter in "*?[")


def _compiled(pattern: str) -> re.Pattern[str]:
    if pattern.startswith(REGEX):
        return re.compile(pattern[len(REGEX) :])
    return re.compile(fnmatch.translate(pattern))
