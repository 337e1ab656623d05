"""Appraisal: calibrate a trained model on held-out sequences, and measure it there.

The held-out sequences are cut in two halves; each half is measured with a calibration fitted on the other, so
that no figure flatters itself. The model keeps the calibration fitted on both halves. Only the choice of the
best step of the run has seen the same sequences.
"""

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own short form)
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from eventcargo.batches import Batch, Batches, packed
from eventcargo.errors import counted
from eventcargo.events import EventDataset, first_appearances
from eventcargo.models.base_rates import Rates
from eventcargo.models.calibration import Answers, Calibration, Floats, Truth, lead
from eventcargo.models.counts import Counts
from eventcargo.models.density import DensityModel, walk
from eventcargo.models.label_model import LabelModel
from eventcargo.quality import LabelQuality, Quality
from eventcargo.statistics.design_effect import Groups
from eventcargo.statistics.log_loss import Known, log_losses

CLEARLY = 1.645
"""Standard errors by which a label's model must beat its base rate; by chance it does once in twenty."""

TOKENS = 2_048
"""Positions whose labels are asked for at once; eight times as many do not fit the cache and take half as
long again."""

BINS = 10
"""Probability bins of the calibration error."""


def label_quality(
    names: tuple[str, ...],
    support: NDArray[np.int64],
    rates: Floats,
    truth: Truth,
    raw: Floats,
    logits: Floats,
    groups: Groups = None,
    known: Known = None,
) -> tuple[LabelQuality, ...]:
    """Figures of every label; `raw` are the logits before calibration, `rates` the base rates.

    A label is measured in the sequences for which it is `known`.

    >>> truth = np.array([[True], [False]] * 50)
    >>> logits = np.where(truth, 3.0, -3.0)
    >>> row = label_quality(("bad",), np.array([50]), np.array([0.5]), truth, logits, logits)[0]
    >>> row.f1, row.auroc, row.trusted
    (1.0, 1.0, True)
    """
    base = np.broadcast_to(np.log(rates) - np.log1p(-rates), truth.shape)
    losses, base_losses, raw_losses = (log_losses(each, truth) for each in (logits, base, raw))
    leads = lead(base_losses, losses, groups, known)
    probabilities, raw_probabilities = _sigmoid(logits), _sigmoid(raw)
    rows = []
    for at, name in enumerate(names):
        own = slice(None) if known is None else known[:, at]
        y, y_logits = truth[own, at], logits[own, at]
        n_held = int(y.sum())
        reason = _untrusted_because(int(support[at]), n_held, float(leads[at]))
        rows.append(
            LabelQuality(
                label=name,
                support=int(support[at]),
                held_out=n_held,
                f1=_f1(y, y_logits > 0) if n_held else None,
                auroc=float(roc_auc_score(y, y_logits)) if 0 < n_held < len(y) else None,
                average_precision=float(average_precision_score(y, y_logits)) if n_held else None,
                log_loss=_mean_loss(losses[own, at]),
                base_log_loss=_mean_loss(base_losses[own, at]),
                raw_log_loss=_mean_loss(raw_losses[own, at]),
                calibration_error=calibration_error(y, probabilities[own, at]),
                raw_calibration_error=calibration_error(y, raw_probabilities[own, at]),
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
    rows: tuple[LabelQuality, ...], truth: Truth, raw: Floats, logits: Floats, known: Known = None
) -> dict[str, Any]:
    """Means over labels; F1 also weighted by positives, calibration error over all labels together."""
    judged = [row for row in rows if row.f1 is not None]
    weights = [row.held_out for row in judged]
    if known is not None:
        truth, raw, logits = truth[known], raw[known], logits[known]
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


def _mean_loss(losses: Floats) -> float:
    return float(losses.mean()) if len(losses) else 0.0


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


MAX_SEQUENCES, MAX_EVENTS = 20_000, 10_000
"""Most held-out sequences whose labels are measured, and about how many of their events."""

MIN_SEQUENCES = 20
"""With fewer held-out sequences there is no calibration; the model keeps its own logits."""


def appraise(
    model: LabelModel,
    kept: EventDataset,
    held: EventDataset,
    unlabelled: bool = False,
    *,
    events: bool = True,
) -> Quality:
    """Calibrate a model on held-out sequences and return its quality there; it was trained on `kept`.

    The next event is measured only with `events`.
    """
    held = held[:MAX_SEQUENCES]
    model.calibrate(Calibration(*np.ones((3, len(model.label_names)))))
    answers = ask(model, held)
    logits, prefix = answers.whole, answers.prefix
    if len(held) >= MIN_SEQUENCES:
        logits, prefix, helps = crossed(answers)
        calibration = Calibration.fit(answers)
        model.calibrate(calibration if helps else calibration.without_slopes())
    rates = Rates.of(kept, model.vocabulary, unlabelled)
    rows = label_quality(
        model.label_names,
        kept.support,
        rates.labels,
        answers.truth,
        answers.whole,
        logits,
        answers.groups,
        answers.known,
    )
    overall = overall_quality(rows, answers.truth, answers.whole, logits, answers.known)
    overall["prefix_log_loss"] = answers.mean_loss(prefix) if prefix.size else None
    if answers.linear is not None:
        overall["term_log_loss"] = answers.mean_loss(answers.linear)
    model.mark_untrusted([at for at, row in enumerate(rows) if not row.trusted])
    return Quality(rows, overall, event_quality(model, kept, held, rates) if events else {})


def crossed(answers: Answers) -> tuple[Floats, Floats, bool]:
    """Logits of each half, calibrated on the other half, and whether slopes help.

    Slopes that do not help, because sequences are few or the logits are right already, are left out.
    """
    half = _first_half(answers)
    tried = []
    for with_slopes in (True, False):
        logits, prefix = answers.whole.copy(), answers.prefix.copy()
        for rows in (half, ~half):
            fitted, measured = Calibration.fit(answers.rows(~rows)), answers.rows(rows)
            fitted = fitted if with_slopes else fitted.without_slopes()
            logits[rows], prefix[rows] = fitted.whole(measured), fitted.prefix(measured)
        tried.append((logits, prefix))
    losses = [log_losses(logits, answers.truth, answers.known).sum() for logits, _ in tried]
    helps = bool(losses[0] < losses[1])
    return (*tried[0 if helps else 1], helps)


def _first_half(answers: Answers) -> NDArray[np.bool_]:
    """Every second sequence, or every second group in order of first appearance."""
    if answers.groups is None:
        return np.arange(len(answers.truth)) % 2 == 0
    return first_appearances(answers.groups) % 2 == 0


@torch.inference_mode()
def ask(model: LabelModel, data: EventDataset) -> Answers:
    """The model's label logits at the end of each sequence and at one random position before it."""
    shape = (len(data), len(model.label_names))
    linear = np.empty(shape) if model.linear is not None else None
    whole, prefix = np.empty(shape), _ask_before(model, data)
    for rows, batch in walk(model, data, TOKENS):
        labels = model.densities(batch, labels_at=batch.at_end).labels
        assert labels is not None
        whole[rows] = labels.double().cpu().numpy()
        if linear is not None and model.linear is not None:
            term = model.linear.logits(batch, batch.at_end, np.arange(shape[1]))
            linear[rows] = term.double().cpu().numpy()
    truth = data.label_matrix().toarray() > 0
    return Answers(truth, linear, whole, prefix, data.groups, data.known_matrix())


def _ask_before(model: LabelModel, data: EventDataset) -> Floats:
    """The label logits at one random position before the end of each sequence."""
    batches = Batches(data, model.vocabulary, model.max_length)
    at = (np.random.default_rng(0).random(len(data)) * (batches.lengths - 1)).astype(np.int64)
    result = np.empty((len(data), len(model.label_names)))
    for rows in packed(np.argsort(at, kind="stable"), at + 2, TOKENS):  # what follows is not computed
        batch = batches.take(rows).rows(slice(None), int(at[rows].max()) + 2)
        labels = model.densities(batch, labels_at=np.arange(batch.ids.shape[1]) == at[rows, None]).labels
        assert labels is not None
        result[rows] = labels.double().cpu().numpy()
    return result


@torch.inference_mode()
def event_quality(
    model: LabelModel, kept: EventDataset, held: EventDataset, rates: Rates
) -> dict[str, float]:
    """Perplexity of the next event, by the model, by single events and by pairs of neighbours."""
    held = held[: int(np.searchsorted(held.rows.offsets, MAX_EVENTS)) + 1]
    pairs = Counts.fit(kept, model.vocabulary)
    losses = {name: [np.zeros(0)] for name in ("perplexity", "unigram_perplexity", "bigram_perplexity")}
    for _, batch in walk(model, held, tokens=1_024):
        following = np.roll(batch.ids, -1, axis=1)
        at = batch.mask & ~batch.at_end & model.can_follow[following]
        following = following[at]
        losses["perplexity"].append(_event_losses(model, batch, at, following))
        losses["unigram_perplexity"].append(-np.log(rates.events[following]))
        losses["bigram_perplexity"].append(_event_losses(pairs, batch, at, following))
    joined = {name: np.concatenate(blocks) for name, blocks in losses.items()}
    return {name: float(np.exp(values.mean())) if len(values) else 1.0 for name, values in joined.items()}


def _event_losses(
    model: DensityModel, batch: Batch, at: NDArray[np.bool_], following: NDArray[np.int64]
) -> Floats:
    logits = model.densities(batch, events_at=at).events
    assert logits is not None
    target = torch.as_tensor(following, device=logits.device)
    losses: Floats = F.cross_entropy(logits.double(), target, reduction="none").cpu().numpy()
    return losses
