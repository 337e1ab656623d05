"""VoteStore: the votes of all tests and polarities, and the plan that they follow from.

Votes are counted shard by shard; each shard is read once and then released. Stores of parts counted apart,
such as days or machines, join into exactly what one pass over all parts gives, byte for byte.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import polars as pl

from eventcargo.checksums import folder_checksums, read_checked
from eventcargo.edges import GROUPED, POLARITIES, POOLED, POSITIVES, EdgeFolder, EdgeTable, summed
from eventcargo.errors import ConfigError, DataError, argument
from eventcargo.files import read_document, replacing_folder, write_document
from eventcargo.fusion.counting import TESTS
from eventcargo.fusion.votes import TABLES, Count, Kind, Votes
from eventcargo.typed import parse_as

FREE = ("shard", "shards")
"""Entries of the plan of edges that describe the computation and do not affect the edges."""

LISTS = ("model", "labels", "untrusted", "data")
"""Entries of a store's plan that are not settings of phase 1."""


@dataclass(frozen=True)
class VoteStore:
    """Votes by test and polarity, and the number of sequences that carry each label.

    `plan` records what was counted: model, labels, settings of phase 1 and the fingerprint of every part of
    the data. It is empty for a table in memory.

    >>> VoteStore.of(EdgeTable.join([])).votes
    {}
    """

    votes: Mapping[Kind, Votes]
    positives: pl.DataFrame
    plan: Mapping[str, Any] = field(default_factory=dict)
    pooled: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=POOLED))

    @classmethod
    def of(cls, table: EdgeTable) -> "VoteStore":
        """The votes of a table in memory."""
        return cls._counted([table], {})

    @classmethod
    def of_folder(cls, folder: EdgeFolder) -> "VoteStore":
        """The votes of all shards of a folder, two in memory at a time."""
        return cls._counted(_read_ahead(folder), plan_of(folder))

    @classmethod
    def _counted(cls, parts: Iterable[EdgeTable], plan: Mapping[str, Any]) -> "VoteStore":
        count, positives, pooled = Count(), pl.DataFrame(schema=POSITIVES), pl.DataFrame(schema=POOLED)
        for part in parts:
            count.add(part)
            positives = summed(pl.concat([positives, part.positives]))
            pooled = summed(pl.concat([pooled, part.pooled]))
        return cls(count.votes(), positives, plan, pooled)

    @classmethod
    def join(cls, stores: "Sequence[VoteStore]") -> "VoteStore":
        """The sums of stores with the same model and settings but different data."""
        plan = _joined_plan([store.plan for store in stores])
        count, parts = Count(), [votes for store in stores for votes in store.votes.values()]
        is_grouped = any(votes.is_grouped for votes in parts)
        for votes in parts:
            count.add_votes(votes.grouped() if is_grouped else votes)
        positives, pooled = (
            summed(pl.concat(getattr(store, name) for store in stores)) for name in ("positives", "pooled")
        )
        return cls(count.votes(), positives, plan, pooled)

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests that have votes."""
        return tuple(test for test in TESTS if any(test == kind[0] for kind in self.votes))

    @cached_property
    def event_names(self) -> list[str]:
        """Event types that occur in a tested sequence, sorted."""
        met = [votes.exposed["event"].unique() for votes in self.votes.values()]
        return pl.concat([pl.Series("event", [], dtype=pl.String), *met]).unique().sort().to_list()

    def support(self, test: str) -> dict[str, int]:
        """The number of tested sequences that carry each label; 0 for a label that none carries."""
        tested = dict.fromkeys(self.plan.get("labels", ()), 0)
        tested |= dict.fromkeys(self.positives["label"].to_list(), 0)
        for polarity in reversed(POLARITIES):
            if (test, polarity) in self.votes:
                support = self.votes[test, polarity].support
                tested |= support if polarity == "present" else dict.fromkeys(set(support) - set(tested), 0)
        return {label: tested[label] for label in sorted(tested)}

    def n_groups(self, test: str) -> dict[str, int]:
        """As `support`, but groups of sequences; the same without groups."""
        present = self.votes.get((test, "present"))
        known = {} if present is None else dict(present.group_support.select("label", "groups").iter_rows())
        return self.support(test) | known

    def table(self, test: str, polarities: Sequence[str] = POLARITIES) -> pl.DataFrame:
        """A row for each edge and polarity with a vote: counts, frequency, means and mutual information.

        I(label, event) = strength + KL(P(label | rest) || P(label)), in nats, averaged over the votes. The
        strength is I(label, event | rest), the divergence I(label, rest) (eq:mi_y_z); the rest is what the
        test conditions on, P(label) the share of sequences that carry the label. Null if that share or the
        probabilities of phase 1 are unknown.
        """
        parts = [
            self.votes[test, polarity].table.with_columns(polarity=pl.lit(polarity))
            for polarity in polarities
            if (test, polarity) in self.votes
        ]
        if not parts:
            available = ", ".join(self.tests) or "no test"
            raise ConfigError(f"{argument('test', test)} has no votes here; votes are of {available}")
        rows = pl.concat(parts, how="diagonal").join(
            self._rates, on="label", how="left", maintain_order="left"
        )
        # KL = cross entropy of P(label | rest) and P(label) - entropy; it is linear in the means of both
        p, rate = pl.col("before"), pl.col("rate")
        cross = -(_times_log(p, rate) + _times_log(1 - p, 1 - rate))
        return rows.with_columns(information=pl.col("strength") + cross - pl.col("entropy")).drop("rate")

    @property
    def _rates(self) -> pl.DataFrame:
        share = pl.when(pl.col("sequences") > 0).then(pl.col("positives") / pl.col("sequences"))
        return self.positives.select("label", rate=share)

    @property
    def label_positives(self) -> dict[str, int]:
        """Number of sequences that carry each label, tested or not, by name."""
        return dict(self.positives.select("label", "positives").iter_rows())

    @property
    def label_sequences(self) -> dict[str, int]:
        """Number of sequences for which each label is known, by name; empty if not recorded."""
        return dict(self.positives.select("label", "sequences").iter_rows())


def _read_ahead(folder: EdgeFolder) -> Iterator[EdgeTable]:
    """The shards in order; the next is read while one is counted."""
    with ThreadPoolExecutor(1) as pool:
        coming = [pool.submit(folder.read, number) for number in range(min(1, folder.n_shards))]
        for number in range(folder.n_shards):
            table = coming.pop().result()
            if number + 1 < folder.n_shards:
                coming.append(pool.submit(folder.read, number + 1))
            yield table


def _times_log(factor: pl.Expr, of: pl.Expr) -> pl.Expr:
    return pl.when(factor == 0).then(0.0).otherwise(factor * of.log())


def plan_of(folder: EdgeFolder) -> dict[str, Any]:
    """The plan of a store that counts these edges."""
    plan = folder.plan
    settings = {name: value for name, value in plan.items() if name not in (*LISTS, *FREE)}
    named = {name: plan.get(name) for name in LISTS if name != "data"}
    data = plan.get("data")  # a list, once a run was updated
    return {**named, "settings": settings, "data": data if isinstance(data, list) else [data]}


def _joined_plan(plans: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The plan of several stores; refuses different plans and data that appear twice."""
    first = plans[0]
    for other in plans[1:]:
        for name in sorted((set(first) | set(other)) - {"data"}):
            if first.get(name) != other.get(name):
                odd = _differing(first.get(name), other.get(name))
                raise ConfigError(f"votes of different {name} cannot be joined: {odd}")
    data = sorted(part for plan in plans for part in plan.get("data", ()))
    twice = sorted({part for part in data if data.count(part) > 1})
    if twice:
        raise ConfigError(f"the same data appear twice and would count twice: {twice[0]}; leave one out")
    return {**first, "data": data} if data else dict(first)


