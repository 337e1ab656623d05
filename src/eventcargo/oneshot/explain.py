"""Explanation: which events of one sequence moved which label, when, and how probable it is without them.

Where each of several event types would have been enough, none of them moves the label alone; the sets of an
explanation name them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from eventcargo.batches import Batch, Batches, kept_attributes, places_in_sequence, report_cuts
from eventcargo.errors import ConfigError, DataError, counted
from eventcargo.events import EventDataset, EventSequence
from eventcargo.html_tables import MAX_ROWS, block, folded, number, paragraph, table
from eventcargo.models.density import DensityModel, check_values
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.total import TotalTest, minimal_sets
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
SETS: dict[str, pl.DataType] = {
    "label": pl.String(),
    "events": pl.List(pl.String()),  # hidden together, in the order of their first occurrence
    "without": pl.Float64(),  # P(label | sequence with all of them hidden)
    "effect": pl.Float64(),  # P(label | sequence) - without
    "strength": pl.Float64(),  # nats
}

SHOWN_STRENGTH = 0.01
"""Smallest strength of an event type where an explanation shows itself, in nats."""

SHOWN_CAUSES = 3
"""Causes of a label in the text of an explanation."""

OPEN_LABELS = 3
"""Labels that are open in a notebook; the others open with a click."""

MAX_SETS = 5
"""Most sets of a label, the strongest."""

MIN_STRENGTH = ExtractConfig().threshold
"""A set moves its label by more than this, in nats, as an edge does."""


ENOUGH = {
    1: "",
    2: ": given the rest, either of these two would have been enough",
    3: ": given the rest, any one of these three would have been enough",
}
"""What a set says about its members, by its size."""


def _no_sets() -> pl.DataFrame:
    return pl.DataFrame(schema=SETS)


@dataclass(frozen=True, repr=False)
class Explanation:
    """What moved the labels of one sequence.

    `probabilities` holds P(label | sequence) of every explained label, most probable first. `moves` has one
    row per explained label and event that the model reads; event types that the data adjust for are no causes
    and have none. All occurrences of an event type are hidden together, so its rows share `without`, `effect`
    and `strength`; these are null for an event type that the model does not know.

    `sets` has the smallest sets of event types that decide a label: without all of them its probability is on
    the other side of 1/2, and without only some of them nearly what it is. At most `MAX_SETS` of a label are
    kept, of one to three event types, the strongest first.
    """

    sequence: EventSequence
    probabilities: dict[str, float]
    moves: pl.DataFrame
    sets: pl.DataFrame = field(default_factory=_no_sets)

    def causes(self, label: str, min_strength: float = 0.0) -> pl.DataFrame:
        """Event types that move a label by more than `min_strength` nats, strongest first, each once."""
        if label not in self.probabilities:
            raise KeyError(f"label {label!r} is not explained; use one of {list(self.probabilities)}")
        of_label = self.moves.filter(pl.col("label") == label, pl.col("strength") > min_strength)
        first = of_label.unique("event", keep="first", maintain_order=True)
        return first.sort(["strength", "position"], descending=[True, False]).drop("label", "so_far")

    def __repr__(self) -> str:
        lines = [self._line(label) for label in list(self.probabilities)[:MAX_ROWS]]
        more = len(self.probabilities) - len(lines)
        lines += [f"... and {more:,} more"] if more else []
        labels = "".join(f"\n  {line}" for line in lines)
        return f"Explanation of {self.sequence.id}, {counted(len(self.sequence.events), 'event')}:{labels}"

    def _line(self, label: str) -> str:
        """A label with its probability and strongest causes, in one line."""
        causes = self.causes(label, SHOWN_STRENGTH)["event"].to_list()
        more = f" and {len(causes) - SHOWN_CAUSES} more" if len(causes) > SHOWN_CAUSES else ""
        moved = (
            f"moved by {', '.join(causes[:SHOWN_CAUSES])}{more}" if causes else "moved by no event type alone"
        )
        return f"{label} {self.probabilities[label]:.3f}, {moved}"

    def _repr_html_(self) -> str:
        labels = list(self.probabilities)[:MAX_ROWS]
        bodies = [(self._label_title(label), self._label_html(label)) for label in labels]
        parts = [paragraph(f"{title}:") + body for title, body in bodies[:OPEN_LABELS]]
        rest = [folded(title, body) for title, body in bodies[OPEN_LABELS:]]
        more = len(self.probabilities) - len(labels)
        rest += [paragraph(f"and {more:,} more", "faint")] if more else []
        note = (
            "The time is counted from the first event. Without: the probability with the event type hidden."
        )
        title = f"Explanation of {self.sequence.id}, {counted(len(self.sequence.events), 'event')}"
        return block(title, *parts, *rest, paragraph(note, "faint"))

    def _label_title(self, label: str) -> str:
        carried = ", carried by the sequence" if label in self.sequence.labels else ""
        return f"{label} has a probability of {number(self.probabilities[label])}{carried}"

    def _label_html(self, label: str) -> str:
        """The causes of a label as a table, and its sets in words."""
        columns = [
            "event type",
            "count",
            "first position",
            "first time",
            "without",
            "effect",
            "strength (nats)",
        ]
        start, events = self.sequence.times[0], self.sequence.events
        rows = [
            [move["event"], events.count(move["event"]), move["position"], move["time"] - start]
            + [move[name] for name in ("without", "effect", "strength")]
            for move in self.causes(label, SHOWN_STRENGTH).iter_rows(named=True)
        ]
        causes = table(columns, rows) if rows else paragraph("No event type alone moves it.")
        return causes + "".join(paragraph(words) for words in self.in_words(label, min_size=2))

    def in_words(self, label: str, min_size: int = 1) -> list[str]:
        """A sentence for each set of a label with at least `min_size` event types."""
        own = self.sets.filter(pl.col("events").list.len() >= min_size, label=label)
        probability, happened = self.probabilities[label], label in self.sequence.labels
        rows = own.select("events", "without").iter_rows()
        return [_sentence(label, events, probability, without, happened) for events, without in rows]


def _sentence(label: str, events: Sequence[str], probability: float, without: float, happened: bool) -> str:
    """What a set says.

    >>> _sentence("brake", ["A", "B"], 0.98, 0.03, happened=True).split(": ")[0]
    'With neither A nor B, brake would not have happened (0.980 to 0.030)'
    >>> _sentence("brake", ["A", "B", "C"], 0.02, 0.9, happened=False).split(": ")[1]
    'given the rest, any one of these three would have been enough.'
    """
    every, size = _listed(events), len(events)
    enough = ENOUGH[size]
    if probability >= 0.5:
        absent = {1: f"Without {every}", 2: f"With neither {' nor '.join(events)}"}
        gone = "would not have happened" if happened else "would not be expected"
        lead = absent.get(size, f"With none of {every}")
        return f"{lead}, {label} {gone} ({probability:.3f} to {without:.3f}){enough}."
    absent = {1: "without it", 2: "with neither of them"}
    held = f"made {label} improbable" if happened else f"held {label} off"
    lead = absent.get(size, "with none of them")
    return f"{every} {held} ({probability:.3f}, {lead} {without:.3f}){enough}."


def _listed(names: Sequence[str]) -> str:
    """Names as in a sentence.

    >>> _listed(["A", "B", "C"])
    'A, B and C'
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


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
        pl.concat([_no_sets(), *(_sets(model, batch, column) for column in columns)]),
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


def _sets(model: DensityModel, batch: Batch, column: int) -> pl.DataFrame:
    """One row per set, for one label."""
    wanted = np.arange(len(model.label_names))[None] == column
    allowed = np.ones((len(model.label_names), len(model.vocabulary)), bool)
    allowed[:, list(model.vocabulary.numbered_kinds.adjusted)] = False
    sets = minimal_sets(model, batch, wanted, MIN_STRENGTH, allowed)
    sets = sets.take(np.arange(min(len(sets), MAX_SETS)))
    shown = batch.ids[0].tolist()
    events = [
        sorted(ids[:size].tolist(), key=shown.index) for ids, size in zip(sets.ids, sets.sizes, strict=True)
    ]
    return pl.DataFrame(
        {
            "label": [model.label_names[column]] * len(sets),
            "events": [model.vocabulary.decode(ids) for ids in events],
            "without": sets.probability_without,
            "effect": sets.effect,
            "strength": sets.strength,
        },
        schema=SETS,
    )
