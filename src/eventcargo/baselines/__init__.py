"""Classical Markov-boundary methods on event presence, written for sparse data."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.baselines.config import METHODS, BaselineConfig, check_method
    from eventcargo.baselines.find import find_boundaries
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "config": "METHODS BaselineConfig check_method",
            "find": "find_boundaries",
        },
    )

__all__ = ["METHODS", "BaselineConfig", "check_method", "find_boundaries"]
