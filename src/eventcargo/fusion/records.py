"""Records: votes on disk, so that edges are read once and parts can be joined without them.

RUN/votes holds `plan.json`, which says what was counted and how much of it, and Parquet files: for each test
and polarity its counts, chances and support, and beside them the carriers of the labels. The folder appears
whole or not at all.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from eventcargo.atomic import atomic_folder
from eventcargo.documents import read_document, write_document
from eventcargo.edges import CARRIERS, EdgeFolder
from eventcargo.errors import ConfigError, DataError
from eventcargo.events import EventDataset
from eventcargo.fusion.consensus import fuse
from eventcargo.fusion.poll import Poll, plan_of
from eventcargo.fusion.settings import FuseConfig
from eventcargo.fusion.votes import TABLES, Votes
from eventcargo.graphs import LabelGraph
from eventcargo.knowledge import Knowledge, Resolved

FORMAT, FORMAT_VERSION = "eventcargo-votes", 1


def fuse_run(
    run: str | Path,
    config: FuseConfig | None = None,
    *,
    data: EventDataset | None = None,
    knowledge: Knowledge | Resolved | None = None,
) -> LabelGraph:
    """The graph of a run's votes, which are counted from RUN/edges where RUN/votes does not have them yet."""
    return fuse(poll_of(Path(run)), config, data=data, knowledge=knowledge)


def poll_of(run: Path) -> Poll:
    """The votes of a run: RUN/votes where they are of the same edges, otherwise counted and kept there."""
    votes, edges = run / "votes", run / "edges"
    known = (votes / "plan.json").exists()
    if not (edges / "plan.json").exists():
        if known:
            return read_poll(votes)
        raise DataError(f"{run} has neither edges nor votes; run extract first")
    folder = EdgeFolder.open(edges)
    if known and _read_plan(votes)["plan"] == plan_of(folder):
        return read_poll(votes)
    poll = Poll.of_folder(folder)
    write_poll(poll, votes)
    return poll


def join_runs(runs: Sequence[Path], out: Path) -> Poll:
    """The votes of several runs together, written to OUT/votes.

    Votes that are there already are replaced only by votes that contain theirs.
    """
    if (out / "edges").exists():
        raise ConfigError(
            f"{out} has edges of its own, of which the joined votes would not be; choose another folder"
        )
    joined = Poll.join([poll_of(run) for run in runs])
    if (out / "votes" / "plan.json").exists():
        lost = sorted(set(_read_plan(out / "votes")["plan"]["data"]) - set(joined.plan.get("data", ())))
        if lost:
            raise ConfigError(f"{out} has votes of other data, which would be lost: {lost[0]}; join it, too")
    write_poll(joined, out / "votes")
    return joined


def write_poll(poll: Poll, folder: str | Path) -> None:
    """Write votes to a folder; what is there is replaced.

    >>> import tempfile
    >>> from eventcargo.edges import EdgeTable
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_poll(Poll.of(EdgeTable.join([])), f"{folder}/votes")
    ...     read_poll(f"{folder}/votes").votes
    {}
    """
    folder = Path(folder)
    fresh, old = (folder.with_name(f".{folder.name}.{what}") for what in ("new", "old"))
    shutil.rmtree(fresh, ignore_errors=True)
    with atomic_folder(fresh) as target:
        _write(poll, target)
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        folder.rename(old)
    fresh.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _write(poll: Poll, target: Path) -> None:
    rows = {}
    for name, table in _tables(poll).items():
        table.rechunk().write_parquet(target / f"{name}.parquet", compression="lz4")
        rows[name] = _size(table)
    kinds = [list(kind) for kind in poll.votes]
    content = {"plan": poll.plan, "kinds": kinds, "sizes": rows}
    write_document(target / "plan.json", FORMAT, FORMAT_VERSION, content)


def _tables(poll: Poll) -> dict[str, pl.DataFrame]:
    """All tables of a poll by the names of their files."""
    tables = {"carriers": poll.carriers}
    for (test, polarity), votes in poll.votes.items():
        tables |= {f"{test}-{polarity}-{name}": getattr(votes, name) for name in TABLES}
    return tables


def _size(table: pl.DataFrame) -> list[int]:
    """Rows of a table, and the sum of its first count: files of different votes seldom agree in both."""
    return [len(table), int(table.to_series(list(table.dtypes).index(pl.Int64())).sum())]


def read_poll(folder: str | Path) -> Poll:
    """The votes in a folder; what is damaged, or belongs to other votes, is refused by name."""
    folder = Path(folder)
    content = _read_plan(folder)
    carriers = _read(folder, "carriers", CARRIERS, content)
    votes = {}
    for test, polarity in content["kinds"]:
        names = {name: f"{test}-{polarity}-{name}" for name in TABLES}
        tables = {name: _read(folder, file, TABLES[name], content) for name, file in names.items()}
        try:
            votes[test, polarity] = Votes(test, polarity, **tables)
        except DataError as error:
            raise DataError(f"{folder}, {test}-{polarity}: {error}") from None
    return Poll(votes, carriers, content["plan"])


def _read(
    folder: Path, name: str, schema: Mapping[str, pl.DataType], content: Mapping[str, Any]
) -> pl.DataFrame:
    path = folder / f"{name}.parquet"
    again = "delete the folder and fuse again"
    try:
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{path} is missing or damaged: {str(error).splitlines()[0]}; {again}") from None
    if dict(table.schema) != dict(schema):
        raise DataError(f"{path} has other columns than it should: {', '.join(table.columns)}; {again}")
    if content["sizes"].get(name) != _size(table):
        said = content["sizes"].get(name)
        raise DataError(
            f"{path} has {_size(table)} rows and counts, plan.json says {said}; it is of other votes, {again}"
        )
    return table


def _read_plan(folder: Path) -> dict[str, Any]:
    path = folder / "plan.json"
    if not path.exists():
        raise DataError(f"{folder} holds no votes: it has no plan.json")
    content = read_document(path, FORMAT, FORMAT_VERSION, "delete the folder and fuse again")
    if missing := sorted({"plan", "kinds", "sizes"} - set(content)):
        raise DataError(f"{path} has no entry {missing[0]!r}; delete the folder and fuse again")
    return content
