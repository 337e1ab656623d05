"""Evidence: for every label, the few sequences that show its causes best, with the effect of each event.

A label can have thousands of sequences; the page holds a handful that carry the label and a handful that do
not, chosen so that together they show as many of the causes as possible.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eventcargo.edges import POLARITIES, EdgeFolder, EdgeTable
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.sequences import EventSequence

CANDIDATES = 20
"""Number of candidate sequences for each cause: the strongest."""

MAX_EVENTS = 200
"""Most events shown of a sequence: those nearest to the events with an effect."""


STRENGTHS = ("label", "polarity", "event", "sequence", "strength")
"""Columns of an edge by which sequences are chosen."""

SHOWN = ("test", "event", "position", "effect", "others")
"""Columns of an edge that are shown."""

Edge = tuple[str, str, int, float, Sequence[str] | None]


@dataclass(frozen=True)
class Shown:
    """A sequence as shown for one label: the positions shown, and the effects of its events."""

    sequence: EventSequence
    carries: bool
    positions: NDArray[np.int64]
    effects: Mapping[int, float]  # by position
    sets: Mapping[tuple[str, ...], int]  # event types of which each would have been enough, and their sign


def choose(graph: LabelGraph, table: EdgeTable | EdgeFolder, max_sequences: int) -> pl.DataFrame:
    """Choose at most `max_sequences` sequences for each label, as rows of label, polarity and sequence.

    Sequences that carry the label come first; the others get up to half of the places.

    >>> choose(LabelGraph.from_boundaries({"brake": []}), EdgeTable.join([]), max_sequences=8).columns
    ['label', 'polarity', 'sequence']
    """
    together = (pl.col("others").list.len() > 0).fill_null(False).alias("together")
    wanted = _semi_joined(table, graph.edges.select("label", "event")).select(*STRENGTHS, together)
    cause = ["label", "polarity", "event", "together"]
    strongest = wanted.group_by(*cause, "sequence").agg(pl.col("strength").max())
    least = pl.col("strength").top_k(CANDIDATES).min().over(cause)  # sorting all edges takes longer
    near = strongest.filter(pl.col("strength") >= least).sort([*cause, "strength", "sequence"])
    near = near.filter(pl.int_range(pl.len()).reverse().over(cause) < CANDIDATES)
    candidates = strongest.join(near, on=["label", "polarity", "sequence"], how="semi").sort("label")
    rows = []
    for (label,), edges in candidates.group_by("label", maintain_order=True):
        ranked = {kind: _cover(edges.filter(polarity=kind), max_sequences) for kind in POLARITIES}
        n_absent = min(len(ranked["absent"]), max(max_sequences // 2, max_sequences - len(ranked["present"])))
        chosen = {
            "present": ranked["present"][: max_sequences - n_absent],
            "absent": ranked["absent"][:n_absent],
        }
        rows += [(label, kind, sequence) for kind in POLARITIES for sequence in chosen[kind]]
    return pl.DataFrame(rows, dict.fromkeys(("label", "polarity", "sequence"), pl.String), orient="row")


def _semi_joined(table: EdgeTable | EdgeFolder, wanted: pl.DataFrame) -> pl.DataFrame:
    """The edges that agree with a row of `wanted`, shard by shard."""
    on = wanted.columns
    return pl.concat([part.edges.join(wanted, on=on, how="semi") for part in table.parts()])


def _cover(edges: pl.DataFrame, max_sequences: int) -> list[str]:
    """Up to `max_sequences` sequences, those with the most causes not yet shown first, then the strongest.

    A cause that acts alone, and the same cause as one of several that were each enough, are shown both.
    """
    shows: dict[str, dict[tuple[str, bool], float]] = {}
    columns = ("sequence", "strength", "event", "together")
    for sequence, strength, *cause in edges.select(columns).iter_rows():
        shows.setdefault(sequence, {})[tuple(cause)] = strength
    chosen: list[str] = []
    every = {cause for causes in shows.values() for cause in causes}
    unseen = set(every)
    while shows and len(chosen) < max_sequences:
        best = min(
            shows, key=lambda name: (-len(unseen & shows[name].keys()), -sum(shows[name].values()), name)
        )
        unseen -= shows.pop(best).keys()
        unseen = unseen or set(every)
        chosen.append(best)
    return chosen


def show(
    chosen: pl.DataFrame, table: EdgeTable | EdgeFolder, data: EventDataset
) -> Iterator[tuple[str, Shown]]:
    """Every chosen sequence with its label, in the order chosen; refuse a sequence missing from the data.

    Events of types that the data adjust for are not shown: they are no causes.
    """
    named = chosen["sequence"].unique(maintain_order=True).to_list()
    sequences = data.select(named)
    row_of = {name: row for row, name in enumerate(named)}
    chosen_edges = _semi_joined(table, chosen)
    edges: dict[tuple[str, str], list[Edge]] = {}
    for label, sequence, *edge in chosen_edges.select("label", "sequence", *SHOWN).iter_rows():
        edges.setdefault((label, sequence), []).append(tuple(edge))
    for label, polarity, name in chosen.iter_rows():
        sequence = sequences[row_of[name]]
        effects = _effects(edges[label, name], sequence.events)
        positions = _nearest(len(sequence), effects)
        is_cause = [sequence.events[at] not in data.kinds.adjusted for at in positions]
        sets = _sets(edges[label, name], sequence.events)
        yield label, Shown(sequence, polarity == "present", positions[is_cause], effects, sets)


def _sets(edges: list[Edge], events: Sequence[str]) -> dict[tuple[str, ...], int]:
    """The sets in which event types were hidden together, each in the order of first occurrence."""
    sets = dict[tuple[str, ...], int]()
    for _, event, _, effect, others in sorted(edges, key=lambda edge: edge[2]):
        if others:
            sets[tuple(sorted((event, *others), key=events.index))] = 1 if effect > 0 else -1
    return sets


def _effects(edges: list[Edge], events: Sequence[str]) -> dict[int, float]:
    """The effects by position.

    Total conditioning gives one effect to all occurrences of a type together, the prefix test one to each.
    If both tests were run, total conditioning counts.
    """
    effects = {position: effect for test, _, position, effect, _ in edges if test == "prefix"}
    together = {event: effect for test, event, _, effect, _ in edges if test == "total"}
    effects |= {at: together[event] for at, event in enumerate(events) if event in together}
    return effects


def _nearest(n_events: int, effects: Mapping[int, float]) -> NDArray[np.int64]:
    """The positions to show: all, or those nearest to an event with an effect, strong effects first."""
    if n_events <= MAX_EVENTS:
        return np.arange(n_events)
    strong = sorted(effects, key=lambda at: (-abs(effects[at]), at))[:MAX_EVENTS]
    distances = np.abs(np.arange(n_events)[:, None] - np.array(strong or [0])).min(axis=1)
    return np.sort(np.argsort(distances, kind="stable")[:MAX_EVENTS])
