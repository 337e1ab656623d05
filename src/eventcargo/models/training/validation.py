"""Held-out sequences: set aside before training, and checked during it to choose the best model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own short form)
from numpy.typing import NDArray

from eventcargo.batches import Batch, Batches
from eventcargo.events import EventDataset
from eventcargo.models.calibration import MATTERS, Floats, base_losses, lead
from eventcargo.models.label_model import LabelModel
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.training.config import LossConfig
from eventcargo.statistics.log_loss import log_losses

MAX_SEQUENCES, MOST_POSITIONS = 1_000, 2_000
"""Most sequences of a check, and about how many positions before their ends."""


@dataclass(frozen=True)
class Held:
    """Losses and F1 of a model on held-out sequences; `loss` weighs the others as training does."""

    loss: float
    event_loss: float  # nats per event
    prefix_loss: float  # nats over all labels, before the end
    label_loss: float  # nats over all labels, at the end
    label_f1: float  # at the end, weighted by support
    lead: float  # standard errors by which `label_loss` is below that of the linear term alone; 0 without one


def set_aside(data: EventDataset, share: float, seed: int) -> tuple[EventDataset, EventDataset]:
    """Sequences to train on and sequences held out; no label has all its positives held out.

    Groups stay whole, so the share held out is only about the one asked for.
    """
    if share == 0 or data.n_groups < 2:
        return data, data.select(np.zeros(len(data), bool))
    order = data.group_order(np.random.default_rng(seed))
    first = int((data.group_numbers == data.group_numbers[order[0]]).sum())
    held = np.zeros(len(data), bool)
    held[order[: max(first, data.group_end(order, round(share * len(data))))]] = True
    labels = data.label_matrix()
    left = np.asarray(labels[~held].sum(0)).ravel() == 0
    needed = np.asarray(labels[:, left].sum(1)).ravel() > 0
    held[np.isin(data.group_numbers, data.group_numbers[needed])] = False
    return data.select(~held), data.select(held)


class Validation:
    """A fixed choice of held-out sequences and of positions before their ends."""

    def __init__(self, data: EventDataset, model: LabelModel, config: LossConfig, tokens: int) -> None:
        self._batches = Batches(data[:MAX_SEQUENCES], model.vocabulary, model.max_length)
        self._config, self._tokens = config, tokens
        self._groups = data[:MAX_SEQUENCES].groups
        self._alone = None if model.linear is None else self._term_losses(model.linear, data)
        inside = int((self._batches.lengths - 1).sum())
        self._share = min(1.0, MOST_POSITIONS / max(inside, 1))

    def _term_losses(self, term: LinearTerm, data: EventDataset) -> Floats:
        """The label losses of the linear term alone: (sequences, labels)."""
        labels, known = data[:MAX_SEQUENCES].label_matrix().toarray(), data[:MAX_SEQUENCES].known_matrix()
        losses = np.zeros(labels.shape)
        for rows in self._batches.in_order(self._tokens):
            batch = self._batches.take(rows)
            losses[rows] = log_losses(term.logits(batch, batch.at_end).cpu().numpy(), labels[rows])
        return losses if known is None else losses * known

    def __len__(self) -> int:
        return len(self._batches.lengths)

    @property
    def has_room(self) -> bool:
        """Whether the linear term leaves any label a loss that a network could clearly lower."""
        if self._alone is None:
            return True
        batch = self._batches.take(np.arange(len(self._alone)))
        return bool((self._alone.sum(axis=0) > MATTERS * base_losses(batch.labels, batch.known)).any())

    def check(self, model: LabelModel) -> Held:
        """Losses and label F1 of the model in evaluation mode."""
        rng = np.random.default_rng(0)
        was_training = model.training
        model.eval()
        with torch.inference_mode():
            batches = (self._batches.take(rows) for rows in self._batches.in_order(self._tokens))
            scores = [_score(model, batch, self._draw(batch, rng)) for batch in batches]
        model.train(was_training)
        return self._sum_up(*(np.concatenate(columns) for columns in zip(*scores, strict=True)))

    def _lead(self, ends: Floats) -> float:
        """Of the label losses at the end, in the order of the batches."""
        if self._alone is None:
            return 0.0
        order = np.concatenate([np.zeros(0, np.int64), *self._batches.in_order(self._tokens)])
        groups = None if self._groups is None else self._groups[order]
        return float(lead(self._alone.sum(axis=1)[order, None], ends[:, None], groups)[0])

    def _draw(self, batch: Batch, rng: np.random.Generator) -> NDArray[np.bool_]:
        return batch.mask & ~batch.at_end & (rng.random(batch.ids.shape) < self._share)

    def _sum_up(
        self,
        events: NDArray[np.float64],
        logits: NDArray[np.float64],
        labels: NDArray[np.float32],
        known: NDArray[np.bool_],
        at_end: NDArray[np.bool_],
    ) -> Held:
        losses = ((np.logaddexp(0, logits) - labels * logits) * known).sum(1)
        event, prefix, end = (_mean(values) for values in (events, losses[~at_end], losses[at_end]))
        share = self._config.end_weight
        total = self._config.event_weight * event + (1 - share) * prefix + share * end
        f1 = weighted_f1(labels[at_end] > 0, (logits[at_end] > 0) & known[at_end])
        return Held(total, event, prefix, end, f1, self._lead(losses[at_end]))


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0


def _score(model: LabelModel, batch: Batch, chosen: NDArray[np.bool_]) -> tuple[NDArray[Any], ...]:
    """Next-event losses where `chosen`; label logits, labels, known labels, `at_end` there and at ends."""
    labels_at = chosen | batch.at_end
    following = np.roll(batch.ids, -1, axis=1)
    events_at = chosen & model.can_follow[following]
    result = model.densities(batch, events_at=events_at, labels_at=labels_at)
    assert result.events is not None
    assert result.labels is not None
    target = torch.as_tensor(following[events_at], device=result.events.device)
    events = F.cross_entropy(result.events.float(), target, reduction="none")
    rows = np.nonzero(labels_at)[0]
    labels, logits = batch.labels[rows], result.labels.double().cpu().numpy()
    known = np.ones(labels.shape, bool) if batch.known is None else batch.known[rows]
    return events.double().cpu().numpy(), logits, labels, known, batch.at_end[labels_at]


def weighted_f1(truth: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> float:
    """F1 of each label, averaged with the labels' support as weights; 0 if no label occurs.

    >>> weighted_f1(np.array([[True, False], [True, True]]), np.array([[True, False], [False, True]]))
    0.777...
    """
    support = truth.sum(0)
    hits = (truth & predicted).sum(0)
    f1 = 2 * hits / np.maximum(support + predicted.sum(0), 1)
    return float(f1 @ support / support.sum()) if support.any() else 0.0
