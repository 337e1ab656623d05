"""GroupSums: sums over groups of sequences, from which phase 2 learns how far those of a group agree.

Of every group it counts the tested sequences of a label (n), those of them in which an event type occurs (e),
and those with an edge (v). The sums over groups of n^2, e^2, v^2, v n and v e are whole numbers and add up
over parts of the data that split no group. They determine the design effects of v / n and of v / e.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eventcargo.edges import GROUP_SUPPORT, GROUP_VOTES
from eventcargo.oneshot.total import Types

KIND = ["test", "polarity"]
NUMBERED = ["group", "label", "event"]


class GroupSums:
    """Counts by group, collected block by block."""

    def __init__(self) -> None:
        self._tested: list[pl.DataFrame] = []
        self._exposed: list[pl.DataFrame] = []

    def add(
        self,
        kind: tuple[str, str],
        group: NDArray[np.int64],
        wanted: NDArray[np.bool_],
        types: Types,
        allowed: NDArray[np.bool_] | None,
    ) -> None:
        """Add sequences of whole groups, the labels tested in them, (sequences, labels), and their types."""
        named = {"test": pl.lit(kind[0]), "polarity": pl.lit(kind[1])}
        rows, labels = np.nonzero(wanted)
        tested = pl.DataFrame({"row": rows, "group": group[rows], "label": labels})
        self._tested.append(tested.group_by("group", "label").agg(n=pl.len()).with_columns(**named))
        held = pl.DataFrame({"row": types.rows.astype(np.int64), "event": types.ids.astype(np.int64)})
        met = tested.join(held, on="row")
        if allowed is not None:
            met = met.filter(allowed[met["label"].to_numpy(), met["event"].to_numpy()])
        self._exposed.append(met.group_by(NUMBERED).agg(e=pl.len()).with_columns(**named))

    def tables(
        self, edges: pl.DataFrame, labels: pl.Series, events: pl.Series
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The tables `group_support` and `group_votes`; `edges` have a column `group`."""
        if not self._tested:
            return pl.DataFrame(schema=GROUP_SUPPORT), pl.DataFrame(schema=GROUP_VOTES)
        n, e, v = (pl.col(name).cast(pl.Int64) for name in "nev")
        tested, exposed = pl.concat(self._tested), pl.concat(self._exposed)
        support = tested.group_by(*KIND, "label").agg(groups=pl.len(), tested_tested=(n * n).sum())
        votes = (
            exposed.join(tested, on=[*KIND, "group", "label"])
            .with_columns(label=_named(labels, "label"), event=_named(events, "event"))
            .join(_votes(edges), on=[*KIND, *NUMBERED], how="left")
            .with_columns(pl.col("v").fill_null(0))
            .group_by(*KIND, "label", "event")
            .agg(
                voting=(v > 0).sum(),
                meeting=pl.len(),
                votes_votes=(v * v).sum(),
                votes_tested=(v * n).sum(),
                votes_exposed=(v * e).sum(),
                exposed_exposed=(e * e).sum(),
            )
        )
        support = support.with_columns(label=_named(labels, "label"))
        return _typed(support, GROUP_SUPPORT), _typed(votes, GROUP_VOTES)


def _named(names: pl.Series, column: str) -> pl.Expr:
    return pl.col(column).map_batches(names.gather, return_dtype=pl.String)


def _votes(edges: pl.DataFrame) -> pl.DataFrame:
    """The sequences of each group with an edge: an edge votes once per sequence."""
    once = edges.select(*KIND, *NUMBERED, "sequence").unique()
    return once.group_by(*KIND, *NUMBERED).agg(v=pl.len())


def _typed(table: pl.DataFrame, schema: dict[str, pl.DataType]) -> pl.DataFrame:
    return table.select(pl.col(name).cast(kind) for name, kind in schema.items())
