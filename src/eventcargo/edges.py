"""EdgeTable: the edges that phase 1 found in single sequences, one row each, and what it tested.

Besides the edges it holds three counts of sequences: for every label those tested, for every label and event
type the tested ones in which the event type occurs (votes are weighed against these exposed sequences), and
for every label all that carry it. If sequences come in groups, sums over groups say how far the sequences of
a group resemble each other; no part may split a group. All counts add up over parts. On disk a table is a
folder of shards; each shard appears whole or not at all, with the checksums of its files.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from eventcargo.checksums import folder_checksums, read_checked
from eventcargo.errors import ConfigError, DataError, counted
from eventcargo.files import atomic_folder, check_same_settings, read_document, sweep, write_document
from eventcargo.typed import parse_as

POLARITIES = ("present", "absent")
"""Whether a sequence carries the label it is tested for."""

FORMAT, FORMAT_VERSION = "eventcargo-edges", 6

SUMS, SUMS_FORMAT = "checksums.json", ("eventcargo-shard", 1)
"""The file with the checksums of a shard's other files, its format and version."""

AGAIN = "delete it and resume"

EDGES: dict[str, pl.DataType] = {
    "sequence": pl.String(),
    "label": pl.String(),
    "event": pl.String(),
    "position": pl.Int32(),  # of the event in its sequence, from 0
    "strength": pl.Float32(),  # nats
    "effect_sd": pl.Float32(),  # standard deviation of the effect over particles
    "effect": pl.Float32(),  # change of the label's probability
    "polarity": pl.String(),  # whether the sequence carries the label: present or absent
    "test": pl.String(),  # prefix or total
    "before": pl.Float32(),  # probability of the label without the event; null if unknown
    "entropy": pl.Float32(),  # nats, of the label without the event; null if unknown
    "others": pl.List(pl.String()),  # hidden together with the event, because each would have been enough
}
SUPPORT: dict[str, pl.DataType] = {
    "test": pl.String(),
    "polarity": pl.String(),
    "label": pl.String(),
    "sequences": pl.Int64(),  # in which the label was tested
}
EXPOSED: dict[str, pl.DataType] = {**SUPPORT, "event": pl.String()}
POSITIVES: dict[str, pl.DataType] = {
    "label": pl.String(),
    "positives": pl.Int64(),  # sequences that carry the label, tested or not
    "sequences": pl.Int64(),  # all sequences
}
GROUP_SUPPORT: dict[str, pl.DataType] = {
    "test": pl.String(),
    "polarity": pl.String(),
    "label": pl.String(),
    "groups": pl.Int64(),  # with a sequence in which the label was tested
    "tested_tested": pl.Int64(),  # sum over groups of the square of their tested sequences
}
GROUP_VOTES: dict[str, pl.DataType] = {
    "test": pl.String(),
    "polarity": pl.String(),
    "label": pl.String(),
    "event": pl.String(),
    "voting": pl.Int64(),  # groups with a sequence that has the edge
    "meeting": pl.Int64(),  # groups with a tested sequence in which the event type occurs
    "votes_votes": pl.Int64(),  # sums over groups of products: of their sequences with the edge,
    "votes_tested": pl.Int64(),  # their tested sequences,
    "votes_exposed": pl.Int64(),  # and their tested sequences in which the event type occurs
    "exposed_exposed": pl.Int64(),
}
POOLED: dict[str, pl.DataType] = {
    "label": pl.String(),
    "event": pl.String(),
    "sequences": pl.Int64(),  # in which hiding the event type changes the label's probability
    "evidence": pl.Int64(),  # sums over these, in grains: log P(label | sequence) - log P(.. | hidden),
    "effect": pl.Int64(),  # the change of the label's probability,
    "squares": pl.Int64(),  # in grains of a square: the squares of the evidence of sequences
    "group_squares": pl.Int64(),  # and of groups of sequences
}
TABLES = {
    "edges": EDGES,
    "support": SUPPORT,
    "exposed": EXPOSED,
    "positives": POSITIVES,
    "group_support": GROUP_SUPPORT,
    "group_votes": GROUP_VOTES,
    "pooled": POOLED,
}
"""The tables of a shard and their columns; `exposed` counts tested sequences with an event type."""

GRAINS, SQUARE_GRAINS = 2**32, 2**16
"""Grains per nat and per unit of probability, and per square of a nat. Sums are whole grains: these add up
alike in any order."""

MOST_SHARDS = 10**7
"""More shards than any run has."""

GROUPED = ("group_support", "group_votes")
"""Tables that are empty, and have no file, if each sequence is its own group."""


def _empty(name: str) -> Callable[[], pl.DataFrame]:
    return lambda: pl.DataFrame(schema=TABLES[name])


def voting(edges: pl.DataFrame) -> pl.DataFrame:
    """The edges that vote: all but members of sets that held a label off.

    Where a label is held off, whatever makes it a little less likely is in a set with something else.
    """
    is_alone = pl.col("others").list.len().fill_null(0) == 0
    return edges.filter(is_alone | (pl.col("effect") > 0))


