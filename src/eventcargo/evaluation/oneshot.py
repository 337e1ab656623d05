"""The one-shot protocol: compare edges of single sequences with the true event types that occur there.

A unit is a sequence with one label that it carries and the truth knows. Its true event types are the members
of the label's boundary that occur in the sequence. A unit without any has nothing to find: it is left out
together with its edges, and counted.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from eventcargo.errors import DataError, EventCargoWarning, counted
from eventcargo.evaluation.reference import EventMap, Reference
from eventcargo.evaluation.scores import COUNTS, MEASURES, Scores, mean_of, pooled, with_ratios
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph

UNIT = ["row", "label"]


@dataclass(frozen=True)
class OneshotScores(Scores):
    """Scores over units. `support` of a label is its number of units; its measures are means over them.

    `weighted` is the mean over units, `macro` the mean over labels with a unit, `micro` pools the counts of
    all units. `n_empty` units without a true event type are left out.
    """

    n_units: int = 0
    n_empty: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dictionaries, ready for JSON."""
        return {"n_units": self.n_units, "n_empty": self.n_empty, **super().to_dict()}


def evaluate_oneshot(
    edges: pl.DataFrame,
    data: EventDataset,
    truth: LabelGraph,
    *,
    negated: bool = True,
    event_of: EventMap | None = None,
) -> OneshotScores:
    """Precision, recall and F1 of the edges of single sequences.

    Parameters
    ----------
    edges
        One row per edge: sequence, label, event. An event type found at several positions counts once.
    negated, event_of
        As in `evaluate`; `event_of` maps the event names of the data as well.

    >>> from eventcargo import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("car1", ("P01", "X"), (0, 1), ("brake",))])
    >>> truth = LabelGraph.from_boundaries({"brake": ["P01", "never here"]})
    >>> edges = pl.DataFrame({"sequence": ["car1"] * 2, "label": ["brake"] * 2, "event": ["P01", "X"]})
    >>> evaluate_oneshot(edges, data, truth).weighted
    Average(precision=0.5, recall=1.0, f1=0.666...)
    """
    reference = Reference.from_truth(truth, negated=negated, event_of=event_of)
    units = carried_labels(data, reference)
    placed = _place(_checked(edges), data)
    inside = placed.join(units, on=UNIT, how="semi")
    if len(inside) < len(placed):
        warnings.warn(
            f"left out {len(placed) - len(inside):,} of {counted(len(placed), 'edge')}: the sequence is not "
            "in the data or does not carry the label, or the label is not in the truth",
            EventCargoWarning,
            stacklevel=2,
        )
    found = reference.comparable(inside)
    true = true_members(units, data, reference)
    hits = found.join(true, on=[*UNIT, "event"], how="semi")
    for name, table in zip(COUNTS, (true, found, hits), strict=True):
        units = units.join(count_rows(name, table), on=UNIT, how="left")
    return score_units(units.fill_null(0))


def carried_labels(data: EventDataset, reference: Reference) -> pl.DataFrame:
    """The units: row (of the sequence), label."""
    rows = np.repeat(np.arange(len(data)), data.label_rows.lengths)
    names = pl.Series(data.label_names, dtype=pl.String)
    labels = names.gather(data.label_rows.gather(data.labels))
    return pl.DataFrame({"row": rows, "label": labels}).join(reference.labels, on="label", how="semi")


def true_members(units: pl.DataFrame, data: EventDataset, reference: Reference) -> pl.DataFrame:
    """The true event types of every unit: row, label, event."""
    return _members_present(units, data, reference.pairs, reference.event_of)


def ignored_members(units: pl.DataFrame, data: EventDataset, reference: Reference) -> pl.DataFrame:
    """The ignored event types of every unit, neither true nor false: row, label, event."""
    return _members_present(units, data, reference.ignored, reference.event_of)


def _members_present(
    units: pl.DataFrame, data: EventDataset, pairs: pl.DataFrame, event_of: EventMap | None
) -> pl.DataFrame:
    present = _occurrences(data, set(pairs["event"]), event_of)
    wanted = units.join(pairs.select("label", "event"), on="label")
    return wanted.join(present, on=["row", "event"], how="semi")


def _occurrences(data: EventDataset, wanted: set[str], event_of: EventMap | None) -> pl.DataFrame:
    """Which of the `wanted` event types occur in which sequence: row, event."""
    names = [event_of(name) if event_of else name for name in data.event_names]
    is_wanted = np.array([name in wanted for name in names], bool)
    _, events, _ = data.flat()
    positions = np.flatnonzero(is_wanted[events])
    rows = np.searchsorted(data.rows.offsets, positions, side="right") - 1
    return pl.DataFrame({"row": rows, "event": pl.Series(names, dtype=pl.String).gather(events[positions])})


def count_rows(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """Number of rows of `table` per unit: row, label, `name`."""
    return table.group_by(UNIT).agg(pl.len().cast(pl.Int64).alias(name))


def score_units(units: pl.DataFrame) -> OneshotScores:
    """Scores from one row per unit with label, n_true, n_found, n_hit."""
    scored = with_ratios(units.filter(pl.col("n_true") > 0))
    if len(scored) == 0:
        raise DataError(
            f"nothing to score: of {counted(len(units), 'sequence')} with a label of the truth, 0 have an "
            "event of its boundary; check that data and truth use the same names"
        )
    per_label = (
        scored.group_by("label")
        .agg(pl.len().cast(pl.Int64).alias("support"), pl.col(COUNTS).sum(), pl.col(MEASURES).mean())
        .sort("label")
    )
    return OneshotScores(
        per_label=per_label,
        micro=pooled(scored),
        macro=mean_of(per_label),
        weighted=mean_of(scored),
        n_units=len(scored),
        n_empty=len(units) - len(scored),
    )


def _checked(edges: pl.DataFrame) -> pl.DataFrame:
    columns = ["sequence", "label", "event"]
    for column in columns:
        if column not in edges.columns:
            raise DataError(f"edges need the column {column!r}; got {edges.columns}")
        if edges[column].dtype not in (pl.String, pl.Categorical, pl.Enum):
            raise DataError(f"column {column!r} of the edges is {edges[column].dtype}; give names")
        if edges[column].null_count():
            empty = counted(edges[column].null_count(), "edge")
            raise DataError(f"{empty} without {column}; every edge needs one")
    return edges.select(pl.col(columns).cast(pl.String))


def _place(edges: pl.DataFrame, data: EventDataset) -> pl.DataFrame:
    """Edges with the row of their sequence in place of its id, null if it is unknown: row, label, event."""
    ids = pl.Series(data.sequence_ids).cast(pl.String)
    rows = pl.DataFrame({"sequence": ids, "row": np.arange(len(data))})
    return edges.join(rows, on="sequence", how="left").select("row", "label", "event")
