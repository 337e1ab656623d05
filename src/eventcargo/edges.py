"""EdgeTable: what phase 1 found in single sequences, one row for each edge, and what it looked at.

Besides the edges it holds, for every label, in how many sequences it was tested, for every label and event
type in how many of these the event type occurred (a vote can only be weighed against the exposed it had), and
how many of all sequences carry the label. All counts add up over parts. On disk a table is a folder of
shards; each appears whole or not at all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from eventcargo.errors import ConfigError, DataError
from eventcargo.files import atomic_folder, read_document, write_document

FORMAT, FORMAT_VERSION = "eventcargo-edges", 2

EDGES: dict[str, pl.DataType] = {
    "sequence": pl.String(),
    "label": pl.String(),
    "event": pl.String(),
    "position": pl.Int32(),  # of the event among those of its sequence, from 0
    "strength": pl.Float32(),  # nats
    "effect_sd": pl.Float32(),  # standard deviation of the effect over particles
    "effect": pl.Float32(),  # change of the label's probability
    "polarity": pl.String(),  # whether the sequence carries the label: present or absent
    "test": pl.String(),  # prefix or total
    "before": pl.Float32(),  # probability of the label without the event; null where unknown
    "entropy": pl.Float32(),  # nats, of the label without the event; null where unknown
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
    "sequences": pl.Int64(),  # all that there are
}
TABLES = {"edges": EDGES, "support": SUPPORT, "exposed": EXPOSED, "positives": POSITIVES}
"""The tables of a shard and their columns; `exposed` counts the sequences in which an event type occurred."""


def _no_positives() -> pl.DataFrame:
    return pl.DataFrame(schema=POSITIVES)


@dataclass(frozen=True)
class EdgeTable:
    """Edges of single sequences, with the number of sequences and occurrences that were looked at.

    Without `positives` the information of edges, for which base rates are needed, stays unknown.

    >>> table = EdgeTable.join([])
    >>> len(table.edges), table.edges.columns[:3]
    (0, ['sequence', 'label', 'event'])
    """

    edges: pl.DataFrame
    support: pl.DataFrame
    exposed: pl.DataFrame
    positives: pl.DataFrame = field(default_factory=_no_positives)

    def __post_init__(self) -> None:
        for name, schema in TABLES.items():
            found = dict(getattr(self, name).schema)
            if found != schema:
                odd = sorted(set(found.items()) ^ set(schema.items()), key=str)[0]
                raise DataError(f"the table {name} of edges has other columns than it should: {odd}")

    @classmethod
    def join(cls, parts: "Iterable[EdgeTable]") -> "EdgeTable":
        """All edges, one part after the other, and the sums of what was looked at."""
        given = list(parts)
        tables = {
            name: pl.concat([pl.DataFrame(schema=schema), *(getattr(part, name) for part in given)])
            for name, schema in TABLES.items()
        }
        return cls(tables["edges"], *(summed(tables[name]) for name in TABLES if name != "edges"))

    @classmethod
    def read(cls, folder: str | Path) -> "EdgeTable":
        """All shards of a folder that `extract` filled; one that is not complete is refused."""
        shards = EdgeFolder.open(Path(folder))
        return cls.join(shards.read(number) for number in range(shards.n_shards))


def summed(counts: pl.DataFrame) -> pl.DataFrame:
    """The sums of all whole numbers of rows of the same names, sorted by name."""
    keys = [name for name, kind in counts.schema.items() if kind == pl.String()]
    return counts.group_by(keys).agg(pl.exclude(keys).sum()).select(counts.columns).sort(keys)


class EdgeFolder:
    """The shards of an edge table: `plan.json` says how many there are and what they follow from."""

    def __init__(self, folder: Path, plan: Mapping[str, Any]) -> None:
        self.folder, self.plan = folder, dict(plan)

    @property
    def n_shards(self) -> int:
        return int(self.plan["shards"])

    @classmethod
    def create(cls, folder: Path, plan: Mapping[str, Any], resume: bool) -> "EdgeFolder":
        """A folder to fill; one that is there is gone on with only by `resume` and with the same plan."""
        path = folder / "plan.json"
        if path.exists():
            if not resume:
                raise ConfigError(f"{folder} exists already; go on with resume, or choose a new folder")
            before = cls.open(folder)
            before._check(plan)
            return before
        write_document(path, FORMAT, FORMAT_VERSION, plan)
        return cls(folder, plan)

    @classmethod
    def open(cls, folder: Path) -> "EdgeFolder":
        """A folder that was created before."""
        path = folder / "plan.json"
        if not path.exists():
            raise DataError(f"{folder} holds no edges: it has no plan.json; run extract first")
        return cls(folder, read_document(path, FORMAT, FORMAT_VERSION, "extract the edges again"))

    def _check(self, plan: Mapping[str, Any]) -> None:
        for name in sorted(set(plan) | set(self.plan)):
            if plan.get(name) != self.plan.get(name):
                raise ConfigError(
                    f"{self.folder} was begun with {name}={self.plan.get(name)!r}, now it is "
                    f"{plan.get(name)!r}; resume with the same settings and data, or choose a new folder"
                )

    def shard(self, number: int) -> Path:
        return self.folder / f"shard-{number:05}"

    def missing(self) -> list[int]:
        """Numbers of the shards that are not there yet."""
        return [number for number in range(self.n_shards) if not self.shard(number).exists()]

    def write(self, number: int, table: EdgeTable) -> None:
        """Write a shard, whole or not at all."""
        with atomic_folder(self.shard(number)) as target:
            for name in TABLES:
                getattr(table, name).write_parquet(target / f"{name}.parquet")

    def read(self, number: int) -> EdgeTable:
        """One shard; one that is missing or damaged is refused by name."""
        left = self.missing()
        if number in left:
            raise DataError(
                f"{len(left):,} of {self.n_shards:,} shards of {self.folder} are missing, the first: "
                f"{self.shard(left[0]).name}; go on with extract --resume"
            )
        try:
            parts = {name: pl.read_parquet(self.shard(number) / f"{name}.parquet") for name in TABLES}
        except (OSError, pl.exceptions.PolarsError) as error:
            reason = str(error).splitlines()[0]
            raise DataError(f"{self.shard(number)} is damaged: {reason}; delete it and resume") from None
        try:
            return EdgeTable(**parts)
        except DataError as error:
            raise DataError(
                f"{self.shard(number)} is of another release or program: {error}; delete it and resume"
            ) from None
