"""Literal: one condition on a sequence, such as `A`, `!A`, `A >= 3 times` or `A before B`."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import DataError, counted
from eventcargo.features import last_after, more, state, subsequence
from eventcargo.rules.occurrences import Occurrences
from eventcargo.typed import parse_as

Holds = NDArray[np.bool_]

WORDS = {
    "after", "among", "as", "at", "before", "between", "directly", "end", "events", "last", "more", "most",
    "of", "same", "than", "the", "then", "time", "times", "within", "without",
}  # fmt: skip
"""Words of the rule language; an event type with such a name is quoted."""

SPANS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
"""Units in which seconds are shown."""


@dataclass(frozen=True)
class Kind:
    """A form of literal: its numbers of event types, whether it has a limit, its text and its test.

    The test takes the occurrences, the names of the event types, the limit and the number of times.
    """

    events: tuple[int, ...]
    has_limit: bool
    form: str
    holds: Callable[..., Holds]
    timed: bool = False
    has_times: bool = False


def _condition(arrangement: Callable[..., Holds]) -> Callable[..., Holds]:
    """The test of an arrangement that holds or not."""
    return lambda found, *events: arrangement(found.n, *map(found.placed, events))


KINDS = {
    "presence": Kind((1,), False, "{0}", lambda found, a: found.count(a) > 0),
    "count": Kind((1,), True, "{0} >= {limit} times", lambda found, a, k: found.count(a) >= k),
    "ordered": Kind((2,), False, "{0} before {1}", lambda found, a, b: found.first(a) < found.first(b)),
    "adjacent": Kind((2,), False, "{0} directly before {1}", lambda found, a, b: found.adjacent(a, b)),
    "gap": Kind((2,), True, "{1} within {limit} of {0}", lambda found, a, b, t: found.gap(a, b) <= t, True),
    "lateness": Kind(
        (1,), True, "{0} among the last {limit} events", lambda found, a, k: found.lateness(a) <= k
    ),
    "since": Kind((1,), True, "{0} within {limit} of the end", lambda found, a, t: found.since(a) <= t, True),
    "last_after": Kind((2,), False, "last {0} after last {1}", _condition(last_after)),
    "more": Kind((2,), False, "more {0} than {1}", _condition(more)),
    "distance": Kind(
        (2,), True, "{1} at most {limit} events after {0}", lambda found, a, b, k: found.distance(a, b) <= k
    ),
    "burst": Kind(
        (1,),
        True,
        "{times} times {0} within {limit}",
        lambda found, a, t, times: found.burst(a, times) <= t,
        timed=True,
        has_times=True,
    ),
    "burst_events": Kind(
        (1,),
        True,
        "{times} times {0} within {limit} events",
        lambda found, a, k, times: found.burst_events(a, times) <= k,
        has_times=True,
    ),
    "subsequence": Kind((2, 3), False, "{chain}", _condition(subsequence)),
    "state": Kind((3,), False, "{0} after {1} without {2} between", _condition(state)),
}
"""Every kind of literal by the name that `features` defines it under."""

AT_ONCE = {
    "gap": "{1} at the same time as {0}",
    "since": "{0} at the end",
    "burst": "{times} times {0} at the same time",
}
"""Texts for a time limit of 0."""


@dataclass(frozen=True)
class Literal:
    """One condition: its kind, the event types it is about, its limit, and whether it is negated.

    `times` is how often an event type occurs in a burst.

    >>> Literal("ordered", ("A", "B")).text, Literal("presence", ("A",), negated=True).text
    ('A before B', '!A')
    >>> Literal("gap", ("A", "oil low"), 0.6, unit="h").text
    '"oil low" within 0.6 h of A'
    >>> Literal("state", ("A", "M1", "M2")).text, Literal("burst", ("A",), 7200.0, unit="s", times=3).text
    ('A after M1 without M2 between', '3 times A within 2 h')
    """

    kind: str
    events: tuple[str, ...]
    limit: float | None = None
    negated: bool = False
    unit: str = ""
    times: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DataError(f"unknown kind of literal {self.kind!r}; use {', '.join(KINDS)}")
        kind = KINDS[self.kind]
        if len(self.events) not in kind.events:
            numbers = " or ".join(map(str, kind.events[:-1])) + (" or " if len(kind.events) > 1 else "")
            needed = f"{numbers}{counted(kind.events[-1], 'event type')}"
            raise DataError(f"a literal {self.kind!r} takes {needed}; got {self.events}")
        if (self.limit is not None) != kind.has_limit:
            needed = "a limit" if kind.has_limit else "no limit"
            raise DataError(f"a literal {self.kind!r} takes {needed}; got {self.limit}")
        if kind.has_times != (self.times is not None) or (self.times is not None and self.times < 2):
            needed = "times of 2 or more" if kind.has_times else "no times"
            raise DataError(f"a literal {self.kind!r} takes {needed}; got {self.times}")

    @property
    def text(self) -> str:
        """The literal in words; names with blanks or symbols of the rule language are quoted."""
        kind = KINDS[self.kind]
        limit = (
            ""
            if self.limit is None
            else (_span(self.limit, self.unit) if kind.timed else str(int(self.limit)))
        )
        form = AT_ONCE[self.kind] if self.limit == 0 and kind.timed else kind.form
        names = list(map(quoted, self.events))
        text = form.format(*names, limit=limit, times=self.times, chain=" then ".join(names))
        if not self.negated:
            return text
        return f"!{text}" if self.kind == "presence" else f"!({text})"

    def holds(self, found: Occurrences) -> Holds:
        """Where the literal holds: (sequences,)."""
        if KINDS[self.kind].timed and found.time_kind == "order":
            raise DataError(
                f"{self.text!r} needs times, but the data have only an order; read the data with times"
            )
        numbers = [number for number in (self.limit, self.times) if number is not None]
        held = KINDS[self.kind].holds(found, *self.events, *numbers)
        return ~held if self.negated else held

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "events": list(self.events),
            "limit": self.limit,
            "negated": self.negated,
            "unit": self.unit,
            **({} if self.times is None else {"times": self.times}),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "Literal":
        """The literal that `to_dict` gave; raises `DataError` for anything else."""
        literal: Literal = parse_as(cls, content, "literal")
        return literal


def quoted(name: str) -> str:
    """A name as rules show it.

    >>> quoted("P0A1F"), quoted("A & B"), quoted("before")
    ('P0A1F', '"A & B"', '"before"')
    """
    if re.fullmatch(r"[\w.:/=+*#@%$-]+", name) and name not in WORDS:
        return name
    return json.dumps(name, ensure_ascii=False)


def _span(limit: float, unit: str) -> str:
    """A time with its unit; seconds in the largest unit in which they are at least 1."""
    size, name = span_unit(limit) if unit == "s" else (1, unit)
    return f"{limit / size:.6g} {name}".strip()


def span_unit(seconds: float) -> tuple[int, str]:
    """The unit in which a number of seconds is shown: its length and its name.

    >>> span_unit(7200), span_unit(0.5)
    ((3600, 'h'), (1, 's'))
    """
    return next(((size, name) for size, name in SPANS if seconds >= size), (1, "s"))
