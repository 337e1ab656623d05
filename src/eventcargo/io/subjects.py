"""Read the subjects of a MEDS data set: the Parquet files under `data`, as sorted rows of codes and times."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventcargo.errors import DataError, counted, warn
from eventcargo.events import Ragged
from eventcargo.io.columns import Collector, NameColumn, collect
from eventcargo.io.problems import Bad, Problems, bad_values
from eventcargo.io.shards import visible_files
from eventcargo.io.sources import Source, open_file
from eventcargo.io.times import TimeColumn
from eventcargo.io.values import ValueColumn, gather_values, open_values

Static = Literal["first", "drop"]


@dataclass(frozen=True)
class Subjects:
    """All subjects, sorted by number: rows of events, times and values, static events first."""

    ids: NDArray[np.int64]
    rows: Ragged
    events: NDArray[np.int32]
    times: NDArray[np.float64]
    event_names: list[str]
    values: NDArray[np.float64]


class SubjectColumn:
    """Subject numbers as int64."""

    def __init__(self) -> None:
        self._values: list[NDArray[np.int64]] = []

    def parse(self, values: pa.Array) -> tuple[pa.Array, list[Bad]]:
        if not pa.types.is_integer(values.type):
            advice = f"the column has type {values.type}; MEDS needs int64"
            return values, bad_values("subject_id is", advice, np.ones(len(values), bool), values)
        return values, bad_values("subject_id is", "every row needs an id", pc.is_null(values), values)

    def keep(self, parsed: pa.Array) -> None:
        self._values.append(parsed.cast(pa.int64()).to_numpy(zero_copy_only=False))

    def finish(self) -> NDArray[np.int64]:
        return np.concatenate([np.zeros(0, np.int64), *self._values])


def open_meds(paths: list[Path], columns: tuple[str, ...]) -> list[Source]:
    """The files as sources; refuse a file without one of these columns."""
    sources = [open_file(path) for path in paths]
    for source in sources:
        for column in columns:
            if column not in source.columns:
                raise DataError(f"{source.place} has no column {column!r}, which MEDS needs")
    return sources


def read_subjects(
    root: Path, static: Static, values: Sequence[str] = (), problems: Problems | None = None
) -> Subjects:
    """All subjects under `root/data`; rows that cannot be used are refused, or as `problems` says."""
    noted = Problems() if problems is None else problems
    folder = root / "data"
    if not folder.is_dir():
        raise DataError(f"{folder} does not exist; give the root of a MEDS data set")
    subjects, times, codes = SubjectColumn(), TimeColumn("time", allow_null=True), NameColumn("code")
    sources = open_meds(visible_files(folder.rglob("*.parquet")), ("subject_id", "time", "code"))
    collectors: dict[str, Collector] = {"subject_id": subjects, "time": times, "code": codes}
    extra = open_values(sources, values, list(collectors))
    collectors.update({column.column: column for column in extra})
    n_rows = collect(sources, collectors, noted, "subject_id").n_rows
    if noted and not n_rows:
        noted.refuse()
    noted.settle()
    if not n_rows:
        raise DataError(f"{folder} holds no events: {counted(len(sources), 'Parquet file')} without a row")
    if times.kind == "number":
        raise DataError(f"{sources[0].place}: time is a number; MEDS needs timestamps")
    numbers, names = codes.finish()
    ids, owners = np.unique(subjects.finish(), return_inverse=True)
    return _sorted_subjects(ids, owners, numbers, times.finish(), extra, names.to_pylist(), static)


def _sorted_subjects(
    ids: NDArray[np.int64],
    owners: NDArray[np.intp],
    events: NDArray[np.int32],
    times: NDArray[np.float64],
    columns: Sequence[ValueColumn],
    event_names: list[str],
    static: Static,
) -> Subjects:
    """Rows sorted by subject and time; static events come first, at the time of the first timed event."""
    values = gather_values(columns, slice(None), len(times))
    n_static = int(np.isnan(times).sum())
    if static == "drop" and n_static:
        warn(f"dropped {counted(n_static, 'static event')} without a time")
        timed = ~np.isnan(times)
        owners, events, times, values = owners[timed], events[timed], times[timed], values[timed]
    order = np.lexsort((np.where(np.isnan(times), -np.inf, times), owners))
    owners, events, times, values = owners[order], events[order], times[order], values[order]
    first = np.full(len(ids), np.inf)
    np.minimum.at(first, owners[~np.isnan(times)], times[~np.isnan(times)])
    times = np.where(np.isnan(times), first[owners], times)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(ids)))]).astype(np.int64)
    return Subjects(ids, Ragged.from_offsets(offsets), events, times, event_names, values)
