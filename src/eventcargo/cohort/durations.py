"""Durations in the unit of the times, and look-backs, which may also be a number of events (`500 events`)."""

import math
import re
from dataclasses import dataclass

from eventcargo.durations import parse_duration as parse_seconds
from eventcargo.errors import ConfigError, argument

EVENTS = re.compile(r"\s*(\d+)\s*events?\s*")


@dataclass(frozen=True)
class Lookback:
    """How far a sequence reaches back: a time, a number of events, or neither (all)."""

    time: float = math.inf
    events: int | None = None


def check_duration(name: str, text: str) -> None:
    """Refuse a text that is no duration."""
    parse_seconds(text, name, allow_zero=True)


def check_lookback(text: str) -> None:
    """Refuse a text that is neither a duration nor a number of events, and nothing."""
    events = EVENTS.fullmatch(text)
    if events and int(events[1]) == 0:
        raise ConfigError(f"{argument('lookback', text)}: use at least 1 event")
    if text and not events:
        try:
            parse_seconds(text, "lookback")
        except ConfigError:
            raise ConfigError(
                f"{argument('lookback', text)}: use a duration such as 30d, or a number such as '500 events'"
            ) from None


def parse_duration(name: str, text: str, time_kind: str) -> float:
    """A duration in the unit of the times: seconds for dates, the number itself for numbers.

    >>> parse_duration("gap", "2d", "datetime"), parse_duration("gap", "5", "number")
    (172800.0, 5.0)
    """
    number, has_unit = parse_seconds(text, name, allow_zero=True), any(sign.isalpha() for sign in text)
    if number and has_unit and time_kind == "number":
        raise ConfigError(f"{argument(name, text)}: the times are plain numbers; give a number in their unit")
    if number and not has_unit and time_kind == "datetime":
        raise ConfigError(f"{argument(name, text)}: the times are dates; add a unit, such as {text.strip()}d")
    return number


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
