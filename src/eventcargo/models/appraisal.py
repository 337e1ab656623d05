"""Appraisal: calibrates a trained model and measures its quality, both on held-out sequences.

The held-out sequences are split into two halves. Each half is measured with a calibration fitted on the
other, so that no figure flatters itself; the model keeps the calibration fitted on both. Only the choice of
the best step of the run has seen the same sequences.
"""

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own short form)
from numpy.typing import NDArray

from eventcargo.batches import Batch
from eventcargo.events import EventDataset
from eventcargo.models.base_rates import Rates
from eventcargo.models.calibration import Answers, Calibration, Floats
from eventcargo.models.counts import Counts
from eventcargo.models.density import DensityModel, walk
from eventcargo.models.quality import label_quality, overall_quality
from eventcargo.models.transformer.model import Transformer
from eventcargo.quality import Quality
from eventcargo.statistics.log_loss import log_losses

MAX_SEQUENCES, MAX_EVENTS = 20_000, 10_000
"""Most held-out sequences whose labels are measured, and about how many of their events."""

MIN_SEQUENCES = 20
"""With fewer held-out sequences there is no calibration; the model keeps its own logits."""


def appraise(model: Transformer, kept: EventDataset, held: EventDataset, unlabelled: bool = False) -> Quality:
    """Calibrate a model on held-out sequences and return its quality there; it was trained on `kept`."""
    held = held[:MAX_SEQUENCES]
    model.calibrate(Calibration(*np.ones((3, len(model.label_names)))))
    answers = ask(model, held)
    logits, prefix = answers.whole, answers.prefix
    if len(held) >= MIN_SEQUENCES:
        logits, prefix, helps = crossed(answers)
        calibration = Calibration.fit(answers)
        model.calibrate(calibration if helps else calibration.without_slopes())
    rates = Rates.of(kept, model.vocabulary, unlabelled)
    rows = label_quality(model.label_names, kept.support, rates.labels, answers.truth, answers.whole, logits)
    overall = overall_quality(rows, answers.truth, answers.whole, logits)
    overall["prefix_log_loss"] = float(log_losses(prefix, answers.truth).mean()) if prefix.size else None
    model.distrust([at for at, row in enumerate(rows) if not row.trusted])
    return Quality(rows, overall, event_quality(model, kept, held, rates))


def crossed(answers: Answers) -> tuple[Floats, Floats, bool]:
    """Logits of each half, calibrated on the other half, and whether slopes help.

    Slopes that do not help, because sequences are few or the logits are right already, are left out.
    """
    half = np.arange(len(answers.truth)) % 2 == 0
    tried = []
    for with_slopes in (True, False):
        logits, prefix = answers.whole.copy(), answers.prefix.copy()
        for rows in (half, ~half):
            fitted, measured = Calibration.fit(answers.rows(~rows)), answers.rows(rows)
            fitted = fitted if with_slopes else fitted.without_slopes()
            logits[rows], prefix[rows] = fitted.whole(measured), fitted.prefix(measured)
        tried.append((logits, prefix))
    losses = [log_losses(logits, answers.truth).sum() for logits, _ in tried]
    helps = bool(losses[0] < losses[1])
    return (*tried[0 if helps else 1], helps)


@torch.inference_mode()
def ask(model: Transformer, data: EventDataset) -> Answers:
    """The model's label logits at the end of each sequence and at one random position before it."""
    shape = (len(data), len(model.label_names))
    explicit = np.empty(shape) if model.linear is not None else None
    whole, prefix, rng = np.empty(shape), np.empty(shape), np.random.default_rng(0)
    for rows, batch in walk(model, data):
        before = _one_before(batch, rng)
        labels = model.densities(batch, labels_at=before | batch.at_end).labels
        assert labels is not None
        logits, is_end = labels.double().cpu().numpy(), batch.at_end[before | batch.at_end]
        whole[rows], prefix[rows] = logits[is_end], logits[~is_end]
        if explicit is not None and model.linear is not None:
            term = model.linear.logits(batch, batch.at_end, np.arange(shape[1]))
            explicit[rows] = term.double().cpu().numpy()
    return Answers(data.label_matrix().toarray() > 0, explicit, whole, prefix)


def _one_before(batch: Batch, rng: np.random.Generator) -> NDArray[np.bool_]:
    """One random position before the end of each sequence: (B, L)."""
    at = (rng.random(len(batch.lengths)) * (batch.lengths - 1)).astype(np.int64)
    return np.arange(batch.ids.shape[1]) == at[:, None]


@torch.inference_mode()
def event_quality(
    model: Transformer, kept: EventDataset, held: EventDataset, rates: Rates
) -> dict[str, float]:
    """Perplexity of the next event, by the model, by single events and by pairs of neighbours."""
    held = held[: int(np.searchsorted(held.rows.offsets, MAX_EVENTS)) + 1]
    pairs = Counts.fit(kept, model.vocabulary)
    losses = {name: [np.zeros(0)] for name in ("perplexity", "unigram_perplexity", "bigram_perplexity")}
    for _, batch in walk(model, held, tokens=4_096):
        at = batch.mask & ~batch.at_end
        following = np.roll(batch.ids, -1, axis=1)[at]
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
