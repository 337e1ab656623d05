"""Total conditioning: each event type of a sequence is tested given the whole rest of it.

The strength of an event type for a label is KL(P(label | sequence) || P(label | sequence with the type
hidden)), its effect the difference of the two probabilities. All occurrences of a type are hidden at once:
one of several would be no loss where presence decides, and the type would go unseen. A hidden event keeps its
place and time, so that hiding never makes neighbours of events that were none. An event that merely precedes
or accompanies a cause changes nothing here, because the cause itself is still seen.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray

from eventcargo.batches import Batch, packed
from eventcargo.models.density import DensityModel
from eventcargo.models.linear.hiding import hiding
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.transformer.model import Transformer
from eventcargo.oneshot.scores import EventScores, bernoulli_entropy, bernoulli_kl, probability_change
from eventcargo.vocabulary import UNK

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

TOKENS = 8_192
"""Positions of one forward pass of sequences with a hidden event type."""


@dataclass(frozen=True)
class Types:
    """The event types of the sequences of a batch, each once, by row and id, with where they occur first."""

    rows: Ints
    ids: Ints
    positions: Ints

    @classmethod
    def of(cls, batch: Batch) -> "Types":
        """What can be hidden: not BOS, EOS, padding or what is unknown anyway.

        >>> ids = np.array([[1, 5, 4, 5, 2]])
        >>> batch = Batch(ids, np.zeros(ids.shape, np.float32), np.array([5]), np.zeros((1, 0), np.float32))
        >>> found = Types.of(batch)
        >>> found.ids.tolist(), found.positions.tolist()
        ([4, 5], [2, 1])
        """
        size, width = int(batch.ids.max(initial=0)) + 1, batch.ids.shape[1]
        codes = np.arange(len(batch.ids))[:, None] * size + batch.ids
        found, first = np.unique(codes, return_index=True)
        known = found % size > UNK
        return cls(found[known] // size, found[known] % size, first[known] % width)

    def take(self, which: Ints) -> "Types":
        return Types(self.rows[which], self.ids[which], self.positions[which])


class TotalTest:
    """The test by total conditioning, for any model.

    Where a label's logit at the end is an explicit term alone, hiding is a matter of sums; otherwise every
    event type costs one forward pass of the sequence without it. `allowed`, (labels, V), says which pairs may
    be scored; on others no work is spent.
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
        """Scores of the event types that change a wanted label at all."""
        summed = linear_labels(model)
        parts = []
        if (wanted & summed).any():
            parts.append(_by_sums(model, batch, wanted & summed, self.allowed))
        if (wanted & ~summed).any():
            parts.append(_by_passes(model, batch, wanted & ~summed, self.allowed))
        return _joined(parts)


def reach(model: DensityModel, batch: Batch, allowed: Flags | None = None) -> Floats:
    """How near each label comes to being expected, at most one event type being hidden: (B, labels) logits.

    Only event types that are `allowed` for a label, (labels, V), are hidden.

    Exact where a label is an explicit term alone. Otherwise what hiding changes in the explicit term counts,
    as if the rest stayed; without such a term it is the logit of the sequence as it is.
    """
    summed = linear_labels(model)
    whole = np.empty((len(batch.ids), len(summed)))
    if not summed.all():
        whole[:, ~summed] = end_logits(model, batch, np.flatnonzero(~summed))
    if not isinstance(model, Transformer) or not isinstance(model.linear, LinearTerm):
        return whole
    found, slope = hiding(model.linear).changes(batch), model.end_slope.double().cpu().numpy()
    whole[:, summed] = (slope * found.logits)[:, summed]
    gained = np.zeros(whole.shape)
    gains = -found.taken if allowed is None else np.where(allowed[found.labels, found.ids], -found.taken, 0.0)
    np.maximum.at(gained, (found.rows, found.labels), gains)
    return whole + slope * gained


