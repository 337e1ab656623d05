"""What training minimises: the next-event loss at some positions, the label loss before and at the end.

The softmax dominates the cost of the next event. It is therefore computed at a share of positions only and,
for large vocabularies, over a sample of event types that all positions of a batch share. Each sampled logit
is lowered by the log of its expected number of draws, so that the sum of exponentials over the sample is on
average the sum over all event types.
"""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own short form)
from numpy.typing import NDArray
from torch import Tensor

from eventcargo.batches import Batch
from eventcargo.models.label_model import LabelModel
from eventcargo.models.training.config import LossConfig
from eventcargo.models.transformer.model import Transformer
from eventcargo.vocabulary import BOS, PAD, UNK


@dataclass(frozen=True)
class Targets:
    """The positions where a batch is scored, and their weights, which sum to 1 over the whole batch."""

    events_at: NDArray[np.bool_]  # (B, L)
    event_weights: NDArray[np.float32]  # (B, L)
    labels_at: NDArray[np.bool_]  # (B, L)
    label_weights: NDArray[np.float32]  # (B, L)
    following: NDArray[np.int64]  # (B, L): the next ids

    def rows(self, which: slice) -> "Targets":
        """The targets of the selected sequences, with their weights in the whole batch."""
        return Targets(
            self.events_at[which],
            self.event_weights[which],
            self.labels_at[which],
            self.label_weights[which],
            self.following[which],
        )


def draw_targets(
    batch: Batch, config: LossConfig, rng: np.random.Generator, *, events: bool = True, labels: bool = True
) -> Targets:
    """Random positions for one step, of events, labels or both; labels weigh more near the end."""
    draw = rng.random((2, *batch.ids.shape))
    inside = batch.mask & ~batch.at_end
    events_at = inside & (draw[0] < config.event_share) & (events and config.event_weight > 0)
    known = ((batch.labels.sum(1) > 0) | (not config.unlabelled)) & labels
    prefix_at = inside & (draw[1] < config.prefix_share) & known[:, None]
    end_at = batch.at_end & known[:, None]
    reached = (np.arange(batch.ids.shape[1]) + 1) / batch.lengths[:, None]  # (B, L)
    label_weights = (1 - config.end_weight) * _normed(prefix_at * reached) + config.end_weight * _normed(
        end_at
    )
    following = np.roll(batch.ids, -1, axis=1)
    return Targets(events_at, _normed(events_at), prefix_at | end_at, label_weights, following)


def hide_types(batch: Batch, share: float, rng: np.random.Generator) -> Batch:
    """The batch with a share of the event types hidden, in about every other sequence.

    >>> ids = np.array([[1, 4, 5, 4, 2]])
    >>> batch = Batch(ids, np.zeros(ids.shape, np.float32), np.array([5]), np.zeros((1, 0), np.float32))
    >>> hide_types(batch, 0.5, np.random.default_rng(1)).ids.tolist()
    [[1, 3, 5, 3, 2]]
    """
    rows = np.arange(len(batch.ids))[:, None] * (int(batch.ids.max(initial=0)) + 1)
    kinds, which = np.unique(rows + batch.ids, return_inverse=True)  # the event types of every sequence
    chosen = (rng.random(len(kinds)) < share)[which].reshape(batch.ids.shape)
    chosen &= (rng.random(len(batch.ids)) < 0.5)[:, None] & (batch.ids > UNK)
    return batch.hide(chosen)


def _normed(weights: NDArray[np.generic]) -> NDArray[np.float32]:
    total = weights.sum()
    return (weights / total if total else weights).astype(np.float32)


class Sampler:
    """Draws event types by smoothed frequency, for the sampled softmax."""

    def __init__(self, rates: NDArray[np.float64], count: int) -> None:
        shares = rates**0.75
        shares[[PAD, BOS]] = 0  # they never come next
        shares /= shares.sum()
        self._cumulative = np.cumsum(shares)
        self.log_expected = np.log(count * np.maximum(shares, 1e-12)).astype(np.float32)
        self._count = count

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Ids drawn with replacement: (count,)."""
        at = np.searchsorted(self._cumulative, rng.random(self._count), side="right")
        return np.minimum(at, len(self._cumulative) - 1).astype(np.int64)


def event_loss(
    model: Transformer, states: Tensor, targets: Tensor, sampler: Sampler | None, drawn: NDArray[np.int64]
) -> Tensor:
    """Cross-entropy of the next ids (positions,) given states (positions, D), one value per position."""
    if sampler is None:
        return F.cross_entropy(model.event_logits(states).float(), targets, reduction="none")
    candidates = torch.as_tensor(drawn, device=states.device)
    expected = torch.as_tensor(sampler.log_expected[drawn], device=states.device)
    asked = torch.cat([candidates, targets])  # one lookup of both: its gradient is as large as the vocabulary
    weight, own_weight = model.event_rows(asked).tensor_split([len(candidates)])
    bias, own_bias = model.event_bias[asked].tensor_split([len(candidates)])
    others = F.linear(states, weight, bias - expected).float()  # (positions, count)
    others = others.masked_fill(candidates[None] == targets[:, None], -torch.inf)
    own = (states * own_weight).sum(-1).float() + own_bias  # (positions,)
    return torch.logaddexp(own, others.logsumexp(-1)) - own


def label_loss(logits: Tensor, labels: Tensor, pos_weight: float, known: Tensor | None = None) -> Tensor:
    """Binary cross-entropy of (positions, labels), summed over the known labels: nats per position."""
    weight = torch.full((labels.shape[1],), pos_weight, device=labels.device)
    losses = F.binary_cross_entropy_with_logits(logits.float(), labels, pos_weight=weight, reduction="none")
    return (losses if known is None else losses * known).sum(1)


def joint_loss(
    model: LabelModel,
    batch: Batch,
    targets: Targets,
    config: LossConfig,
    sampler: Sampler | None,
    drawn: NDArray[np.int64],
) -> Tensor:
    """The weighted loss of some sequences of a batch; the losses of all parts add up to the batch's."""
    needs_labels = bool(model.label_names) and bool(targets.labels_at.any())
    x, y = model.states(batch, for_labels=needs_labels)
    total = x.new_zeros((), dtype=torch.float32)
    if targets.events_at.any():
        assert isinstance(model, Transformer)  # no other model trains the next event
        at = torch.as_tensor(targets.events_at, device=x.device)
        following = torch.as_tensor(targets.following[targets.events_at], device=x.device)
        losses = event_loss(model, x[at], following, sampler, drawn)
        total = total + config.event_weight * (losses @ _weights(targets.event_weights, targets.events_at, x))
    if needs_labels:
        logits = model.label_logits(y, batch, targets.labels_at)
        rows = np.nonzero(targets.labels_at)[0]
        wanted = torch.as_tensor(batch.labels[rows], device=y.device)
        known = None if batch.known is None else torch.as_tensor(batch.known[rows], device=y.device)
        losses = label_loss(logits, wanted, config.pos_weight, known)
        total = total + losses @ _weights(targets.label_weights, targets.labels_at, y)
    return total


def _weights(weights: NDArray[np.float32], at: NDArray[np.bool_], like: Tensor) -> Tensor:
    return torch.as_tensor(weights[at], device=like.device)
