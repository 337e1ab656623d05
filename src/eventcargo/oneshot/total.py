"""Total conditioning: each event type of a sequence is tested given the rest of the sequence.

The strength of an event type for a label is KL(P(label | sequence) || P(label | sequence with the type
hidden)); its effect is the difference of the two probabilities. All occurrences of a type are hidden
together: where presence decides, hiding one of several changes nothing, and the type would be missed. A
hidden event keeps its place and time, so hiding never makes neighbours of events that were not. An event that
merely precedes or accompanies a cause changes nothing, because the cause itself remains visible.
"""

from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray

from eventcargo.batches import Batch, packed
from eventcargo.models.density import DensityModel
from eventcargo.oneshot.scores import EventScores, bernoulli_entropy, bernoulli_kl, probability_change
from eventcargo.vocabulary import UNK

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

TOKENS = 8_192
"""Positions per forward pass over sequences with a hidden event type."""


@dataclass(frozen=True)
class Types:
    """The distinct event types of each sequence of a batch, by row and id, with their first positions."""

    rows: Ints
    ids: Ints
    positions: Ints

    @classmethod
    def of(cls, batch: Batch) -> "Types":
        """The event types that can be hidden: all but BOS, EOS, padding and unknown events.

        >>> ids = np.array([[1, 5, 4, 5, 2]])
        >>> batch = Batch(ids, np.zeros(ids.shape, np.float32), np.array([5]), np.zeros((1, 0), np.float32))
        >>> types = Types.of(batch)
        >>> types.ids.tolist(), types.positions.tolist()
        ([4, 5], [2, 1])
        """
        size, width = int(batch.ids.max(initial=0)) + 1, batch.ids.shape[1]
        codes = np.arange(len(batch.ids))[:, None] * size + batch.ids
        distinct, first = np.unique(codes, return_index=True)
        known = distinct % size > UNK
        return cls(distinct[known] // size, distinct[known] % size, first[known] % width)

    def take(self, which: Ints) -> "Types":
        return Types(self.rows[which], self.ids[which], self.positions[which])


class TotalTest:
    """The test by total conditioning, for any model.

    If a label's logit at the end is the linear term alone, hiding only changes a sum; otherwise each event
    type costs one forward pass over the sequence with the type hidden. `allowed`, (labels, V), marks the
    pairs to score; no work is spent on others.
    """

    name = "total"

    def __init__(self, allowed: Flags | None = None) -> None:
        self.allowed = allowed

    def score(
        self,
        model: DensityModel,
        batch: Batch,
        wanted: NDArray[np.bool_],
        seeds: Ints | None = None,  # noqa: ARG002 (nothing is drawn)
    ) -> EventScores:
        """Scores of the event types for the wanted labels; a pair without a row has strength 0."""
        summed = model.linear_labels
        blocks = []
        if (wanted & summed).any():
            blocks.append(_by_sums(model, batch, wanted & summed, self.allowed))
        if (wanted & ~summed).any():
            blocks.append(_by_passes(model, batch, wanted & ~summed, self.allowed))
        return _joined(blocks)


def reach(model: DensityModel, batch: Batch, allowed: Flags | None = None) -> Floats:
    """The highest logit that each label reaches with at most one event type hidden: (B, labels).

    Only event types that are `allowed` for a label, (labels, V), are hidden. The result is exact for labels
    whose logit is the linear term alone. For others only the change of the linear term counts, as if the rest
    stayed the same; without a linear term it is the logit of the unchanged sequence.
    """
    summed, changes = model.linear_labels, model.hiding_changes(batch)
    whole = np.empty((len(batch.ids), len(summed)))
    if not summed.all():
        whole[:, ~summed] = end_logits(model, batch, np.flatnonzero(~summed))
    if changes is None:
        return whole
    whole[:, summed] = (changes.slope * changes.logits)[:, summed]
    allowed_taken = changes.taken if allowed is None else changes.taken * allowed[changes.labels, changes.ids]
    gained = np.zeros(whole.shape)
    np.maximum.at(gained, (changes.rows, changes.labels), -allowed_taken)
    return whole + changes.slope * gained


def _by_sums(model: DensityModel, batch: Batch, wanted: Flags, allowed: Flags | None) -> EventScores:
    """Scores of labels whose logit is the linear term alone."""
    changes = model.hiding_changes(batch)
    assert changes is not None
    asked = wanted[changes.rows, changes.labels]
    if allowed is not None:
        asked &= allowed[changes.labels, changes.ids]
    rows, labels, ids = (column[asked] for column in (changes.rows, changes.labels, changes.ids))
    slope, cap, whole = changes.slope[labels], changes.cap[labels], changes.logits[rows, labels]
    with_it = np.minimum(slope * whole, cap)
    without = np.minimum(slope * (whole - changes.taken[asked]), cap)
    return _scores(rows, labels, _first_positions(Types.of(batch), rows, ids), with_it, without)


@torch.inference_mode()
def end_logits(model: DensityModel, batch: Batch, columns: Ints) -> Floats:
    """Logits of some labels given the whole sequences: (B, labels)."""
    labels = model.densities(batch, labels_at=batch.at_end, label_columns=columns).labels
    assert labels is not None
    logits: Floats = labels.double().cpu().numpy()
    return logits


def _by_passes(model: DensityModel, batch: Batch, wanted: Flags, allowed: Flags | None) -> EventScores:
    """Scores from one forward pass per event type that is wanted for some label."""
    columns = np.flatnonzero(wanted.any(axis=0))
    types = Types.of(batch)
    asked = wanted[np.ix_(types.rows, columns)]  # (types, columns)
    if allowed is not None:
        asked &= allowed[np.ix_(columns, types.ids)].T
    types, asked = types.take(np.flatnonzero(asked.any(axis=1))), asked[asked.any(axis=1)]
    whole = end_logits(model, batch, columns)
    order = np.argsort(batch.lengths[types.rows], kind="stable")
    without = np.empty((len(order), len(columns)))
    for block in packed(order, batch.lengths[types.rows], TOKENS):
        without[block] = end_logits(model, hidden(batch, types.take(block)), columns)
    at, column = np.nonzero(asked)
    rows = types.rows[at]
    return _scores(rows, columns[column], types.positions[at], whole[rows, column], without[at, column])


def hidden(batch: Batch, types: Types) -> Batch:
    """One copy of the sequence per event type, with that type hidden."""
    copies = batch.rows(types.rows, int(batch.lengths[types.rows].max(initial=1)))
    return copies.hide(copies.ids == types.ids[:, None])


def _first_positions(types: Types, rows: Ints, ids: Ints) -> Ints:
    size = int(max(types.ids.max(initial=0), ids.max(initial=0))) + 1
    at = np.searchsorted(types.rows * size + types.ids, rows * size + ids)
    return types.positions[at]


def _scores(rows: Ints, labels: Ints, positions: Ints, whole: Floats, without: Floats) -> EventScores:
    """Scores from logits with and without an event type, sorted by row, label and position."""
    pair = torch.from_numpy(whole), torch.from_numpy(without)
    strength, effect = bernoulli_kl(*pair).numpy(), probability_change(*pair).numpy()
    order = np.lexsort((positions, labels, rows))
    zeros, ones = np.zeros(len(rows)), np.ones(len(rows), np.int64)
    before, entropy = torch.sigmoid(pair[1]).numpy(), bernoulli_entropy(pair[1]).numpy()
    return EventScores(rows, labels, positions, strength, effect, zeros, ones, before, entropy).take(order)


def _joined(blocks: list[EventScores]) -> EventScores:
    whole = ("rows", "labels", "positions", "particles")
    columns = {
        field.name: np.concatenate(
            [
                np.zeros(0, np.int64 if field.name in whole else np.float64),
                *(getattr(block, field.name) for block in blocks),
            ]
        )
        for field in fields(EventScores)
    }
    joined = EventScores(**columns)
    return joined.take(np.lexsort((joined.positions, joined.labels, joined.rows)))
