"""Evidence: for every label the few sequences that show its causes best, with each event's effect.

A label can have thousands of sequences; the page holds a handful of either kind, those that carry the label
and those that do not. They are chosen so that together they show as many of the causes as possible.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eventcargo.edges import EdgeTable
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.sequences import EventSequence

POLARITIES = ("present", "absent")
CANDIDATES = 20
"""Sequences looked at for each cause, the strongest ones."""

MAX_EVENTS = 200
"""Events of a sequence that are shown; of a longer one those nearest to the events that had an effect."""


@dataclass(frozen=True)
class Shown:
    """A sequence as the page shows it for one label: the positions kept, and what moved the label."""

    sequence: EventSequence
    carries: bool
    positions: NDArray[np.int64]
    effects: Mapping[int, float]  # by position


def choose(graph: LabelGraph, table: EdgeTable, most: int) -> pl.DataFrame:
    """The sequences to show, at most `most` for a label, as rows of label, polarity and sequence.

    Those that carry the label come first; the others get up to half of the places.

    >>> choose(LabelGraph.from_boundaries({"brake": []}), EdgeTable.join([]), most=8).columns
    ['label', 'polarity', 'sequence']
    """
    wanted = table.edges.join(graph.edges.select("label", "event"), on=["label", "event"], how="semi")
    strongest = wanted.group_by("label", "polarity", "event", "sequence").agg(pl.col("strength").max())
    cause = ["label", "polarity", "event"]
    least = pl.col("strength").top_k(CANDIDATES).min().over(cause)  # sorting all edges would take longer
    near = strongest.filter(pl.col("strength") >= least).sort([*cause, "strength", "sequence"])
    near = near.filter(pl.int_range(pl.len()).reverse().over(cause) < CANDIDATES)
    candidates = strongest.join(near, on=["label", "polarity", "sequence"], how="semi").sort("label")
    rows = []
    for (label,), part in candidates.group_by("label", maintain_order=True):
        kinds = {kind: _cover(part.filter(polarity=kind), most) for kind in POLARITIES}
        n_absent = min(len(kinds["absent"]), max(most // 2, most - len(kinds["present"])))
        kept = {"present": kinds["present"][: most - n_absent], "absent": kinds["absent"][:n_absent]}
        rows += [(label, kind, sequence) for kind in POLARITIES for sequence in kept[kind]]
    return pl.DataFrame(rows, dict.fromkeys(("label", "polarity", "sequence"), pl.String), orient="row")


def _cover(part: pl.DataFrame, most: int) -> list[str]:
    """Sequences that show the causes one has not seen yet first, then the stronger ones."""
    shows: dict[str, dict[str, float]] = {}
    for sequence, event, strength in part.select("sequence", "event", "strength").iter_rows():
        shows.setdefault(sequence, {})[event] = strength
    chosen: list[str] = []
    unseen = set(part["event"])
    while shows and len(chosen) < most:
        best = min(
            shows, key=lambda name: (-len(unseen & shows[name].keys()), -sum(shows[name].values()), name)
        )
        unseen -= shows.pop(best).keys()
        unseen = unseen or set(part["event"])
        chosen.append(best)
    return chosen


def show(chosen: pl.DataFrame, table: EdgeTable, data: EventDataset) -> Iterator[tuple[str, Shown]]:
    """Every chosen sequence with its label, in the order chosen; one that is not in the data is refused."""
    named = chosen["sequence"].unique(maintain_order=True).to_list()
    part = data.select(named)
    row_of = {name: row for row, name in enumerate(named)}
    found = table.edges.join(chosen, on=["label", "polarity", "sequence"], how="semi")
    edges: dict[tuple[str, str], list[tuple[str, str, int, float]]] = {}
    for label, sequence, *edge in found.select(
        "label", "sequence", "test", "event", "position", "effect"
    ).iter_rows():
        edges.setdefault((label, sequence), []).append(tuple(edge))
    for label, polarity, name in chosen.iter_rows():
        sequence = part[row_of[name]]
        effects = _effects(edges[label, name], sequence.events)
        yield label, Shown(sequence, polarity == "present", _nearest(len(sequence), effects), effects)


def _effects(edges: list[tuple[str, str, int, float]], events: Sequence[str]) -> dict[int, float]:
    """The effect at each position that has one.

    By total conditioning all occurrences of a type have their effect together; by the prefix test one has.
    Where both were made, the former counts.
    """
    effects = {position: effect for test, _, position, effect in edges if test == "prefix"}
    together = {event: effect for test, event, _, effect in edges if test == "total"}
    effects |= {at: together[event] for at, event in enumerate(events) if event in together}
    return effects


def _nearest(n_events: int, effects: Mapping[int, float]) -> NDArray[np.int64]:
    """Positions to show: all, or those nearest to an event with an effect, strong effects first."""
    if n_events <= MAX_EVENTS:
        return np.arange(n_events)
    strong = sorted(effects, key=lambda at: (-abs(effects[at]), at))[:MAX_EVENTS]
    distances = np.abs(np.arange(n_events)[:, None] - np.array(strong or [0])).min(axis=1)
    return np.sort(np.argsort(distances, kind="stable")[:MAX_EVENTS])
