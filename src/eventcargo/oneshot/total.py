"""Total conditioning: each event type of a sequence is tested given the rest of the sequence.

The strength of an event type for a label is KL(P(label | sequence) || P(label | sequence with the type
hidden)); its effect is the difference of the two probabilities. All occurrences of a type are hidden
together: where presence decides, hiding one of several changes nothing, and the type would be missed. A
hidden event keeps its place and time, so hiding never makes neighbours of events that were not. An event that
merely precedes or accompanies a cause changes nothing, because the cause itself remains visible. Event types
of which each would have been enough are hidden together (`sets.py`).
"""

from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray

from eventcargo.batches import Batch
from eventcargo.models.density import DensityModel, end_logits
from eventcargo.oneshot.scores import EventScores, bernoulli_entropy, bernoulli_kl, probability_change
from eventcargo.oneshot.sets import (
    MAX_SIZE,
    NO_SETS,
    EventSets,
    HiddenTypes,
    decisive_types,
    sets_by_passes,
    sets_by_sums,
    with_members,
)
from eventcargo.vocabulary import UNK

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


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
    pairs to score; no work is spent on others. With `sets_above`, a threshold in nats, an event type that no
    more than this shows alone is scored as a member of its strongest set, given that the others are hidden.
    """

    name = "total"

    def __init__(self, allowed: Flags | None = None, sets_above: float | None = None) -> None:
        self.allowed, self.sets_above = allowed, sets_above

    def score(
        self,
        model: DensityModel,
        batch: Batch,
        wanted: NDArray[np.bool_],
        seeds: Ints | None = None,  # noqa: ARG002 (nothing is drawn)
    ) -> EventScores:
        """Scores of the event types for the wanted labels; a pair without a row has strength 0."""
        parts = _hidden_parts(model, batch, wanted, self.allowed, self.sets_above)
        return _joined([_scores(batch, alone, sets) for alone, sets in parts])


def minimal_sets(
    model: DensityModel, batch: Batch, wanted: Flags, threshold: float, allowed: Flags | None = None
) -> EventSets:
    """The minimal sets of one to three event types that decide the wanted labels, (B, labels)."""
    parts = _hidden_parts(model, batch, wanted, allowed, threshold)
    alone = [decisive_types(hidden, threshold) for hidden, _ in parts]
    return EventSets.join([*alone, *(sets for _, sets in parts)])


def _hidden_parts(
    model: DensityModel, batch: Batch, wanted: Flags, allowed: Flags | None, threshold: float | None
) -> list[tuple[HiddenTypes, EventSets]]:
    """Event types hidden one by one, and sets of them, for labels by sums and labels by passes."""
    summed = model.linear_labels
    ways = ((_by_sums, wanted & summed), (_by_passes, wanted & ~summed))
    return [way(model, batch, asked, allowed, threshold) for way, asked in ways if asked.any()]


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


def _by_sums(
    model: DensityModel, batch: Batch, wanted: Flags, allowed: Flags | None, threshold: float | None
) -> tuple[HiddenTypes, EventSets]:
    """Labels whose logit is the linear term alone."""
    changes = model.hiding_changes(batch)
    assert changes is not None
    asked = wanted[changes.rows, changes.labels]
    if allowed is not None:
        asked &= allowed[changes.labels, changes.ids]
    rows, labels, ids = (column[asked] for column in (changes.rows, changes.labels, changes.ids))
    slope, cap, whole = changes.slope[labels], changes.cap[labels], changes.logits[rows, labels]
    with_it = np.minimum(slope * whole, cap)
    without = np.minimum(slope * (whole - changes.taken[asked]), cap)
    alone = HiddenTypes(rows, labels, ids, with_it, without)
    if threshold is None:
        return alone, NO_SETS
    return alone, sets_by_sums(alone, changes, asked, threshold, model.vocabulary.numbered_kinds)


def _by_passes(
    model: DensityModel, batch: Batch, wanted: Flags, allowed: Flags | None, threshold: float | None
) -> tuple[HiddenTypes, EventSets]:
    """Labels that need one forward pass per event type that is wanted for some label."""
    columns = np.flatnonzero(wanted.any(axis=0))
    types = Types.of(batch)
    asked = wanted[np.ix_(types.rows, columns)]  # (types, columns)
    if allowed is not None:
        asked &= allowed[np.ix_(columns, types.ids)].T
    matters = model.hiding_matters(columns)
    if matters is not None:
        asked &= matters[:, types.ids].T
    whole = end_logits(model, batch, columns)
    at, column = np.nonzero(asked)
    at, column = (each[np.lexsort((types.ids[at], column, types.rows[at]))] for each in (at, column))
    rows, ids, labels = types.rows[at], types.ids[at], columns[column]
    without = model.hidden_logits(batch, rows, ids[:, None], labels)
    alone = HiddenTypes(rows, labels, ids, whole[rows, column], without)
    if threshold is None:
        return alone, NO_SETS

    def hide(rows: Ints, labels: Ints, ids: Ints) -> Floats:
        return model.hidden_logits(batch, rows, ids, labels)

    return alone, sets_by_passes(alone, hide, threshold, model.vocabulary.numbered_kinds)


def _first_positions(types: Types, rows: Ints, ids: Ints) -> Ints:
    size = int(max(types.ids.max(initial=0), ids.max(initial=0))) + 1
    at = np.searchsorted(types.rows * size + types.ids, rows * size + ids)
    return types.positions[at]


def _scores(batch: Batch, alone: HiddenTypes, sets: EventSets) -> EventScores:
    """Scores from logits with and without an event type, sorted by row, label and position."""
    with_it, without, others = with_members(alone, sets)
    pair = torch.from_numpy(with_it), torch.from_numpy(without)
    strength, effect = bernoulli_kl(*pair).numpy(), probability_change(*pair).numpy()
    positions = _first_positions(Types.of(batch), alone.rows, alone.ids)
    order = np.lexsort((positions, alone.labels, alone.rows))
    zeros, ones = np.zeros(len(order)), np.ones(len(order), np.int64)
    before, entropy = torch.sigmoid(pair[1]).numpy(), bernoulli_entropy(pair[1]).numpy()
    columns = (strength, effect, zeros, ones, before, entropy, others)
    return EventScores(alone.rows, alone.labels, positions, *columns).take(order)


def _joined(blocks: list[EventScores]) -> EventScores:
    columns = {
        field.name: np.concatenate([_none(field.name), *(getattr(block, field.name) for block in blocks)])
        for field in fields(EventScores)
    }
    joined = EventScores(**columns)
    return joined.take(np.lexsort((joined.positions, joined.labels, joined.rows)))


def _none(name: str) -> NDArray[np.int64] | Floats:
    """An empty column of scores."""
    if name == "others":
        return np.zeros((0, MAX_SIZE - 1), np.int64)
    is_whole = name in ("rows", "labels", "positions", "particles")
    return np.zeros(0, np.int64) if is_whole else np.zeros(0)
