"""Recording: all events of all subjects as numbers, read once and kept chunk by chunk.

Subjects and event types are numbered as they appear; `Recording` then numbers them by name, so that neither
the order of rows nor their split into files matters. Events of a subject are read together in `parts`, sorted
by subject and time; events at the same time keep the order of rows.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventcargo.cohort.name_index import NameIndex
from eventcargo.cohort.spool import CHUNK, Rows, Spool, make_rows, partition
from eventcargo.cohort.tables import Tables
from eventcargo.errors import ConfigError, DataError, EventCargoWarning, argument, counted
from eventcargo.events import TimeKind
from eventcargo.io.columns import Collector, NameColumn, collect
from eventcargo.io.problems import Problems
from eventcargo.io.sources import Source
from eventcargo.io.times import TimeColumn
from eventcargo.io.values import ValueColumn, gather_values, open_values

PART_ROWS = 1 << 21
"""Rows of a part, unless a single subject has more."""

STREAM = "stream"
"""Name of the only subject of a table without a column of subjects."""


@dataclass(frozen=True)
class Recording:
    """The events of all subjects, numbered by name.

    `subject_order` and `code_order` map the numbers in the spool to numbers by name. `value_names` are the
    columns of numbers. `groups` are pairs (subject by name, group), empty without a column of groups.
    """

    spool: Spool
    subjects: pa.Array
    subject_order: NDArray[np.int32]
    codes: list[str]
    code_order: NDArray[np.int32]
    time_kind: TimeKind
    value_names: tuple[str, ...]
    counts: NDArray[np.int64]
    n_numbers: int
    groups: tuple[NDArray[np.int32], pa.Array]

    def chunks(self) -> Iterator[Rows]:
        """All rows with numbers by name, in the order of the table."""
        for rows in self.spool.chunks():
            rows = rows.copy()
            rows["subject"] = self.subject_order[rows["subject"]]
            rows["code"] = self.code_order[rows["code"]]
            yield rows

    def parts(self, folder: Path, keep: Callable[[Rows], Rows]) -> Iterator[Rows]:
        """Rows sorted by subject and time, some subjects at a time; `keep` selects rows."""
        ends = np.cumsum(self.counts)
        part_of = np.unique((ends - 1) // PART_ROWS, return_inverse=True)[1]
        spools = partition(
            (keep(rows) for rows in self.chunks()),
            lambda rows: part_of[rows["subject"]],
            int(part_of.max(initial=-1)) + 1,
            folder,
            len(self.value_names),
        )
        self.spool.delete()
        for spool in spools:
            rows = spool.all()
            spool.delete()
            yield rows[np.lexsort((rows["time"], rows["subject"]))]


class Recorder:
    """Collects the columns of a table, and moves them to a spool whenever there are enough."""

    def __init__(self, tables: Tables, value_names: tuple[str, ...], group: str, folder: Path) -> None:
        self._tables, self._value_names, self._group = tables, value_names, group
        self._subjects, self._codes, self._groups = NameIndex(), NameIndex(), NameIndex()
        self._pairs: list[NDArray[np.int64]] = []
        self._counts: list[NDArray[np.int64]] = []
        self._n_numbers, self._waiting = 0, 0
        self._spool = Spool(folder / "rows", len(value_names))
        self._collectors: dict[str, Collector] = {}
        self._time: TimeColumn | None = None
        self._values: list[ValueColumn] = []

    def read(self, sources: list[Source], stream: bool, problems: Problems) -> None:
        """Read all rows; `stream` if there is no column of subjects. Rows that cannot be used are noted."""
        self._open(sources, stream)
        flushing = [replace(source, read=self._then_flush(source)) for source in sources]
        collected = collect(flushing, self._collectors, problems, self._tables.sequence_id)
        problems.settle()
        if collected.n_rows == 0:
            raise DataError(f"{sources[0].place} is empty: no row in {counted(len(sources), 'table')}")
        self._flush()

    def _open(self, sources: list[Source], stream: bool) -> None:
        """Collectors of all columns."""
        names = [self._tables.event] if stream else [self._tables.event, self._tables.sequence_id]
        self._collectors.update({name: NameColumn(name) for name in names})
        time = self._tables.time
        if any(time in source.columns for source in sources):
            self._time = TimeColumn(time, self._tables.is_meds, self._tables.reading)
            self._collectors[time] = self._time
        self._values = open_values(sources, self._value_names, list(self._collectors))
        self._collectors.update({column.column: column for column in self._values})
        if self._group in self._collectors and self._group != self._tables.sequence_id:
            raise ConfigError(
                f"{argument('group', self._group)} is the column of times, events or numbers; name another"
            )
        if self._group in sources[0].columns:
            self._collectors[self._group] = NameColumn(self._group)

    def _then_flush(self, source: Source) -> Callable[[list[str]], Iterator[pa.RecordBatch]]:
        """Batches of a source; once a batch is collected, all waiting rows are flushed if they are many."""

        def read(columns: list[str]) -> Iterator[pa.RecordBatch]:
            for batch in source.read(columns):
                yield batch
                self._waiting += batch.num_rows
                if self._waiting >= CHUNK:
                    self._flush()

        return read

    def _flush(self) -> None:
        """Move the collected rows to the spool."""
        self._waiting = 0
        codes = self._take(self._tables.event, self._codes)
        if not len(codes):
            return
        values = gather_all(self._values, len(codes))
        if values.shape[1]:
            self._n_numbers += int(np.count_nonzero(~np.isnan(values[:, -1])))
        subjects = self._take_subjects(len(codes))
        self._counts.append(np.bincount(subjects, minlength=len(self._subjects)))
        self._spool.add(make_rows(subjects, codes, self._take_times(len(codes)), values))

    def _take(self, name: str, index: NameIndex) -> NDArray[np.int32]:
        """The numbers of the names collected so far; a new collector takes over."""
        column = self._collectors[name]
        assert isinstance(column, NameColumn)
        self._collectors[name] = NameColumn(name)
        codes, names = column.finish()
        return index.number(names)[codes]

    def _take_subjects(self, n_rows: int) -> NDArray[np.int32]:
        if self._tables.sequence_id not in self._collectors:
            return np.repeat(self._subjects.number(pa.array([STREAM])), n_rows)
        subjects = self._take(self._tables.sequence_id, self._subjects)
        if self._group in self._collectors and self._group != self._tables.sequence_id:
            groups = self._take(self._group, self._groups)
            self._pairs.append(np.unique(subjects.astype(np.int64) << 32 | groups))
        return subjects

    def _take_times(self, n_rows: int) -> NDArray[np.float64]:
        if self._time is None:
            return np.arange(self._spool.n_rows, self._spool.n_rows + n_rows, dtype=np.float64)
        return self._time.finish()

    def finish(self) -> Recording:
        """The recording, with subjects and event types numbered by name."""
        subjects, subject_order = sort_names(self._subjects.names)
        codes, code_order = sort_names(self._codes.names)
        counts = np.zeros(len(subjects), np.int64)
        for part in self._counts:
            counts[: len(part)] += part
        kind: TimeKind = "order" if self._time is None or self._time.kind is None else self._time.kind
        by_name = np.zeros_like(counts)
        by_name[subject_order] = counts
        return Recording(
            self._spool,
            subjects,
            subject_order,
            codes.to_pylist(),
            code_order,
            kind,
            self._value_names,
            by_name,
            self._n_numbers,
            self._finish_groups(subjects, subject_order),
        )

    def _finish_groups(
        self, subjects: pa.Array, subject_order: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], pa.Array]:
        """The group of every subject, and the names of groups; refuse a subject of two groups."""
        if not self._pairs:
            return np.zeros(0, np.int32), pa.array([], pa.large_string())
        pairs = np.unique(np.concatenate(self._pairs))
        owners = subject_order[pairs >> 32]
        repeated = np.bincount(owners, minlength=len(subjects)) > 1
        if repeated.any():
            first = subjects[int(np.argmax(repeated))].as_py()
            raise DataError(
                f"{counted(int(repeated.sum()), 'subject')} in several groups of {self._group!r}, the first: "
                f"{first!r}; a subject needs one group"
            )
        names, order = sort_names(self._groups.names)
        groups = np.zeros(len(subjects), np.int32)
        groups[owners] = order[pairs & 0xFFFFFFFF]
        return groups, names


def record(
    tables: Tables, value_names: tuple[str, ...], group: str, streams: bool, folder: Path
) -> Recording:
    """Read the events of a table; `streams` may lack the column of subjects: then there is one subject."""
    problems = Problems(tables.reading.on_bad_row)
    sources = tables.open_events(problems)
    stream = streams and tables.sequence_id not in sources[0].columns
    for source in sources:
        if not stream:
            source.check_column(tables.sequence_id, "sequence_id")
        source.check_column(tables.event, "event")
    recorder = Recorder(tables, value_names, group, folder)
    recorder.read(sources, stream, problems)
    return recorder.finish()


def sort_names(names: pa.Array) -> tuple[pa.Array, NDArray[np.int32]]:
    """Names sorted, and the place of each name among the sorted."""
    order = pc.sort_indices(names).to_numpy()
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return names.take(pa.array(order)), rank


def gather_all(columns: list[ValueColumn], n_rows: int) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EventCargoWarning)  # a chunk without numbers is no problem
        return gather_values(columns, slice(None), n_rows)
