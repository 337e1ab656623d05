"""Durations as text, such as 90s, 1h30m, 2d or 500ms."""

import math
import re
from collections.abc import Mapping
from typing import Any

from eventcargo.errors import ConfigError, argument

SECONDS = {"w": 604_800.0, "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
"""Seconds of every unit, the longest first, which is also their order in a text."""

PARTS = re.compile("".join(rf"(?:(\d+(?:\.\d+)?){unit})?" for unit in SECONDS))


def parse_duration(text: str, name: str, allow_zero: bool = False) -> float:
    """Seconds of a duration; a number alone means seconds. `name` is the argument that gives it.

    >>> [parse_duration(text, "max_time") for text in ("1h30m", "1.5h", "90min", "90")]
    [5400.0, 5400.0, 5400.0, 90.0]
    >>> parse_duration("soon", "max_time")
    Traceback (most recent call last):
    eventcargo.errors.ConfigError: max_time='soon': use a duration such as 90s, 1h30m, 2d or 500ms
    """
    words = re.sub(r"(?<=[a-z]) +(?=\d)", "", text.strip()).replace("min", "m")
    match = PARTS.fullmatch(words if re.search("[a-z]", words) else f"{words}s")
    parts = [] if match is None else [float(part or 0) for part in match.groups()]
    seconds = sum(part * unit for part, unit in zip(parts, SECONDS.values(), strict=False))
    if not words or not parts or (seconds == 0 and not allow_zero):
        raise ConfigError(f"{argument(name, text)}: use a duration such as 90s, 1h30m, 2d or 500ms")
    return seconds


def rounded_up(seconds: float) -> str:
    """A duration to allow for work of so many seconds, as people would give it.

    >>> rounded_up(3.2), rounded_up(31.0), rounded_up(700.0)
    ('4s', '35s', '12m')
    """
    step = 1 if seconds < 10 else 5 if seconds < 120 else 60
    return show_duration(step * math.ceil(seconds / step))


def show_duration(seconds: float) -> str:
    """A duration as the shortest text that `parse_duration` reads, to the millisecond.

    >>> show_duration(5400), show_duration(0.5), show_duration(694_861), show_duration(0)
    ('1h30m', '500ms', '1w1d1h1m1s', '0s')
    """
    left, parts = round(seconds * 1000), []
    for unit, size in SECONDS.items():
        count, left = divmod(left, round(size * 1000))
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def has_more_time(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether settings allow more time than earlier ones did.

    >>> has_more_time({"max_time": "30m"}, {"max_time": "1h"}), has_more_time({"max_time": ""}, {})
    (True, False)
    """
    limits = [settings.get("max_time") for settings in (before, now)]
    if not all(limits):
        return False
    least, most = (parse_duration(str(limit), "max_time") for limit in limits)
    return most > least
