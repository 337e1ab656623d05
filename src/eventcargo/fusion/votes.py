"""Votes: how often each edge was found, from an `EdgeTable` to one row for each label and event type.

An edge votes once a sequence, with its strongest occurrence. Everything kept is a sum of whole numbers, so
that parts counted apart and joined give the same bytes as the whole, in any order and however it is parted.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from eventcargo.edges import EdgeTable
from eventcargo.errors import ConfigError, DataError, EventCargoWarning

GRAINS = 2**32
"""Parts of a nat, or of a probability, in which sums are kept: whole numbers add up alike in any order."""

TESTS, POLARITIES = ("prefix", "total"), ("present", "absent")
SUMS = ("strength", "effect")
COUNTS: dict[str, pl.DataType] = {
    "label": pl.String(),
    "event": pl.String(),
    "votes": pl.Int64(),  # sequences in which the edge was found
    "chances": pl.Int64(),  # tested sequences in which the event type occurred
    "strength": pl.Int64(),  # summed over votes, in grains
    "effect": pl.Int64(),  # summed over votes, in grains
}
SUPPORT: dict[str, pl.DataType] = {"label": pl.String(), "support": pl.Int64()}


@dataclass(frozen=True)
class Votes:
    """Counts of one test in the sequences that carry the label (polarity present) or do not (absent).

    `counts` has one row for each label and event type that met in a tested sequence, also where no edge was
    found: the chances of parts could not be added otherwise. `tested` has the support of every label.

    >>> Votes.of(EdgeTable.join([])).table.columns
    ['label', 'event', 'votes', 'support', 'chances', 'frequency', 'strength', 'effect']
    """

    test: str
    polarity: str
    counts: pl.DataFrame
    tested: pl.DataFrame

    def __post_init__(self) -> None:
        for name, allowed in (("test", TESTS), ("polarity", POLARITIES)):
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{name}={getattr(self, name)!r}: use {' or '.join(allowed)}")
        _check(self.table, "votes", "chances")
        _check(self.table, "chances", "support")

    @classmethod
    def of(cls, table: EdgeTable, test: str = "total", polarity: str = "present") -> "Votes":
        """The votes of one test and polarity."""
        kind = {"test": test, "polarity": polarity}
        tested = table.support.filter(**kind).select("label", support="sequences")
        chances = table.chances.filter(**kind).select("label", "event", chances="sequences")
        counts = _added([_ballots(table.edges.filter(**kind)), chances], COUNTS)
        votes = cls(test, polarity, counts, _added([tested], SUPPORT))
        if tested.is_empty() and len(table.support):
            warnings.warn(
                f"0 labels were tested by {test} where they are {polarity}, {len(table.support):,} otherwise",
                EventCargoWarning,
                stacklevel=2,
            )
        return votes

    @classmethod
    def join(cls, parts: "Iterable[Votes]") -> "Votes":
        """The sums over parts of the same test and polarity that have no sequence in common."""
        given = list(parts)
        kinds = sorted({(part.test, part.polarity) for part in given})
        if len(kinds) != 1:
            raise DataError(f"votes of {len(kinds)} kinds cannot be joined: {kinds}; use parts of one kind")
        counts = _added([part.counts for part in given], COUNTS)
        return cls(*kinds[0], counts, _added([part.tested for part in given], SUPPORT))

    @cached_property
    def support(self) -> dict[str, int]:
        """In how many sequences each label was tested."""
        return dict(self.tested.iter_rows())

    @cached_property
    def table(self) -> pl.DataFrame:
        """Votes, support, chances, frequency (votes / support), and mean strength and effect of the votes.

        Sorted by label and event. The means of a pair without votes are null.
        """
        means = [
            pl.when(pl.col("votes") > 0).then(pl.col(name) / GRAINS / pl.col("votes")).alias(name)
            for name in SUMS
        ]
        joined = self.counts.join(self.tested, on="label", how="left", maintain_order="left")
        return joined.with_columns(pl.col("support").fill_null(0)).select(
            "label",
            "event",
            "votes",
            "support",
            "chances",
            (pl.col("votes") / pl.col("support")).alias("frequency"),
            *means,
        )


def _ballots(edges: pl.DataFrame) -> pl.DataFrame:
    """A row for each vote: in a sequence the strongest occurrence of an edge, of equal ones the first."""
    odd = edges.filter(~(pl.col("strength").is_finite() & pl.col("effect").is_finite()).fill_null(False))
    if len(odd):
        raise DataError(
            f"{len(odd):,} edges have a strength or effect that is no finite number, the first in sequence "
            f"{odd['sequence'][0]!r}; extract them again"
        )
    place = ["sequence", "label", "event"]
    repeated = edges.select(place).is_duplicated()
    again = edges.filter(repeated).sort("strength", "position", descending=[True, False])
    votes = pl.concat([edges.filter(~repeated), again.unique(place, keep="first")])
    return votes.select(
        "label", "event", pl.lit(1, pl.Int64).alias("votes"), *[_grains(name) for name in SUMS]
    )


def _grains(name: str) -> pl.Expr:
    return (pl.col(name).cast(pl.Float64) * GRAINS).round().cast(pl.Int64)


def _added(parts: list[pl.DataFrame], schema: dict[str, pl.DataType]) -> pl.DataFrame:
    """Sums of the counts of all parts, sorted by name; a column that a part does not have adds nothing."""
    names = [name for name, kind in schema.items() if kind == pl.String()]
    counts = [name for name in schema if name not in names]
    rows = pl.concat([pl.DataFrame(schema=schema), *parts], how="diagonal")
    for name in set(SUMS) & set(counts):
        total = rows[name].cast(pl.Float64).abs().sum()
        if total >= 2**63:  # whole numbers would wrap around
            raise DataError(
                f"{name} adds up to {total / GRAINS:.3g}, at most {2**63 // GRAINS:,} is summed exactly; "
                "check the edges, or fuse fewer sequences"
            )
    return rows.group_by(names).agg(pl.col(counts).sum()).select(list(schema)).sort(names)


def _check(table: pl.DataFrame, part: str, whole: str) -> None:
    odd = table.filter(pl.col(part) > pl.col(whole))
    if len(odd):
        row = odd.row(0, named=True)
        raise DataError(
            f"{len(odd):,} pairs have more {part} than {whole}, the first: {row['label']!r} <- "
            f"{row['event']!r} with {row[part]:,} and {row[whole]:,}; give the whole edge table"
        )
