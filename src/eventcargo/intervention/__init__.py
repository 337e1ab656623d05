"""What would be different without an event type: the expected number of labels if it did not occur."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.intervention.attributable import ASSUMPTIONS, Without, sampled_controls, without
else:
    __getattr__, __dir__ = lazy_names(
        __name__, {"attributable": "ASSUMPTIONS Without sampled_controls without"}
    )

__all__ = ["ASSUMPTIONS", "Without", "sampled_controls", "without"]
