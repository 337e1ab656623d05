"""odds_ratios: how much higher the odds of a label are with each member of its boundary, the others alike.

A p-value says whether an edge is there, an odds ratio how much it matters: 4 means that with the event type
the odds of the label are four times as high. It is that of presence, whatever else the event type does: one
that acts by its order, number or time alone has an odds ratio near 1.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.statistics.contingency import Contingency, Rows
from eventcargo.statistics.exact_g2 import PatternCounts
from eventcargo.statistics.odds_ratio import OddsRatios

COLUMNS = ("odds_ratio", "odds_low", "odds_high")

NOWHERE: Rows = np.zeros(0, np.int32)
"""The sequences with an event type that the data do not have."""


def odds_ratios(graph: LabelGraph, data: EventDataset) -> LabelGraph:
    """The graph with the odds ratio of every edge and its 95 % interval.

    Each is adjusted for the other members of the boundary and for what the data adjust for, among the
    sequences for which the label is known. It is null where nothing can be compared: if all of these
    sequences have the event type or none has it, if all carry the label or none does, or if the event type
    cannot be told from other members. Groups of sequences widen the interval by their design effect.

    >>> from eventcargo.events import EventSequence
    >>> kinds = [("P01", "brake"), ("P01", "brake"), ("P01", ""), ("U02", "brake"), ("U02", ""), ("U02", "")]
    >>> data = EventDataset.from_sequences(
    ...     [EventSequence(f"{i:03}", (event,), (0.0,), (label,) if label else ())
    ...      for i, (event, label) in enumerate(kinds * 50)])
    >>> found = odds_ratios(LabelGraph.from_boundaries({"brake": ["P01"]}), data)
    >>> found.edges.select(pl.col("^odds.*$").round(2)).row(0)
    (3.96, 2.47, 6.43)
    """
    found = [row for study in data.studies() for row in _of_study(graph, study)]
    schema = {"label": pl.String, "event": pl.String} | dict.fromkeys(COLUMNS, pl.Float64)
    table = pl.DataFrame(found, schema=schema, orient="row").with_columns(pl.col(COLUMNS).fill_nan(None))
    bare = graph.edges.drop(COLUMNS, strict=False)
    edges = bare.join(table, on=["label", "event"], how="left", maintain_order="left")
    return replace(graph, edges=edges)


def _of_study(graph: LabelGraph, study: EventDataset) -> Iterator[tuple[str, str, float, float, float]]:
    """Label, event type, odds ratio and its interval, for the labels of one study."""
    for label, members, patterns in boundary_patterns(study, graph.boundaries):
        found = OddsRatios.of(patterns)
        for at, event in enumerate(members):
            yield label, event, float(found.ratio[at]), float(found.low[at]), float(found.high[at])


def boundary_patterns(
    study: EventDataset, boundaries: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, Sequence[str], PatternCounts]]:
    """Every label of a study that has a boundary, its members, and the patterns in which these occur."""
    counts = Contingency(study.incidence)
    numbers = {name: number for number, name in enumerate(study.event_names)}

    def rows(names: Sequence[str]) -> list[Rows]:
        return [counts.rows(numbers[name]) if name in numbers else NOWHERE for name in names]

    for label, positives in zip(study.label_names, study.positives(), strict=True):
        if not (members := boundaries.get(label, ())):
            continue
        adjusted = rows([name for name in study.kinds.adjusted if name not in members])
        yield (
            label,
            members,
            PatternCounts.of_rows(rows(members), positives, len(study), adjusted, study.groups),
        )
