"""Qualities of models for tests: one label with usual figures, and what a test changes in them."""

from typing import Any

from eventcargo.quality import LabelQuality, Quality


def measured(
    overall: dict[str, float] | None = None,
    events: dict[str, float] | None = None,
    training: dict[str, Any] | None = None,
    **row: Any,
) -> Quality:
    """The quality of a model of one label."""
    usual: dict[str, Any] = {
        "label": "bad",
        "support": 100,
        "held_out": 10,
        "f1": 0.9,
        "auroc": 0.95,
        "average_precision": 0.9,
        "log_loss": 0.1,
        "base_log_loss": 0.7,
        "raw_log_loss": 0.1,
        "calibration_error": 0.01,
        "raw_calibration_error": 0.02,
        "trusted": True,
        "reason": "",
    }
    return Quality((LabelQuality(**(usual | row)),), overall or {}, events or {}, training or {})
