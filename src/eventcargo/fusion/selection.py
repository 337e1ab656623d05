"""Selection: votes and the least frequency of every label become a `LabelGraph`."""

from collections.abc import Mapping

import polars as pl

from eventcargo.errors import DataError
from eventcargo.fusion.votes import Votes
from eventcargo.graphs import LabelGraph


def select(votes: Votes, thresholds: Mapping[str, float]) -> LabelGraph:
    """The edges with a vote whose frequency is at least the threshold of their label.

    The sign is that of the mean effect: 1 promotes, -1 inhibits.

    >>> from eventcargo.edges import EdgeTable
    >>> select(Votes.of(EdgeTable.join([])), {})
    LabelGraph: 0 edges into 0 labels, 0 with a boundary
    """
    missing = sorted(set(votes.support) - set(thresholds))
    if missing:
        raise DataError(
            f"{len(missing):,} of {len(votes.support):,} labels have no threshold, the first: {missing[0]!r}"
        )
    least = pl.DataFrame(
        {"label": list(thresholds), "threshold": list(thresholds.values())},
        schema={"label": pl.String, "threshold": pl.Float64},
    )
    found = votes.table.filter(pl.col("votes") > 0).join(least, on="label", maintain_order="left")
    kept = found.filter(pl.col("frequency") >= pl.col("threshold"))
    return LabelGraph.from_edges(
        kept.with_columns(sign=pl.col("effect").sign().cast(pl.Int8)), dict(votes.support)
    )
