"""Labels without a model, for lack of time: their boundaries are those of a classical method on the data."""

from collections.abc import Collection

import polars as pl

from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.knowledge import Resolved


def take_boundaries(
    graph: LabelGraph,
    classical: LabelGraph,
    labels: Collection[str],
    data: EventDataset,
    knowledge: Resolved | None = None,
) -> LabelGraph:
    """The graph with the boundaries of another one for some labels, as far as knowledge allows.

    Required edges are in it; a label that the other graph lacks has no others.

    >>> from eventcargo.simulation import simulate
    >>> data = simulate("chain", sequences=50, labels=2).data
    >>> ours, other = ({"L000": ["E00001"], "L001": ["E00002"]}, {"L001": ["E00003"]})
    >>> graphs = (LabelGraph.from_boundaries(boundaries) for boundaries in (ours, other))
    >>> take_boundaries(*graphs, ["L001"], data).boundaries
    {'L000': ['E00001'], 'L001': ['E00003']}
    """
    taken = pl.col("label").is_in(list(labels))
    theirs = _permitted(classical.edges.filter(taken), labels, knowledge)
    edges = pl.concat([graph.edges.filter(~taken), theirs.with_columns(frequency=None, support=None)])
    known = {name: count for name, count in graph.support.items() if name not in labels}
    return LabelGraph.from_edges(edges, {**dict.fromkeys(data.label_names), **data.label_support, **known})


def _permitted(edges: pl.DataFrame, labels: Collection[str], knowledge: Resolved | None) -> pl.DataFrame:
    """The edges that knowledge allows, and those that it requires."""
    if knowledge is None:
        return edges
    pairs = zip(edges["label"], edges["event"], strict=True)
    allowed = [bool(knowledge.table([label], [event])[0, 0]) for label, event in pairs]
    kept = edges.filter(pl.Series(allowed, dtype=pl.Boolean))
    known = set(zip(kept["label"], kept["event"], strict=True))
    missing = sorted(pair for pair in knowledge.required - known if pair[0] in labels)
    added = pl.DataFrame(missing, schema={"label": pl.String, "event": pl.String}, orient="row")
    return pl.concat([kept, added], how="diagonal")


def unfitted_labels(graph: LabelGraph) -> list[str]:
    """The labels of a fused graph for whose edges neither votes nor evidence speak."""
    silent = pl.col("frequency").is_null() & pl.col("evidence").is_null()
    return graph.edges.filter(silent)["label"].unique().to_list()
