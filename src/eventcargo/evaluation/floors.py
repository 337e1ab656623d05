"""Trivial floors and the best reachable score.

Neither learns anything: a method that does not beat the floors has found nothing, and a method at the ceiling
cannot be improved on these data.
"""

from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.evaluation.boundaries import score_pairs
from eventcargo.evaluation.reference import EventMap, Reference
from eventcargo.evaluation.scores import Scores, score_labels
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph


def predict_all(
    data: EventDataset, truth: LabelGraph, *, negated: bool = True, event_of: EventMap | None = None
) -> Scores:
    """Scores of the graph with every event type of the data in every boundary, without building it.

    >>> from eventcargo import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("car1", ("P01", "U02"), (0, 1), ("brake",))])
    >>> predict_all(data, LabelGraph.from_boundaries({"brake": ["P01"]})).micro.precision
    0.5
    """
    reference = Reference.from_truth(truth, negated=negated, event_of=event_of)
    presence, names = _presence(data, event_of)
    used = pl.DataFrame({"event": [names[i] for i in np.unique(presence.indices)]}, {"event": pl.String})
    hits = reference.pairs.join(used, on="event", how="semi")
    ignored = reference.ignored.join(used, on="event", how="semi")
    counts = reference.labels.join(reference.count("n_true", reference.pairs), on="label")
    counts = counts.join(reference.count("n_hit", hits), on="label")
    counts = counts.join(reference.count("n_ignored", ignored), on="label")
    return score_labels(counts.with_columns(n_found=len(used) - pl.col("n_ignored")))


def most_frequent(
    data: EventDataset, truth: LabelGraph, *, negated: bool = True, event_of: EventMap | None = None
) -> LabelGraph:
    """A graph of the most frequent event types of every label, as many as its true boundary has.

    `frequency` is the share of sequences with the label in which the event type occurs; ties go by name.
    Event types have mapped names.

    >>> from eventcargo import EventSequence
    >>> data = EventDataset.from_sequences([
    ...     EventSequence("car1", ("P01", "U02"), (0, 1), ("brake",)),
    ...     EventSequence("car2", ("U02",), (0,), ("brake",)),
    ... ])
    >>> most_frequent(data, LabelGraph.from_boundaries({"brake": ["P01"]})).boundary("brake")
    ['U02']
    """
    reference = Reference.from_truth(truth, negated=negated, event_of=event_of)
    together, names = _together(data, event_of)
    sizes = dict(reference.count("n_true", reference.pairs).iter_rows())
    edges = [
        {"label": label, "event": names[i], "frequency": count / data.support[j]}
        for j, label in enumerate(data.label_names)
        for i, count in _largest(together, j, sizes.get(label, 0))
    ]
    # The strength orders a boundary; the frequency is all that was measured.
    schema = {"label": pl.String, "event": pl.String, "frequency": pl.Float64}
    table = pl.DataFrame(edges, schema).with_columns(strength=pl.col("frequency"))
    support = dict(zip(data.label_names, data.support.tolist(), strict=True))
    return LabelGraph.from_edges(table, {label: support.get(label, 0) for label in truth.labels})


def coverage_ceiling(
    data: EventDataset, truth: LabelGraph, *, negated: bool = True, event_of: EventMap | None = None
) -> Scores:
    """Scores of the best graph that these data allow: the truth without edges that leave no trace in them.

    An edge can be found if its event type occurs in at least one sequence with the label; an edge with sign
    -1, if its event type occurs in the data at all.

    >>> from eventcargo import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("car1", ("P01",), (0,), ("brake",))])
    >>> coverage_ceiling(data, LabelGraph.from_boundaries({"brake": ["P01", "never here"]})).micro.recall
    0.5
    """
    reference = Reference.from_truth(truth, negated=negated, event_of=event_of)
    together, names = _together(data, event_of)
    presence, _ = _presence(data, event_of)
    label_ids = {label: j for j, label in enumerate(data.label_names)}
    event_ids = {event: i for i, event in enumerate(names)}
    occurs = set(np.unique(presence.indices).tolist())
    occurs_with = {label: set(_row(together, j)[0].tolist()) for label, j in label_ids.items()}
    reachable = [
        (label, event)
        for label, event, is_negated in reference.pairs.iter_rows()
        if event_ids.get(event) in (occurs if is_negated else occurs_with.get(label, ()))
    ]
    edges = pl.DataFrame(reachable, {"label": pl.String, "event": pl.String}, orient="row")
    return score_pairs(reference, edges)


def _presence(data: EventDataset, event_of: EventMap | None) -> tuple[sp.csr_array, list[str]]:
    """Which mapped event types occur in which sequence, and their names, sorted."""
    presence = data.presence()
    if event_of is None:
        return presence, list(data.event_names)
    renamed = [event_of(name) for name in data.event_names]
    names = sorted(set(renamed))
    at = {name: i for i, name in enumerate(names)}
    columns = np.array([at[name] for name in renamed], np.int64)
    ones = np.ones(len(columns), np.int32)
    merge = sp.csr_array((ones, (np.arange(len(columns)), columns)), shape=(len(columns), len(names)))
    merged = sp.csr_array(presence @ merge)
    merged.data[:] = 1
    return merged, names


def _together(data: EventDataset, event_of: EventMap | None) -> tuple[sp.csr_array, list[str]]:
    """Number of sequences in which label and event type occur together: (labels, event types)."""
    presence, names = _presence(data, event_of)
    return sp.csr_array(data.label_matrix().T @ presence), names


def _row(matrix: sp.csr_array, row: int) -> tuple[NDArray[Any], NDArray[Any]]:
    start, stop = matrix.indptr[row], matrix.indptr[row + 1]
    return matrix.indices[start:stop], matrix.data[start:stop]


def _largest(matrix: sp.csr_array, row: int, size: int) -> list[tuple[int, int]]:
    """The `size` largest nonzero entries of a row as (column, value); ties go by column."""
    columns, values = _row(matrix, row)
    order = np.lexsort((columns, -values))[:size]
    return list(zip(columns[order].tolist(), values[order].tolist(), strict=True))
