"""Drift: whether new sequences are still like those that a model was trained on."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.drift.config import DriftConfig
    from eventcargo.drift.drift import Change, Drift, read_drift, write_drift
    from eventcargo.drift.find import find_drift
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "config": "DriftConfig",
            "drift": "Change Drift read_drift write_drift",
            "find": "find_drift",
        },
    )

__all__ = ["Change", "Drift", "DriftConfig", "find_drift", "read_drift", "write_drift"]
