"""Late event types: they first occur practically only after, or at the time of, an outcome with a time."""

from dataclasses import dataclass

import polars as pl

from eventcargo.errors import counted
from eventcargo.leaks.after import occurs_after, occurs_at_once

TIMES = ("before", "same", "after")
"""When an event type first occurs, seen from the first outcome of its subject."""


@dataclass(frozen=True)
class LateEvent:
    """An event type that follows a label, with the subjects in whom it first occurs before, at and after it.

    >>> LateEvent("turbo failure", "turbo replaced", 1, 4, 90, is_at_once=False).reason
    "'turbo replaced' first occurs after 'turbo failure' in 94 of 95 subjects"
    """

    label: str
    event: str
    before: int
    same: int
    after: int
    is_at_once: bool
    """whether it occurs practically only at the very time of the outcome"""

    @property
    def reason(self) -> str:
        """When it occurs, and in how many subjects."""
        moment, count = ("at the very time of", 0) if self.is_at_once else ("after", self.after)
        total = counted(self.before + self.same + self.after, "subject")
        return f"{self.event!r} first occurs {moment} {self.label!r} in {self.same + count:,} of {total}"


def find_late(timing: pl.DataFrame) -> list[LateEvent]:
    """The late event types among the rows of a cohort's `timing`: label, event, before, same, after.

    >>> import polars as pl
    >>> timing = pl.DataFrame({"label": "bad", "event": ["cause", "repair"], "before": [30, 0], "same": 0,
    ...     "after": [2, 30]})
    >>> [late.event for late in find_late(timing)]
    ['repair']
    """
    before, same, after = (timing[name].to_numpy() for name in TIMES)
    total = before + same + after
    share = float((same + after).sum()) / max(int(total.sum()), 1)
    is_late = occurs_after(before, same + after, min(max(share, 0.01), 0.99))
    is_at_once = occurs_at_once(same, total)
    found = timing.select("label", "event", *TIMES, is_at_once=pl.Series(is_at_once))
    return [LateEvent(**row) for row in found.filter(is_late | is_at_once).iter_rows(named=True)]
