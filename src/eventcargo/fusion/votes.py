"""Votes: in how many sequences each edge was found, one row for each label and event type.

An edge votes once per sequence, with its strongest occurrence. All columns are sums of integers, so parts
counted apart and joined give the same bytes as the whole, in any order and any division.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from eventcargo.edges import POLARITIES, EdgeTable, summed
from eventcargo.errors import ConfigError, DataError, argument
from eventcargo.fusion.counting import (
    GRAINS,
    KINDS,
    SUMS,
    TESTS,
    Keys,
    Sums,
    ballots,
    check_filled,
    check_numbers,
    count_kinds,
    counted,
    kind_numbers,
)

Kind = tuple[str, str]
"""Test and polarity."""

COUNTS: dict[str, pl.DataType] = {
    "label": pl.String(),
    "event": pl.String(),
    "votes": pl.Int64(),  # sequences with the edge
    "promoting": pl.Int64(),  # votes with a positive effect
    "informed": pl.Int64(),  # votes with known `before` and `entropy`
    "strength": pl.Int64(),  # summed over votes, in grains, like the columns below
    "effect": pl.Int64(),
    "before": pl.Int64(),
    "entropy": pl.Int64(),
}
N_EXPOSED: dict[str, pl.DataType] = {
    "label": pl.String(),
    "event": pl.String(),
    "n_exposed": pl.Int64(),  # tested sequences in which the event type occurs
}
TESTED: dict[str, pl.DataType] = {"label": pl.String(), "support": pl.Int64()}
TABLES = {"counts": COUNTS, "exposed": N_EXPOSED, "tested": TESTED}


@dataclass(frozen=True)
class Votes:
    """Counts of one test in the sequences that carry the label (polarity present) or do not (absent).

    `counts` has a row for each pair of label and event type with an edge. `exposed` has one for each pair
    that meets in a tested sequence, even without an edge, so that parts can be added. `tested` has the
    support of every label. Each is sorted by name.

    >>> count = Count()
    >>> count.add(EdgeTable.join([]))
    >>> count.votes()
    {}
    """

    test: str
    polarity: str
    counts: pl.DataFrame
    exposed: pl.DataFrame
    tested: pl.DataFrame

    def __post_init__(self) -> None:
        _check_kind(self.test, self.polarity)
        for name, schema in TABLES.items():
            if dict(getattr(self, name).schema) != schema:
                columns = ", ".join(getattr(self, name).columns)
                raise DataError(f"the table {name} of the votes has unexpected columns: {columns}")
        _check(self.table, "votes", "n_exposed")
        most = self.exposed.group_by("label").agg(pl.col("n_exposed").max())
        if len(most.join(self.tested, on="label", how="left").filter(_more("n_exposed", "support"))):
            _check(self.exposed.join(self.tested, on="label", how="left"), "n_exposed", "support")

    @cached_property
    def support(self) -> dict[str, int]:
        """The number of sequences in which each label was tested."""
        return dict(self.tested.iter_rows())

    @cached_property
    def table(self) -> pl.DataFrame:
        """A row for each edge with a vote, sorted by label and event: counts, frequency and means.

        The frequency is votes / support. strength, effect, before and entropy are means over the votes;
        before and entropy are null unless known for every vote.
        """
        pairs = ["label", "event"]
        joined = self.counts.join(self.exposed, on=pairs, how="left", maintain_order="left")
        joined = joined.join(self.tested, on="label", how="left", maintain_order="left")
        known = {"before": pl.col("informed") == pl.col("votes")}
        known["entropy"] = known["before"]
        means = [
            pl.when(known.get(name, True)).then(pl.col(name) / GRAINS / pl.col("votes")).alias(name)
            for name in SUMS
        ]
        counts = ["votes", "support", "n_exposed"]
        frequency = (pl.col("votes") / pl.col("support")).alias("frequency")
        filled = joined.with_columns(pl.col("support", "n_exposed").fill_null(0))
        return filled.select(*pairs, *counts, frequency, *means, "promoting")


class Count:
    """Accumulates the votes of all tests and polarities, part by part.

    >>> count = Count()
    >>> count.add(EdgeTable.join([]))
    >>> count.votes()
    {}
    """

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._counts, self._exposed = (Keys(), Sums([*COUNTS][2:])), (Keys(), Sums(["n_exposed"]))
        self._tested = dict[Kind, list[pl.DataFrame]]()

    def add(self, table: EdgeTable) -> None:
        """Count the votes of a table."""
        check_filled(table.edges, ("sequence", "label", "event"), "edges")
        check_filled(table.exposed, ("label", "event", "sequences"), "exposed counts")
        check_numbers(table.edges)
        for kind in table.support.select("test", "polarity").unique().rows():
            tested = table.support.filter(test=kind[0], polarity=kind[1]).select("label", support="sequences")
            self._tested.setdefault((kind[0], kind[1]), []).append(tested)
        with ThreadPoolExecutor(1) as pool:  # exposed counts and edges are independent: a core each
            waiting = pool.submit(self._add_exposed, table.exposed)
            self._add_edges(table)
            waiting.result()

    def _add_exposed(self, exposed: pl.DataFrame) -> None:
        keys, sums = self._exposed
        sums.add(keys.of(exposed), exposed.select(n_exposed="sequences"))

    def _add_edges(self, table: EdgeTable) -> None:
        keys, sums = self._counts
        edge_keys = keys.of(table.edges)
        _check_tested(edge_keys, table.support)
        which, rows = ballots(table.edges, edge_keys), counted(table.edges)
        sums.add(*((edge_keys, rows) if which is None else (edge_keys[which], rows[which])))

    def add_votes(self, votes: Votes) -> None:
        """Add votes counted earlier."""
        kind = {"test": pl.lit(votes.test), "polarity": pl.lit(votes.polarity)}
        self._tested.setdefault((votes.test, votes.polarity), []).append(votes.tested)
        for (keys, sums), part in ((self._exposed, votes.exposed), (self._counts, votes.counts)):
            check_filled(part, part.columns, "votes")
            sums.add(keys.of(part.with_columns(**kind)), part)

    def votes(self) -> dict[Kind, Votes]:
        """The votes by test and polarity; resets the count to empty."""
        with ThreadPoolExecutor(2) as pool:
            named = pool.map(lambda pair: pair[0].named(pair[1].table()), (self._counts, self._exposed))
            counts, exposed = named
        tested = self._tested
        self._start()  # frees the memory that checking the votes needs
        return {
            kind: replace(
                _none(*kind),
                counts=counts.get(kind, pl.DataFrame(schema=COUNTS)),
                exposed=exposed.get(kind, pl.DataFrame(schema=N_EXPOSED)),
                tested=summed(pl.concat(tested[kind])),
            )
            for kind in sorted(tested)
        }


def _none(test: str, polarity: str) -> Votes:
    """No votes at all."""
    return Votes(test, polarity, *(pl.DataFrame(schema=schema) for schema in TABLES.values()))


def _check_tested(keys: pl.Series, support: pl.DataFrame) -> None:
    """Refuse edges of a test and polarity in which no label was tested: they would go uncounted."""
    tested = set(kind_numbers(support).unique())
    for number, edges in enumerate(count_kinds(keys)):
        if edges and number not in tested:
            test, polarity = KINDS[number]
            raise DataError(
                f"no label was tested by {test} where it is {polarity}, yet {edges:,} of {len(keys):,} edges "
                "are of this kind; give the whole edge table"
            )


def _check_kind(test: str, polarity: str) -> None:
    for name, value, allowed in (("test", test, TESTS), ("polarity", polarity, POLARITIES)):
        if value not in allowed:
            raise ConfigError(f"{argument(name, value)}: use {' or '.join(allowed)}")


def _more(part: str, whole: str) -> pl.Expr:
    return pl.col(part) > pl.col(whole).fill_null(0)


def _check(table: pl.DataFrame, part: str, whole: str) -> None:
    odd = table.filter(_more(part, whole)).sort("label", "event")
    if len(odd):
        row = odd.row(0, named=True)
        raise DataError(
            f"{part} > {whole} in {len(odd):,} of {len(table):,} pairs, the first: {row['label']!r} <- "
            f"{row['event']!r} with {row[part]:,} and {row[whole] or 0:,}; give the whole edge table"
        )
