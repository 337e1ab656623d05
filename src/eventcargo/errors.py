"""The errors and warnings of this package, and how their messages count things and name arguments.

A message says what is wrong, the value, what is allowed and what to do. The command line prints it and exits
with 1. A message that names an argument makes it with `argument`, so that it speaks of `max_time="2h"` in
Python and of `--max-time 2h` on the command line.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any


class EventCargoError(Exception):
    """Base of all errors this package raises on purpose."""


class DataError(EventCargoError, ValueError):
    """The data cannot be used as they are."""


class ConfigError(EventCargoError, ValueError):
    """A setting is outside its allowed range."""


class WriteError(EventCargoError, OSError):
    """A file cannot be written: the disk is full, the folder is read-only, too many files are open."""


class EventCargoWarning(UserWarning):
    """The work continues, but something was left out or looks wrong; the message gives the count."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun in the right number.

    >>> counted(1, "sequence"), counted(2_000, "sequence"), counted(0, "boundary", "boundaries")
    ('1 sequence', '2,000 sequences', '0 boundaries')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


UNSET = object()
"""No value: the argument alone."""


LONGEST_VALUE = 200
"""Characters of a value in a message."""


def shown_value(value: Any, longest: int = LONGEST_VALUE) -> str:
    """A value as messages show it: what Python writes, in short.

    >>> shown_value("a" * 300, 5), shown_value(10**5000)
    ("'aaaa...", 'a number with thousands of digits')
    """
    try:
        text = repr(value)
    except ValueError:  # Python does not write such an integer
        text = "a number with thousands of digits"
    return shortened(text, longest)


def shortened(text: str, longest: int = LONGEST_VALUE) -> str:
    """A text, or its beginning.

    >>> shortened("abcdef", 3)
    'abc...'
    """
    return text if len(text) <= longest else f"{text[:longest]}..."


def as_keyword(name: str, value: Any) -> str:
    """An argument as written in Python."""
    return f"{name}=" if value is UNSET else f"{name}={shown_value(value)}"


_show_argument: Callable[[str, Any], str] = as_keyword


def argument(name: str, value: Any = UNSET) -> str:
    """An argument, with its value if given, in the words of the surface: Python or the command line.

    >>> argument("max_time", "2h"), argument("labels")
    ("max_time='2h'", 'labels=')
    """
    return _show_argument(name, value)


@contextmanager
def arguments_shown_by(show: Callable[[str, Any], str]) -> Iterator[None]:
    """Let messages name arguments with `show(name, value)`; the command line shows options."""
    global _show_argument  # noqa: PLW0603 (a program has one surface)
    before, _show_argument = _show_argument, show
    try:
        yield
    finally:
        _show_argument = before


def did_you_mean(name: str, allowed: list[str]) -> str:
    """The allowed name that is most like an unknown one, or "".

    >>> did_you_mean("Event_Type", ["event_type", "time"]), did_you_mean("x", ["time"])
    ('event_type', '')
    """
    spelled = {other.casefold(): other for other in reversed(allowed)}
    close = get_close_matches(name.casefold(), spelled, n=1)
    return spelled[close[0]] if close else ""


def warn(message: str) -> None:
    """Warn at the line outside this package that called it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "eventcargo":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, EventCargoWarning, stacklevel=level)
