"""Votes: in how many sequences each edge was found, one row for each label and event type.

An edge votes once per sequence, with its strongest occurrence. All columns are sums of integers, so parts
counted apart and joined give the same bytes as the whole, in any order and any division. If sequences come in
groups, sums over groups give the design effect of each share; then no part may split a group.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property

import polars as pl

from eventcargo.edges import GRAINS, POLARITIES, EdgeTable, summed, voting
from eventcargo.edges import GROUP_SUPPORT as GROUP_SUPPORT_BY_KIND
from eventcargo.edges import GROUP_VOTES as GROUP_VOTES_BY_KIND
from eventcargo.errors import ConfigError, DataError, argument
from eventcargo.fusion.counting import (
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
from eventcargo.statistics.design_effect import share_design_effect

PAIR = ["label", "event"]

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
GROUP_SUPPORT: dict[str, pl.DataType] = {
    name: kind for name, kind in GROUP_SUPPORT_BY_KIND.items() if name not in ("test", "polarity")
}
GROUP_VOTES: dict[str, pl.DataType] = {
    name: kind for name, kind in GROUP_VOTES_BY_KIND.items() if name not in ("test", "polarity")
}
TABLES = {
    "counts": COUNTS,
    "exposed": N_EXPOSED,
    "tested": TESTED,
    "group_support": GROUP_SUPPORT,
    "group_votes": GROUP_VOTES,
}


@dataclass(frozen=True)
class Votes:
    """Counts of one test in the sequences that carry the label (polarity present) or do not (absent).

    `counts` has a row for each pair of label and event type with an edge. `exposed` has one for each pair
    that meets in a tested sequence, even without an edge, so that parts can be added. `tested` has the
    support of every label. `group_votes` and `group_support` have sums over groups for the rows of `exposed`
    and `tested`; they are empty if each sequence is its own group. Each is sorted by name.

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
    group_support: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=GROUP_SUPPORT))
    group_votes: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=GROUP_VOTES))

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
        if self.is_grouped and not self.group_support["label"].equals(self.tested["label"]):
            raise DataError(
                f"groups are known for {len(self.group_support):,} of {len(self.tested):,} labels; extract "
                "all parts with groups, or all without"
            )

    @property
    def is_grouped(self) -> bool:
        """Whether sequences come in groups."""
        return len(self.group_support) > 0

    def grouped(self) -> "Votes":
        """The votes with sums over groups, of one sequence each if there are no groups."""
        if self.is_grouped:
            return self
        alone = self.exposed.join(self.counts, on=PAIR, how="left", maintain_order="left")
        alone = alone.with_columns(pl.col("votes").fill_null(0))
        votes, met = pl.col("votes"), pl.col("n_exposed")
        sums = dict.fromkeys(("voting", "votes_votes", "votes_tested", "votes_exposed"), votes)
        sums |= {"meeting": met, "exposed_exposed": met}
        own = alone.select(*PAIR, **sums).select(list(GROUP_VOTES))
        support = self.tested.select("label", groups="support", tested_tested="support")
        return replace(self, group_support=support, group_votes=own)

    @cached_property
    def support(self) -> dict[str, int]:
        """The number of sequences in which each label was tested."""
        return dict(self.tested.iter_rows())

    @cached_property
    def table(self) -> pl.DataFrame:
        """A row for each edge with a vote, sorted by label and event: counts, frequency and means.

        The frequency is votes / support. strength, effect, before and entropy are means over the votes;
        before and entropy are null unless known for every vote. With groups, there are also `voting` (groups
        with a vote) and the design effects of votes / support (`tested_effect`) and of votes / exposed.
        """
        pairs = PAIR
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
        table = filled.select(*pairs, *counts, frequency, *means, "promoting")
        return table.hstack(self._design_effects(table)) if self.is_grouped else table

    def _design_effects(self, table: pl.DataFrame) -> pl.DataFrame:
        """For each row of `table` the groups with a vote and the design effects of both shares."""
        sums = table.select(*PAIR, "votes", "support", "n_exposed")
        sums = sums.join(self.group_votes, on=PAIR, how="left", maintain_order="left")
        sums = sums.join(self.group_support, on="label", how="left", maintain_order="left").fill_null(0)
        tested, exposed = (
            share_design_effect(*(sums[name] for name in names))
            for names in (
                ("votes", "support", "groups", "votes_votes", "votes_tested", "tested_tested"),
                ("votes", "n_exposed", "meeting", "votes_votes", "votes_exposed", "exposed_exposed"),
            )
        )
        return pl.DataFrame({"voting": sums["voting"], "tested_effect": tested, "exposed_effect": exposed})


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
        self._group_votes = (Keys(), Sums([*GROUP_VOTES][2:]))
        self._tested = dict[Kind, list[pl.DataFrame]]()
        self._group_support = dict[Kind, list[pl.DataFrame]]()

    def add(self, table: EdgeTable) -> None:
        """Count the votes of a table."""
        check_filled(table.edges, ("sequence", "label", "event"), "edges")
        check_filled(table.exposed, ("label", "event", "sequences"), "exposed counts")
        check_numbers(table.edges)
        for kind in table.support.select("test", "polarity").unique().rows():
            tested = table.support.filter(test=kind[0], polarity=kind[1]).select("label", support="sequences")
            self._tested.setdefault((kind[0], kind[1]), []).append(tested)
        self._add_groups(table)
        with ThreadPoolExecutor(1) as pool:  # exposed counts and edges are independent: a core each
            waiting = pool.submit(self._add_exposed, table.exposed)
            self._add_edges(table)
            waiting.result()

    def _add_groups(self, table: EdgeTable) -> None:
        keys, sums = self._group_votes
        if len(table.group_votes):
            sums.add(keys.of(table.group_votes), table.group_votes)
        for (test, polarity), part in table.group_support.group_by("test", "polarity"):
            self._group_support.setdefault((str(test), str(polarity)), []).append(
                part.select(list(GROUP_SUPPORT))
            )

    def _add_exposed(self, exposed: pl.DataFrame) -> None:
        keys, sums = self._exposed
        sums.add(keys.of(exposed), exposed.select(n_exposed="sequences"))

    def _add_edges(self, table: EdgeTable) -> None:
        keys, sums = self._counts
        edges = voting(table.edges)
        edge_keys = keys.of(edges)
        _check_tested(edge_keys, table.support)
        which, rows = ballots(edges, edge_keys), counted(edges)
        sums.add(*((edge_keys, rows) if which is None else (edge_keys[which], rows[which])))

    def add_votes(self, votes: Votes) -> None:
        """Add votes counted earlier."""
        kind = {"test": pl.lit(votes.test), "polarity": pl.lit(votes.polarity)}
        self._tested.setdefault((votes.test, votes.polarity), []).append(votes.tested)
        if votes.is_grouped:
            kinds = self._group_support.setdefault((votes.test, votes.polarity), [])
            kinds.append(votes.group_support)
        summed_up = (
            (self._exposed, votes.exposed),
            (self._counts, votes.counts),
            (self._group_votes, votes.group_votes),
        )
        for (keys, sums), part in summed_up:
            check_filled(part, part.columns, "votes")
            sums.add(keys.of(part.with_columns(**kind)), part)

    def votes(self) -> dict[Kind, Votes]:
        """The votes by test and polarity; resets the count to empty."""
        with ThreadPoolExecutor(2) as pool:
            keyed = (self._counts, self._exposed, self._group_votes)
            counts, exposed, group_votes = pool.map(lambda pair: pair[0].named(pair[1].table()), keyed)
        tested, group_support = self._tested, self._group_support
        self._start()  # frees the memory that checking the votes needs
        return {
            kind: replace(
                _none(*kind),
                counts=counts.get(kind, pl.DataFrame(schema=COUNTS)),
                exposed=exposed.get(kind, pl.DataFrame(schema=N_EXPOSED)),
                tested=summed(pl.concat(tested[kind])),
                group_support=summed(
                    pl.concat([pl.DataFrame(schema=GROUP_SUPPORT), *group_support.get(kind, [])])
                ),
                group_votes=group_votes.get(kind, pl.DataFrame(schema=GROUP_VOTES)),
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
