"""Measuring a model on held-out sequences: F1, AUROC, log-loss and calibration of every label."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from eventcargo.errors import counted
from eventcargo.models.calibration import Floats, Truth, lead
from eventcargo.quality import LabelQuality
from eventcargo.statistics.log_loss import log_losses

CLEARLY = 1.645
"""Standard errors by which a label's model must beat its base rate; by chance it does once in twenty."""

BINS = 10
"""Probability bins of the calibration error."""


def label_quality(
    names: tuple[str, ...],
    support: NDArray[np.int64],
    rates: Floats,
    truth: Truth,
    raw: Floats,
    logits: Floats,
) -> tuple[LabelQuality, ...]:
    """Figures of every label; `raw` are the logits before calibration, `rates` the base rates.

    >>> truth = np.array([[True], [False]] * 50)
    >>> logits = np.where(truth, 3.0, -3.0)
    >>> row = label_quality(("bad",), np.array([50]), np.array([0.5]), truth, logits, logits)[0]
    >>> row.f1, row.auroc, row.trusted
    (1.0, 1.0, True)
    """
    base = np.broadcast_to(np.log(rates) - np.log1p(-rates), truth.shape)
    losses, base_losses, raw_losses = (log_losses(each, truth) for each in (logits, base, raw))
    leads = lead(base_losses, losses)
    probabilities, raw_probabilities = _sigmoid(logits), _sigmoid(raw)
    rows = []
    for at, name in enumerate(names):
        n_held, y = int(truth[:, at].sum()), truth[:, at]
        reason = _untrusted_because(int(support[at]), n_held, float(leads[at]))
        rows.append(
            LabelQuality(
                label=name,
                support=int(support[at]),
                held_out=n_held,
                f1=_f1(y, logits[:, at] > 0) if n_held else None,
                auroc=float(roc_auc_score(y, logits[:, at])) if 0 < n_held < len(y) else None,
                average_precision=float(average_precision_score(y, logits[:, at])) if n_held else None,
                log_loss=float(losses[:, at].mean()),
                base_log_loss=float(base_losses[:, at].mean()),
                raw_log_loss=float(raw_losses[:, at].mean()),
                calibration_error=calibration_error(y, probabilities[:, at]),
                raw_calibration_error=calibration_error(y, raw_probabilities[:, at]),
                trusted=not reason,
                reason=reason,
            )
        )
    return tuple(rows)


def _untrusted_because(support: int, n_held: int, ahead: float) -> str:
    """Why a label is untrusted; empty if it is trusted."""
    if support == 0:
        return "no positive example"
    if n_held == 0:
        return "no held-out example to judge it by"
    if not ahead > CLEARLY:
        return f"not clearly better than the base rate on {counted(n_held, 'held-out example')}"
    return ""


def overall_quality(
    rows: tuple[LabelQuality, ...], truth: Truth, raw: Floats, logits: Floats
) -> dict[str, Any]:
    """Means over labels; F1 also weighted by positives, calibration error over all labels together."""
    judged = [row for row in rows if row.f1 is not None]
    weights = [row.held_out for row in judged]
    return {
        "f1_macro": _mean([row.f1 for row in judged]),
        "f1_weighted": _mean([row.f1 for row in judged], weights),
        "auroc": _mean([row.auroc for row in judged]),
        "average_precision": _mean([row.average_precision for row in judged]),
        **{name: _mean([getattr(row, name) for row in rows]) for name in ("log_loss", "base_log_loss")},
        "raw_log_loss": _mean([row.raw_log_loss for row in rows]),
        "calibration_error": calibration_error(truth.ravel(), _sigmoid(logits).ravel()),
        "raw_calibration_error": calibration_error(truth.ravel(), _sigmoid(raw).ravel()),
        "untrusted": sum(not row.trusted for row in rows),
    }


def calibration_error(truth: Truth, probabilities: Floats) -> float:
    """Expected calibration error: the mean gap between probability and frequency over probability bins.

    >>> calibration_error(np.array([True, False, False, False]), np.full(4, 0.45))
    0.2
    """
    if len(truth) == 0:
        return 0.0
    bins = np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(bins, probabilities - truth, BINS)
    return float(np.abs(gaps).sum() / len(truth))


def _f1(truth: Truth, predicted: NDArray[np.bool_]) -> float:
    return float(2 * (truth & predicted).sum() / (truth.sum() + predicted.sum()))


def _mean(values: list[Any], weights: list[int] | None = None) -> float | None:
    """The mean of the known values; None if there are none."""
    known = [
        (value, 1 if weights is None else weights[at]) for at, value in enumerate(values) if value is not None
    ]
    total = sum(weight for _, weight in known)
    return math.fsum(value * weight for value, weight in known) / total if total else None


def _sigmoid(logits: Floats) -> Floats:
    probabilities: Floats = np.exp(-np.logaddexp(0.0, -logits))
    return probabilities
