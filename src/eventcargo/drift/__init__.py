"""Drift: whether new sequences are still like those that a model was trained on."""

from typing import TYPE_CHECKING

from eventcargo.drift.config import DriftConfig
from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.drift.find import Drift, find_drift, read_drift, write_drift
else:
    __getattr__, __dir__ = lazy_names(__name__, {"find": "Drift find_drift read_drift write_drift"})

__all__ = ["Drift", "DriftConfig", "find_drift", "read_drift", "write_drift"]
