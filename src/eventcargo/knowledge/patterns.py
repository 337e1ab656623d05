"""Patterns: names, globs and regular expressions, and the names of a data set that they match.

Regular expressions are those of RE2, which takes time in proportion to the text whatever the expression: no
pattern in a file can stop a run.
"""

import fnmatch
import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, EventCargoWarning, counted, shown_value
from eventcargo.typed import is_text

Ints = NDArray[np.int64]

LONGEST = 1_000
"""Characters of a pattern."""

REGEX = "re:"
"""Prefix of a pattern that is a regular expression."""


def check_patterns(given: Any, where: str) -> tuple[str, ...]:
    """One or several patterns as a tuple; an error names `where` a value is not a pattern.

    >>> check_patterns("P0A*", "forbidden")
    ('P0A*',)
    """
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, Sequence) or not listed:
        raise ConfigError(f"{where} has {shown_value(given)}; use a name, a pattern or a list of them")
    for pattern in listed:
        _check_pattern(pattern, where)
    return tuple(listed)


def _check_pattern(pattern: Any, where: str) -> None:
    if not isinstance(pattern, str) or not pattern:
        raise ConfigError(
            f"{where} has {shown_value(pattern)}, which is not a name; put names and patterns in quotes"
        )
    if not is_text(pattern):
        raise ConfigError(f"{where} has {shown_value(pattern)}, which is not valid Unicode; correct it")
    if len(pattern) > LONGEST:
        raise ConfigError(
            f"{where} has {shown_value(pattern, 60)}, a pattern of {len(pattern):,} characters; use at most "
            f"{LONGEST:,}"
        )
    if pattern.startswith(REGEX):
        _check_expression(pattern, where)


def _check_expression(pattern: str, where: str) -> None:
    import pyarrow as pa

    try:
        _search([""], pattern[len(REGEX) :])
    except pa.ArrowException as error:
        reason = str(error).removeprefix("Invalid regular expression: ")
        raise ConfigError(
            f"{where} has {shown_value(pattern)}, which is not a regular expression of RE2: {reason}"
        ) from None


def _search(names: Sequence[str], expression: str) -> NDArray[np.bool_]:
    """The names in which an expression is found, by Arrow, which has RE2."""
    import pyarrow as pa
    import pyarrow.compute as pc

    matched = pc.match_substring_regex(pa.array(names, pa.large_string()), expression)
    return np.asarray(matched.to_numpy(zero_copy_only=False), bool)


class Names:
    """The names of labels or event types, to match with patterns.

    >>> Names("event type", ["P01", "P02", "U03"]).match("P*", "forbidden").tolist()
    [0, 1]
    """

    def __init__(self, kind: str, names: Sequence[str]) -> None:
        self.kind, self.names = kind, names
        self._numbers = {name: i for i, name in enumerate(names)}
        self._matches: dict[str, Ints] = {}

    def __len__(self) -> int:
        return len(self.names)

    def match(self, pattern: str, where: str) -> Ints:
        """Numbers of the names that a pattern matches; a text that is a name matches that name alone."""
        if pattern in self._numbers:
            return np.array([self._numbers[pattern]], np.int64)
        if not _is_pattern(pattern):
            raise ConfigError(
                f"{where} has the {self.kind} {pattern!r}, which is not among the {len(self):,} in the data; "
                "correct it, or use a pattern, which may match nothing"
            )
        if pattern not in self._matches:
            self._matches[pattern] = np.flatnonzero(_matches(pattern, self.names)).astype(np.int64)
        return self._matches[pattern]

    def report(self) -> None:
        """Warn of the patterns that matched nothing."""
        empty = [pattern for pattern, numbers in self._matches.items() if not len(numbers)]
        if empty:
            warnings.warn(
                f"nothing matches {len(empty):,} of {counted(len(self._matches), f'{self.kind} pattern')}, "
                f"the first: {empty[0]!r}",
                EventCargoWarning,
                stacklevel=2,
            )


def _is_pattern(text: str) -> bool:
    return text.startswith(REGEX) or any(letter in text for letter in "*?[")


def _matches(pattern: str, names: Sequence[str]) -> NDArray[np.bool_]:
    """Which names a pattern matches as a whole."""
    if pattern.startswith(REGEX):
        return _search(names, rf"\A(?:{pattern[len(REGEX) :]})\z")
    matches = re.compile(fnmatch.translate(pattern)).match
    return np.array([matches(name) is not None for name in names], bool)