@dataclass(frozen=True)
class EdgeTable:
    """Edges of single sequences, and the counts of tested and exposed sequences and of positives.

    `pooled` has what all sequences say about a pair, summed before anything is cut off; it is empty if the
    model has no weights that were fitted without a fold. Without `positives`, which give the base rates, the
    mutual information of edges is unknown.

    >>> table = EdgeTable.join([])
    >>> len(table.edges), table.edges.columns[:3]
    (0, ['sequence', 'label', 'event'])
    """

    edges: pl.DataFrame
    support: pl.DataFrame
    exposed: pl.DataFrame
    positives: pl.DataFrame = field(default_factory=_empty("positives"))
    group_support: pl.DataFrame = field(default_factory=_empty("group_support"))
    group_votes: pl.DataFrame = field(default_factory=_empty("group_votes"))
    pooled: pl.DataFrame = field(default_factory=_empty("pooled"))

    def __post_init__(self) -> None:
        for name, schema in TABLES.items():
            given = dict(getattr(self, name).schema)
            if given != schema:
                odd = sorted(set(given.items()) ^ set(schema.items()), key=str)[0]
                raise DataError(f"the table {name} of the edges lacks a column or has another: {odd}")

    @classmethod
    def join(cls, parts: "Iterable[EdgeTable]") -> "EdgeTable":
        """All edges, one part after the other, and the sums of all counts."""
        given = list(parts)
        tables = {
            name: pl.concat([pl.DataFrame(schema=schema), *(getattr(part, name) for part in given)])
            for name, schema in TABLES.items()
        }
        return cls(tables["edges"], *(summed(tables[name]) for name in TABLES if name != "edges"))

    def parts(self) -> "Iterator[EdgeTable]":
        """The table itself, as the only part; see `EdgeFolder.parts`."""
        yield self

    @classmethod
    def read(cls, folder: str | Path) -> "EdgeTable":
        """Read all shards of a folder that `extract` filled; refuses an incomplete folder."""
        return cls.join(EdgeFolder.open(Path(folder)).parts())


def summed(counts: pl.DataFrame) -> pl.DataFrame:
    """The sums of the integer columns over rows with the same names, sorted by name."""
    keys = [name for name, kind in counts.schema.items() if kind == pl.String()]
    return counts.group_by(keys).agg(pl.exclude(keys).sum()).select(counts.columns).sort(keys)


class EdgeFolder:
    """The shards of an edge table; `plan.json` holds their number and the settings that they follow from."""

    def __init__(self, folder: Path, plan: Mapping[str, Any]) -> None:
        self.folder, self.plan = folder, dict(plan)

    @property
    def n_shards(self) -> int:
        return int(self.plan["shards"])

    @classmethod
    def create(cls, folder: Path, plan: Mapping[str, Any], resume: bool) -> "EdgeFolder":
        """Create a folder to fill; an existing one is continued only with `resume=True` and the same plan."""
        path = folder / "plan.json"
        if path.exists():
            if not resume:
                raise ConfigError(f"{folder} exists already; continue it with resume, or choose a new folder")
            begun = cls.open(folder)
            check_same_settings(folder, begun.plan, plan)
            sweep(folder)
            return begun
        write_document(path, FORMAT, FORMAT_VERSION, plan)
        return cls(folder, plan)

    @classmethod
    def open(cls, folder: Path) -> "EdgeFolder":
        """Open a folder created earlier."""
        path = folder / "plan.json"
        if not path.exists():
            raise DataError(f"{folder} holds no edges: it has no plan.json; run extract first")
        plan = read_document(path, FORMAT, FORMAT_VERSION, "extract the edges again")
        shards = parse_as(int, plan.get("shards"), f"{path}: shards")
        if not 0 <= shards <= MOST_SHARDS:
            raise DataError(f"{path} counts {shards:,} shards; extract the edges again")
        return cls(folder, plan)

    def parts(self) -> Iterator[EdgeTable]:
        """The shards one after the other, for work that does not need them all at once."""
        return (self.read(number) for number in range(self.n_shards))

    def shard(self, number: int) -> Path:
        return self.folder / f"shard-{number:05}"

    def missing(self) -> list[int]:
        """Numbers of the shards that are not written yet."""
        return [number for number in range(self.n_shards) if not self.shard(number).exists()]

    def write(self, number: int, table: EdgeTable) -> None:
        """Write a shard, whole or not at all."""
        with atomic_folder(self.shard(number)) as target:
            for name in TABLES:
                if name not in GROUPED or len(getattr(table, name)):
                    getattr(table, name).write_parquet(target / f"{name}.parquet")
            write_document(target / SUMS, *SUMS_FORMAT, {"files": folder_checksums(target)})

    def read(self, number: int) -> EdgeTable:
        """Read one shard; an error names a shard that is missing or damaged."""
        missing = self.missing()
        if number in missing:
            raise DataError(
                f"{len(missing):,} of {counted(self.n_shards, 'shard')} missing in {self.folder}, the first: "
                f"{self.shard(missing[0]).name}; continue with extract --resume"
            )
        folder = self.shard(number)
        sums = read_document(folder / SUMS, *SUMS_FORMAT, AGAIN).get("files")
        sums = parse_as(dict[str, str], sums, f"{folder / SUMS}: files")
        files = {name: f"{name}.parquet" for name in TABLES}
        tables = {
            name: _read_table(folder / file, sums.get(file))
            for name, file in files.items()
            if name not in GROUPED or file in sums
        }
        try:
            return EdgeTable(**tables)
        except DataError as error:
            raise DataError(f"{folder} is of another release or program: {error}; {AGAIN}") from None


def _read_table(path: Path, expected: str | None) -> pl.DataFrame:
    content = read_checked(path, expected, AGAIN)
    try:
        return pl.read_parquet(content)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{path.parent} is damaged: {path.name}: {str(error).splitlines()[0]}; {AGAIN}"
        ) from None
