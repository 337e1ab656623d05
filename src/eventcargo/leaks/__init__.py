"""Leaks: event types that may be a record of an outcome rather than a cause of it."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.leaks.after import occurs_after, occurs_at_once
    from eventcargo.leaks.find import find_leaks
    from eventcargo.leaks.late import LateEvent, find_late
    from eventcargo.leaks.leak import Leak
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "after": "occurs_after occurs_at_once",
            "find": "find_leaks",
            "late": "LateEvent find_late",
            "leak": "Leak",
        },
    )

__all__ = ["LateEvent", "Leak", "find_late", "find_leaks", "occurs_after", "occurs_at_once"]
