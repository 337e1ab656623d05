"""What differs between the edges of two runs: two fleets, two hospitals, before and after a change."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.comparison.changes import CHANGES
    from eventcargo.comparison.compare import Comparison, Side
    from eventcargo.comparison.config import CompareConfig
    from eventcargo.comparison.page import write_comparison
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "changes": "CHANGES",
            "compare": "Comparison Side",
            "config": "CompareConfig",
            "page": "write_comparison",
        },
    )

__all__ = ["CHANGES", "CompareConfig", "Comparison", "Side", "write_comparison"]
