"""Literal: one condition on a sequence, such as `A`, `!A`, `A >= 3 times` or `A before B`."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import DataError, counted
from eventcargo.rules.occurrences import Occurrences

Holds = NDArray[np.bool_]

WORDS = {
    "among", "as", "at", "before", "directly", "end", "events", "last", "of", "same", "the", "time", "times",
    "within",
}  # fmt: skip
"""Words of the rule language; an event type with such a name is quoted."""

SPANS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
"""Units in which seconds are shown."""


@dataclass(frozen=True)
class Kind:
    """A form of literal: its number of event types, whether it has a limit, its text and its test."""

    events: int
    has_limit: bool
    form: str
    holds: Callable[..., Holds]
    timed: bool = False


KINDS = {
    "presence": Kind(1, False, "{0}", lambda found, a: found.count(a) > 0),
    "count": Kind(1, True, "{0} >= {limit} times", lambda found, a, k: found.count(a) >= k),
    "ordered": Kind(2, False, "{0} before {1}", lambda found, a, b: found.first(a) < found.first(b)),
    "adjacent": Kind(2, False, "{0} directly before {1}", lambda found, a, b: found.adjacent(a, b)),
    "gap": Kind(2, True, "{1} within {limit} of {0}", lambda found, a, b, t: found.gap(a, b) <= t, True),
    "lateness": Kind(
        1, True, "{0} among the last {limit} events", lambda found, a, k: found.lateness(a) <= k
    ),
    "since": Kind(1, True, "{0} within {limit} of the end", lambda found, a, t: found.since(a) <= t, True),
}
"""Every kind of literal by the name of its family of features (`features.FAMILIES`)."""

AT_ONCE = {"gap": "{1} at the same time as {0}", "since": "{0} at the end"}
"""Texts for a time limit of 0."""


@dataclass(frozen=True)
class Literal:
    """One condition: its kind, the event types it is about, its limit, and whether it is negated.

    >>> Literal("ordered", ("A", "B")).text, Literal("presence", ("A",), negated=True).text
    ('A before B', '!A')
    >>> Literal("gap", ("A", "oil low"), 0.6, unit="h").text
    '"oil low" within 0.6 h of A'
    """

    kind: str
    events: tuple[str, ...]
    limit: float | None = None
    negated: bool = False
    unit: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DataError(f"unknown kind of literal {self.kind!r}; use {', '.join(KINDS)}")
        kind = KINDS[self.kind]
        if len(self.events) != kind.events:
            raise DataError(
                f"a literal {self.kind!r} takes {counted(kind.events, 'event type')}; got {self.events}"
            )
        if (self.limit is not None) != kind.has_limit:
            needed = "a limit" if kind.has_limit else "no limit"
            raise DataError(f"a literal {self.kind!r} takes {needed}; got {self.limit}")

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
        text = form.format(*map(quoted, self.events), limit=limit)
        if not self.negated:
            return text
        return f"!{text}" if self.kind == "presence" else f"!({text})"

    def holds(self, found: Occurrences) -> Holds:
        """Where the literal holds: (sequences,)."""
        if KINDS[self.kind].timed and found.time_kind == "order":
            raise DataError(
                f"{self.text!r} needs times, but the data have only an order; read the data with times"
            )
        limits = () if self.limit is None else (self.limit,)
        held = KINDS[self.kind].holds(found, *self.events, *limits)
        return ~held if self.negated else held

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "events": list(self.events),
            "limit": self.limit,
            "negated": self.negated,
            "unit": self.unit,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "Literal":
        return cls(**{**content, "events": tuple(content["events"])})


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
