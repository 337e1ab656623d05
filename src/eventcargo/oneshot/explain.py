"""Explanation: which events of one sequence moved which label, when, and how probable it is without them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from eventcargo.batches import Batch, Batches, kept_attributes, places_in_sequence, report_cuts
from eventcargo.errors import ConfigError, DataError, counted
from eventcargo.events import EventDataset, EventSequence
from eventcargo.models.density import DensityModel, check_values
from eventcargo.oneshot.total import TotalTest
from eventcargo.vocabulary import MARKS, UNK

Ints = NDArray[np.int64]

MOVES: dict[str, pl.DataType] = {
    "label": pl.String(),
    "position": pl.Int64(),  # of the event in its sequence, from 0
    "time": pl.Float64(),
    "event": pl.String(),
    "so_far": pl.Float64(),  # P(label | events up to this one)
    "without": pl.Float64(),  # P(label | sequence with this event type hidden)
    "effect": pl.Float64(),  # P(label | sequence) - without
    "strength": pl.Float64(),  # nats
}


@dataclass(frozen=True)
class Explanation:
    """What moved the labels of one sequence.

    `probabilities` holds P(label | sequence) of every explained label, most probable first. `moves` has one
    row per explained label and event that the model reads; event types that the data adjust for are no causes
    and have none. All occurrences of an event type are hidden together, so its rows share `without`, `effect`
    and `strength`; these are null for an event type that the model does not know.
    """

    sequence: EventSequence
    probabilities: dict[str, float]
    moves: pl.DataFrame

    def causes(self, label: str, min_strength: float = 0.0) -> pl.DataFrame:
        """Event types that move a label by more than `min_strength` nats, strongest first, each once."""
        if label not in self.probabilities:
            raise KeyError(f"label {label!r} is not explained; use one of {list(self.probabilities)}")
        of_label = self.moves.filter(pl.col("label") == label, pl.col("strength") > min_strength)
        first = of_label.unique("event", keep="first", maintain_order=True)
        return first.sort(["strength", "position"], descending=[True, False]).drop("label", "so_far")


def explain(model: DensityModel, sequence: EventSequence, labels: Sequence[str] | None = None) -> Explanation:
    """Explain which events moved the labels of a sequence.

    `labels` defaults to those that the sequence carries or that have a probability of at least 0.5, and the
    most probable label in any case.

    >>> from eventcargo.models import Oracle
    >>> from eventcargo.simulation.exact import ExactConfig, ExactProcess
    >>> process = ExactProcess.from_config(ExactConfig(), seed=1)
    >>> explanation = explain(Oracle(process), process.sample(50, seed=1).data[0], labels=["L000"])
    >>> explanation.moves.columns[-3:]
    ['without', 'effect', 'strength']
    """
    data = _alone(model, sequence)
    report_cuts(data, model.max_length)
    batch = Batches(data, model.vocabulary, model.max_length).take(np.array([0]))
    so_far = _so_far(model, batch)
    columns = _columns(model, sequence, labels, so_far[-1])
    places = _places(data, batch, model.max_length)
    moves = [_moves(model, sequence, batch, places, so_far, column) for column in columns]
    return Explanation(
        sequence,
        {model.label_names[column]: float(so_far[-1, column]) for column in columns},
        pl.concat([pl.DataFrame(schema=MOVES), *moves]),
    )


def _alone(model: DensityModel, sequence: EventSequence) -> EventDataset:
    """A data set that holds only this sequence."""
    if not sequence.events:
        raise DataError(f"sequence {sequence.id!r} has no events; there is nothing to explain")
    names = (model.value_names or ()) if sequence.values else ()
    data = EventDataset.from_sequences([sequence], value_names=names)
    data.kinds = model.vocabulary.kinds.only(data.event_names)
    check_values(model, data)
    return data


@torch.inference_mode()
def _so_far(model: DensityModel, batch: Batch) -> NDArray[np.float64]:
    """P(label | events up to each position), from BOS to the whole sequence: (positions, labels)."""
    logits = model.densities(batch, labels_at=batch.mask).labels
    assert logits is not None
    probabilities: NDArray[np.float64] = torch.sigmoid(logits.double()).cpu().numpy()
    return probabilities


def _columns(
    model: DensityModel,
    sequence: EventSequence,
    labels: Sequence[str] | None,
    whole: NDArray[np.float64],
) -> list[int]:
    """Columns of the labels to explain, most probable first."""
    known = {name: column for column, name in enumerate(model.label_names)}
    unknown = sorted(set(labels or ()) - set(known))
    if unknown:
        raise ConfigError(f"label {unknown[0]!r} is not among the model's {counted(len(known), 'label')}")
    if labels is None:
        carried = [known[name] for name in sequence.labels if name in known]
        chosen = {*carried, *np.flatnonzero(whole >= 0.5).tolist(), int(whole.argmax())}
    else:
        chosen = {known[name] for name in labels}
    return sorted(chosen, key=lambda column: (-whole[column], column))


def _places(data: EventDataset, batch: Batch, max_length: int) -> Ints:
    """The places in the only sequence of the events that the model reads."""
    shown = np.arange(int(batch.lengths[0]) - MARKS)
    return places_in_sequence(shown, kept_attributes(data, max_length), data.lengths - len(shown))


def _moves(
    model: DensityModel,
    sequence: EventSequence,
    batch: Batch,
    places: Ints,
    so_far: NDArray[np.float64],
    column: int,
) -> pl.DataFrame:
    """One row per event, for one label."""
    wanted = np.zeros((1, len(model.label_names)), bool)
    wanted[0, column] = True
    scores = TotalTest().score(model, batch, wanted, np.zeros(1, np.int64))
    ids, size = batch.ids[0, 1:-1], len(model.vocabulary)
    effect, strength = np.zeros(size), np.zeros(size)
    at = batch.ids[0, scores.positions]
    effect[at], strength[at] = scores.effect, scores.strength
    effect[UNK] = strength[UNK] = np.nan
    table = pl.DataFrame(
        {
            "label": [model.label_names[column]] * len(ids),
            "position": places,
            "time": np.asarray(sequence.times, np.float64)[places],
            "event": [sequence.events[place] for place in places],
            "so_far": so_far[1:-1, column],
            "without": so_far[-1, column] - effect[ids],
            "effect": effect[ids],
            "strength": strength[ids],
        },
        schema=MOVES,
    )
    causes = table.filter(~pl.col("event").is_in(model.vocabulary.kinds.adjusted))
    return causes.with_columns(pl.col("without", "effect", "strength").fill_nan(None))
