"""Reference: the truth as tables that found edges are compared with.

Here it is decided once, for every protocol and floor, which labels count, under which names events are
compared, and what becomes of negated literals.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import polars as pl

from eventcargo.errors import ConfigError, DataError
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph

EventMap = Callable[[str], str]
"""From an event name to the name under which it is compared, for a truth that is coarser than the data.

It is applied to the truth as well, so it must leave a name that is already a compared one as it is."""


@dataclass(frozen=True)
class Reference:
    """`labels` (label, support), the true `pairs` (label, event, is_negated), and pairs that are `ignored`.

    An ignored pair is neither true nor false: it is taken out of the truth and out of what was found.
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
        """The truth for the labels asked for; with `negated=False` pairs of sign -1 are ignored.

        Where `event_of` merges edges of different signs, the merged pair is negated only if all of them are.
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
        """Edges of the labels that count, under compared names, each once, without the ignored pairs."""
        return (
            rename_events(edges, self.event_of)
            .join(self.labels, on="label", how="semi")
            .unique()
            .join(self.ignored, on=["label", "event"], how="anti")
        )

    def count(self, name: str, table: pl.DataFrame) -> pl.DataFrame:
        """Number of rows of `table` for every label, 0 included: label, `name`."""
        rows = table.group_by("label").agg(pl.len().cast(pl.Int64).alias(name))
        return self.labels.select("label").join(rows, on="label", how="left").fill_null(0)


def _chosen_labels(truth: LabelGraph, labels: Iterable[str] | None) -> pl.DataFrame:
    names = truth.labels if labels is None else list(dict.fromkeys(labels))
    unknown = [name for name in names if name not in truth.support]
    if unknown:
        raise ConfigError(
            f"{len(unknown):,} of {len(names):,} labels asked for are not in the truth, the first: "
            f"{unknown[0]!r}; use labels of the truth"
        )
    if not names:
        raise DataError("0 labels to evaluate; the truth needs at least one, an empty boundary is enough")
    support = [truth.support[name] for name in names]
    return pl.DataFrame({"label": names, "support": support}, {"label": pl.String, "support": pl.Int64})


def rename_events(table: pl.DataFrame, event_of: EventMap | None) -> pl.DataFrame:
    """`table` with its column `event` under compared names; rows that become equal stay."""
    if event_of is None:
        return table
    names = table["event"].unique()
    renamed = pl.Series([event_of(name) for name in names], dtype=pl.String)
    return table.with_columns(pl.col("event").replace_strict(names, renamed, return_dtype=pl.String))


def count_support(truth: LabelGraph, data: EventDataset) -> LabelGraph:
    """The same boundaries with the support of every label counted in `data`; 0 where it never occurs.

    >>> from eventcargo import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("car1", ("P01",), (0.0,), ("brake",))])
    >>> count_support(LabelGraph.from_boundaries({"brake": ["P01"], "fuel": ["U02"]}), data).support
    {'brake': 1, 'fuel': 0}
    """
    counted = dict(zip(data.label_names, data.support.tolist(), strict=True))
    support = {label: counted.get(label, 0) for label in truth.support}
    of_edge = [support[label] for label in truth.edges["label"]]
    return LabelGraph(truth.edges.with_columns(support=pl.Series(of_edge, dtype=pl.Int64)), support)
