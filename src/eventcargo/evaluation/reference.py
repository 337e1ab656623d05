"""Reference: the truth as tables to compare edges with.

The one place that decides, for every protocol and floor, which labels count, how event names are mapped, and
what happens to negated literals.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import polars as pl

from eventcargo.errors import ConfigError, DataError, counted
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph

EventMap = Callable[[str], str]
"""Maps an event name to the name to compare, for a truth that is coarser than the data.

It is applied to the truth as well, so it must leave mapped names unchanged."""


@dataclass(frozen=True)
class Reference:
    """`labels` (label, support), true `pairs` (label, event, is_negated) and `ignored` pairs.

    An ignored pair is neither true nor false: it is removed from the truth and from the edges to score.
    """

    labels: pl.DataFrame
    pairs: pl.DataFrame
    ignored: pl.DataFrame
    event_of: EventMap | None = None

    @classmethod
    def from_truth(
        cls,
        truth: LabelGraph,
        *,
        negated: bool = True,
        labels: Iterable[str] | None = None,
        event_of: EventMap | None = None,
    ) -> "Reference":
        """The truth of the given labels; with `negated=False` pairs with sign -1 are ignored.

        If `event_of` merges edges with different signs, the merged pair is negated only if all of them are.
        """
        chosen = _chosen_labels(truth, labels)
        edges = rename_events(truth.edges.select("label", "event", "sign"), event_of)
        pairs = (
            edges.join(chosen, on="label", how="semi")
            .group_by("label", "event")
            .agg(is_negated=(pl.col("sign") == -1).fill_null(False).all())
            .sort("label", "event")
        )
        dropped = pl.lit(not negated) & pl.col("is_negated")
        return cls(chosen, pairs.filter(~dropped), pairs.filter(dropped), event_of)

    def comparable(self, edges: pl.DataFrame) -> pl.DataFrame:
        """Edges of the labels that count, with mapped names, each once, without ignored pairs."""
        return (
            rename_events(edges, self.event_of)
            .join(self.labels, on="label", how="semi")
            .unique()
            .join(self.ignored, on=["label", "event"], how="anti")
        )

    def count(self, name: str, table: pl.DataFrame) -> pl.DataFrame:
        """Number of rows of `table` per label, 0 included: label, `name`."""
        rows = table.group_by("label").agg(pl.len().cast(pl.Int64).alias(name))
        return self.labels.select("label").join(rows, on="label", how="left").fill_null(0)


def _chosen_labels(truth: LabelGraph, labels: Iterable[str] | None) -> pl.DataFrame:
    names = truth.labels if labels is None else list(dict.fromkeys(labels))
    unknown = [name for name in names if name not in truth.support]
    if unknown:
        raise ConfigError(
            f"{len(unknown):,} of {counted(len(names), 'label')} to evaluate not in the truth, the first: "
            f"{unknown[0]!r}; use labels of the truth"
        )
    if not names:
        raise DataError("0 labels to evaluate; the truth needs at least one, an empty boundary is enough")
    support = [truth.support[name] for name in names]
    return pl.DataFrame({"label": names, "support": support}, {"label": pl.String, "support": pl.Int64})


def rename_events(table: pl.DataFrame, event_of: EventMap | None) -> pl.DataFrame:
    """`table` with mapped names in its column `event`; rows that become equal stay."""
    if event_of is None:
        return table
    names = table["event"].unique()
    renamed = pl.Series([event_of(name) for name in names], dtype=pl.String)
    return table.with_columns(pl.col("event").replace_strict(names, renamed, return_dtype=pl.String))


def count_support(truth: LabelGraph, data: EventDataset) -> LabelGraph:
    """The same boundaries with the support of every label counted in `data`; 0 if it never occurs.

    >>> from eventcargo import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("car1", ("P01",), (0.0,), ("brake",))])
    >>> count_support(LabelGraph.from_boundaries({"brake": ["P01"], "fuel": ["U02"]}), data).support
    {'brake': 1, 'fuel': 0}
    """
    counts = dict(zip(data.label_names, data.support.tolist(), strict=True))
    support = {label: counts.get(label, 0) for label in truth.support}
    of_edge = [support[label] for label in truth.edges["label"]]
    return LabelGraph(truth.edges.with_columns(support=pl.Series(of_edge, dtype=pl.Int64)), support)
