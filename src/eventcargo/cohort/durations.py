"""Durations as text (`30d`, `12h`) and look-backs, which may also be a number of events (`500 events`)."""

import math
import re
from dataclasses import dataclass

from eventcargo.errors import ConfigError

SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
PATTERN = re.compile(r"\s*(\d+(?:\.\d*)?)\s*(ms|s|min|h|d|w|)\s*")
EVENTS = re.compile(r"\s*(\d+)\s*events?\s*")
UNITS = "ms, s, min, h, d or w"


@dataclass(frozen=True)
class Lookback:
    """How far a sequence reaches back: a time, a number of events, or neither (all)."""

    time: float = math.inf
    events: int | None = None


def check_duration(name: str, text: str) -> None:
    """Refuse a text that is no duration."""
    if not PATTERN.fullmatch(text):
        raise ConfigError(f"{name}={text!r}: use a number, or a number with {UNITS}, such as 30d")


def check_lookback(text: str) -> None:
    """Refuse a text that is neither a duration nor a number of events, and nothing."""
    events = EVENTS.fullmatch(text)
    if events and int(events[1]) == 0:
        raise ConfigError(f"lookback={text!r}: use at least 1 event")
    if text and not events and not PATTERN.fullmatch(text):
        raise ConfigError(f"lookback={text!r}: use a duration such as 30d, or a number such as '500 events'")


def parse_duration(name: str, text: str, time_kind: str) -> float:
    """A duration in the unit of the times: seconds for dates, the number itself for numbers.

    >>> parse_duration("gap", "2d", "datetime"), parse_duration("gap", "5", "number")
    (172800.0, 5.0)
    """
    check_duration(name, text)
    match = PATTERN.fullmatch(text)
    assert match is not None
    number, unit = float(match[1]), match[2]
    if number == 0:
        return 0.0
    if unit and time_kind == "number":
        raise ConfigError(
            f"{name}={text!r}: the times are plain numbers; give {name} as a number in their unit"
        )
    if not unit and time_kind == "datetime":
        raise ConfigError(
            f"{name}={text!r}: the times are dates; add a unit, {UNITS}, such as {text.strip()}d"
        )
    return number * SECONDS.get(unit, 1.0)


def parse_lookback(text: str, time_kind: str) -> Lookback:
    """A look-back: everything, a duration or a number of events.

    >>> parse_lookback("500 events", "number").events, parse_lookback("1h", "datetime").time
    (500, 3600.0)
    """
    if not text:
        return Lookback()
    events = EVENTS.fullmatch(text)
    if events:
        return Lookback(events=int(events[1]))
    return Lookback(time=parse_duration("lookback", text, time_kind))