def _by_sums(model: DensityModel, batch: Batch, wanted: Flags, allowed: Flags | None) -> EventScores:
    """Scores of labels whose logit is the explicit term."""
    assert isinstance(model, Transformer)
    assert isinstance(model.linear, LinearTerm)
    found = hiding(model.linear).changes(batch)
    asked = wanted[found.rows, found.labels]
    if allowed is not None:
        asked &= allowed[found.labels, found.ids]
    rows, labels, ids = (part[asked] for part in (found.rows, found.labels, found.ids))
    slope, cap = (part.double().cpu().numpy()[labels] for part in (model.end_slope, model.label_cap))
    whole = found.logits[rows, labels]
    with_it, without = np.minimum(slope * whole, cap), np.minimum(slope * (whole - found.taken[asked]), cap)
    return _scores(rows, labels, _first_positions(Types.of(batch), rows, ids), with_it, without)


def linear_labels(model: DensityModel) -> NDArray[np.bool_]:
    """Labels whose logit at the end is an explicit term alone: (labels,)."""
    if not isinstance(model, Transformer) or not isinstance(model.linear, LinearTerm):
        return np.zeros(len(model.label_names), bool)
    return (model.gate == 0).cpu().numpy()


@torch.inference_mode()
def end_logits(model: DensityModel, batch: Batch, columns: Ints) -> Floats:
    """Logits of some labels given the whole sequences: (B, labels)."""
    found = model.densities(batch, labels_at=batch.at_end, label_columns=columns).labels
    assert found is not None
    logits: Floats = found.double().cpu().numpy()
    return logits


def _by_passes(model: DensityModel, batch: Batch, wanted: Flags, allowed: Flags | None) -> EventScores:
    """Scores by a forward pass for each event type that is asked about."""
    columns = np.flatnonzero(wanted.any(axis=0))
    types = Types.of(batch)
    asked = wanted[np.ix_(types.rows, columns)]  # (types, columns)
    if allowed is not None:
        asked &= allowed[np.ix_(columns, types.ids)].T
    types, asked = types.take(np.flatnonzero(asked.any(axis=1))), asked[asked.any(axis=1)]
    whole = end_logits(model, batch, columns)
    order = np.argsort(batch.lengths[types.rows], kind="stable")
    without = np.empty((len(order), len(columns)))
    for part in packed(order, batch.lengths[types.rows], TOKENS):
        without[part] = end_logits(model, hidden(batch, types.take(part)), columns)
    at, column = np.nonzero(asked)
    rows = types.rows[at]
    return _scores(rows, columns[column], types.positions[at], whole[rows, column], without[at, column])


def hidden(batch: Batch, types: Types) -> Batch:
    """One copy of a sequence for each event type, in which it is unknown."""
    lengths = batch.lengths[types.rows]
    width = int(lengths.max(initial=1))
    ids = batch.ids[types.rows, :width]
    part = replace(batch, **{name: getattr(batch, name)[types.rows, :width] for name in ("times", "values")})
    return replace(
        part,
        ids=np.where(ids == types.ids[:, None], UNK, ids),
        lengths=lengths,
        labels=batch.labels[types.rows],
    )


def _first_positions(types: Types, rows: Ints, ids: Ints) -> Ints:
    size = int(max(types.ids.max(initial=0), ids.max(initial=0))) + 1
    at = np.searchsorted(types.rows * size + types.ids, rows * size + ids)
    return types.positions[at]


def _scores(rows: Ints, labels: Ints, positions: Ints, whole: Floats, without: Floats) -> EventScores:
    """Scores from logits with and without an event type, in the order of rows, labels and positions."""
    pair = torch.from_numpy(whole), torch.from_numpy(without)
    strength, effect = bernoulli_kl(*pair).numpy(), probability_change(*pair).numpy()
    order = np.lexsort((positions, labels, rows))
    none, once = np.zeros(len(rows)), np.ones(len(rows), np.int64)
    before, entropy = torch.sigmoid(pair[1]).numpy(), bernoulli_entropy(pair[1]).numpy()
    return EventScores(rows, labels, positions, strength, effect, none, once, before, entropy).take(order)


def _joined(parts: list[EventScores]) -> EventScores:
    whole = ("rows", "labels", "positions", "particles")
    columns = {
        field.name: np.concatenate(
            [
                np.zeros(0, np.int64 if field.name in whole else np.float64),
                *(getattr(part, field.name) for part in parts),
            ]
        )
        for field in fields(EventScores)
    }
    joined = EventScores(**columns)
    return joined.take(np.lexsort((joined.positions, joined.labels, joined.rows)))