def _differing(one: Any, other: Any) -> str:
    """The first difference of two entries, in short."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        name = next(name for name in sorted({*one, *other}) if one.get(name) != other.get(name))
        return f"{name} is {one.get(name)!r} and {other.get(name)!r}"
    if isinstance(one, list) and isinstance(other, list):
        odd = sorted(set(one) ^ set(other))
        return f"{odd[0]!r} is in one only" if odd else "their order"
    return f"{one!r} and {other!r}"


FORMAT, FORMAT_VERSION = "eventcargo-votes", 4

AGAIN = "delete the folder and fuse again"


@dataclass(frozen=True)
class Plan:
    """The entries of plan.json: what was counted, the tests and polarities, the checksums of the files."""

    plan: dict[str, Any]
    kinds: list[tuple[Literal["total", "prefix"], Literal["present", "absent"]]]
    checksums: dict[str, str]


def run_votes(run: Path) -> VoteStore:
    """The votes of a run: read from RUN/votes if they match RUN/edges, otherwise counted and saved there."""
    votes, edges = run / "votes", run / "edges"
    known = (votes / "plan.json").exists()
    if not (edges / "plan.json").exists():
        if known:
            return read_votes(votes)
        raise DataError(f"{run} has neither edges nor votes; run extract first")
    folder = EdgeFolder.open(edges)
    if known and _read_plan(votes).plan == plan_of(folder):
        return read_votes(votes)
    store = VoteStore.of_folder(folder)
    write_votes(store, votes)
    return store


def join_runs(runs: Sequence[Path], out: Path) -> VoteStore:
    """Join the votes of several runs and write them to OUT/votes.

    Existing votes are replaced only if the joined votes include their data.
    """
    if (out / "edges").exists():
        raise ConfigError(
            f"{out} has edges of its own, which the joined votes would not match; choose another folder"
        )
    joined = VoteStore.join([run_votes(run) for run in runs])
    if (out / "votes" / "plan.json").exists():
        lost = sorted(set(_read_plan(out / "votes").plan.get("data", ())) - set(joined.plan.get("data", ())))
        if lost:
            raise ConfigError(
                f"{out} has votes of other data, which would be lost: {lost[0]}; join its run, too"
            )
    write_votes(joined, out / "votes")
    return joined


def write_votes(store: VoteStore, folder: str | Path) -> None:
    """Write votes to a folder, replacing its content.

    >>> import tempfile
    >>> from eventcargo.edges import EdgeTable
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_votes(VoteStore.of(EdgeTable.join([])), f"{folder}/votes")
    ...     read_votes(f"{folder}/votes").votes
    {}
    """
    with replacing_folder(folder) as target:
        for name, table in _tables(store).items():
            table.rechunk().write_parquet(target / f"{name}.parquet", compression="lz4")
        kinds = [list(kind) for kind in store.votes]
        content = {"plan": store.plan, "kinds": kinds, "checksums": folder_checksums(target)}
        write_document(target / "plan.json", FORMAT, FORMAT_VERSION, content)


def _tables(store: VoteStore) -> dict[str, pl.DataFrame]:
    """All tables of a store by the names of their files."""
    tables = {"positives": store.positives, "pooled": store.pooled}
    for (test, polarity), votes in store.votes.items():
        names = [name for name in TABLES if votes.is_grouped or name not in GROUPED]
        tables |= {f"{test}-{polarity}-{name}": getattr(votes, name) for name in names}
    return tables


def read_votes(folder: str | Path) -> VoteStore:
    """Read the votes of a folder; an error names a file that is damaged or belongs to other votes."""
    folder = Path(folder)
    content = _read_plan(folder)
    positives, pooled = (
        _read(folder, name, schema, content)
        for name, schema in (("positives", POSITIVES), ("pooled", POOLED))
    )
    votes: dict[Kind, Votes] = {}
    for test, polarity in content.kinds:
        names = {name: f"{test}-{polarity}-{name}" for name in TABLES}
        names = {
            name: file
            for name, file in names.items()
            if f"{file}.parquet" in content.checksums or name not in GROUPED
        }
        tables = {name: _read(folder, file, TABLES[name], content) for name, file in names.items()}
        try:
            votes[test, polarity] = Votes(test, polarity, **tables)
        except DataError as error:
            raise DataError(f"{folder}, {test}-{polarity}: {error}") from None
    return VoteStore(votes, positives, content.plan, pooled)


def _read(folder: Path, name: str, schema: Mapping[str, pl.DataType], content: Plan) -> pl.DataFrame:
    path = folder / f"{name}.parquet"
    bytes_of = read_checked(path, content.checksums.get(path.name), AGAIN)
    try:
        table = pl.read_parquet(bytes_of)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{path} is damaged: {str(error).splitlines()[0]}; {AGAIN}") from None
    if dict(table.schema) != dict(schema):
        raise DataError(f"{path} has unexpected columns: {', '.join(table.columns)}; {AGAIN}")
    return table


def _read_plan(folder: Path) -> Plan:
    path = folder / "plan.json"
    if not path.exists():
        raise DataError(f"{folder} holds no votes: it has no plan.json")
    content = read_document(path, FORMAT, FORMAT_VERSION, AGAIN)
    try:
        plan: Plan = parse_as(Plan, content, "its plan")
    except DataError as error:
        raise DataError(f"{path} is damaged: {error}; {AGAIN}") from None
    return plan


def untrusted_labels(run: Path) -> tuple[str, ...]:
    """Labels of a run whose model is no better than their base rate; only the plan is read, not the votes."""
    edges = run / "edges"
    plan = EdgeFolder.open(edges).plan if edges.exists() else _read_plan(run / "votes").plan
    return tuple(plan.get("untrusted", ()))
