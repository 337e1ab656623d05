"""Outcomes: labels with times, of subjects that have events."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventcargo.cohort.event_types import normalised
from eventcargo.cohort.name_index import NameIndex
from eventcargo.cohort.recording import STREAM, sort_names
from eventcargo.cohort.segments import by_owner
from eventcargo.cohort.tables import Tables
from eventcargo.errors import ConfigError, DataError, EventCargoWarning, argument, counted
from eventcargo.events import Ragged
from eventcargo.io.columns import Collector, NameColumn, collect
from eventcargo.io.labels import FlagColumn, check_not_long, is_wide, marks_of, open_wide, read_labels
from eventcargo.io.problems import Problems
from eventcargo.io.sources import Source
from eventcargo.io.times import TimeColumn

MOST_NAMED = 20
"""Most labels named in a message."""


@dataclass(frozen=True)
class Outcomes:
    """Outcomes sorted by subject, time and label, without repeats."""

    subjects: NDArray[np.int32]
    times: NDArray[np.float64]
    labels: NDArray[np.int32]
    label_names: tuple[str, ...]

    @classmethod
    def of(
        cls, subjects: NDArray[Any], times: NDArray[np.float64], labels: NDArray[Any], names: pa.Array
    ) -> "Outcomes":
        """Outcomes from rows in any order, whose labels are positions among `names` in any order."""
        ordered, rank = sort_names(names)
        labels = rank[labels]
        order = np.lexsort((labels, times, subjects))
        subjects, times, labels = subjects[order], times[order], labels[order]
        is_new = np.ones(len(order), bool)
        is_new[1:] = (np.diff(subjects) != 0) | (np.diff(times) != 0) | (np.diff(labels) != 0)
        repeated = int((~is_new).sum())
        if repeated:
            _warn(f"dropped {counted(repeated, 'repeated outcome')}")
        columns = (subjects.astype(np.int32)[is_new], times[is_new], labels.astype(np.int32)[is_new])
        return cls(*columns, tuple(ordered.to_pylist()))

    def __len__(self) -> int:
        return len(self.subjects)

    def used(self) -> "Outcomes":
        """The same outcomes, without names of labels that do not occur."""
        present, labels = np.unique(self.labels, return_inverse=True)
        names = tuple(self.label_names[number] for number in present)
        return replace(self, labels=labels.astype(np.int32), label_names=names)

    def only(self, names: Sequence[str]) -> "Outcomes":
        """The outcomes with these labels; refuse an unknown one."""
        unknown = sorted(set(names) - set(self.label_names))
        if unknown:
            some = ", ".join(self.label_names[:MOST_NAMED])
            raise ConfigError(f"{argument('only', unknown[0])}: there is no such label; use {some}")
        numbers = [self.label_names.index(name) for name in names]
        rows = np.isin(self.labels, numbers)
        kept = replace(self, subjects=self.subjects[rows], times=self.times[rows], labels=self.labels[rows])
        return kept.used()

    def joined(self, other: "Outcomes") -> "Outcomes":
        """The outcomes of both."""
        index = NameIndex()
        own, others = (index.number(pa.array(each.label_names, pa.large_string())) for each in (self, other))
        return Outcomes.of(
            np.concatenate([self.subjects, other.subjects]),
            np.concatenate([self.times, other.times]),
            np.concatenate([own[self.labels], others[other.labels]]),
            index.names,
        )

    def of_subjects(self, n_subjects: int) -> Ragged:
        """The rows of every subject."""
        return by_owner(self.subjects, n_subjects)


def read_outcomes(
    tables: Tables, label_time: str, subjects: pa.Array, time_kind: str, normalise: bool
) -> tuple[Outcomes, int]:
    """The outcomes of these subjects, and how many rows are of others."""
    problems = Problems(tables.reading.on_bad_row)
    sources = tables.open_outcomes(problems)
    stream = tables.sequence_id not in sources[0].columns and subjects.to_pylist() == [STREAM]
    ids, times = NameColumn(tables.sequence_id), TimeColumn(label_time, reading=tables.reading)
    _check_columns(sources, tables, label_time, stream)
    beside = [label_time] if stream else [label_time, tables.sequence_id]
    flags = open_wide(sources, beside) if is_wide(sources, tables.label) else []
    labels = NameColumn(tables.label)
    collectors: dict[str, Collector] = {label_time: times, **({} if stream else {tables.sequence_id: ids})}
    collectors |= {flag.column: flag for flag in flags} if flags else {tables.label: labels}
    n_rows = collect(sources, collectors, problems, "" if stream else tables.sequence_id).n_rows
    if flags:
        check_not_long(sources[0], tables.sequence_id, flags)
    problems.settle()
    if n_rows == 0:
        raise DataError(f"{sources[0].place} is empty; give the outcomes")
    if time_kind != times.kind:
        words = {"number": "numbers", "datetime": "dates", "order": "missing"}
        raise DataError(
            f"{label_time!r} of the labels holds {words[str(times.kind)]}, but the times of the events are "
            f"{words[time_kind]}; give both in one kind"
        )
    rows, codes, names = _labels(flags, labels)
    if not len(rows):
        raise DataError(f"{sources[0].place} holds no outcome: no column of a label has a 1")
    owners = (np.zeros(n_rows, np.int64) if stream else _owners(ids, subjects))[rows]
    known = owners >= 0
    if not known.any():
        raise DataError(
            f"none of {counted(len(owners), 'outcome')} is of a subject with events; check the column "
            f"{tables.sequence_id!r} of both tables"
        )
    moments = times.finish()[rows]
    codes, names = merged_names(codes, names, normalise)
    outcomes = Outcomes.of(owners[known], moments[known], codes[known], names)
    return outcomes.used() if flags else outcomes, int((~known).sum())


def read_timeless(
    tables: Tables, subjects: pa.Array, normalise: bool
) -> tuple[NDArray[np.int64], NDArray[np.int32], tuple[str, ...]]:
    """Labels without times: the subject and label of each, and the names of the labels."""
    owners, codes, index = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)], NameIndex()
    problems = Problems(tables.reading.on_bad_row)
    for table in tables.outcome_tables:
        rows, labels, names = read_labels(
            table, subjects, tables.sequence_id, tables.label, "drop", tables.reading, problems
        )
        labels, merged = merged_names(labels, pa.array(names, pa.large_string()), normalise)
        owners.append(np.repeat(np.arange(len(subjects)), rows.lengths))
        codes.append(index.number(merged)[labels])
    problems.settle()
    ordered, rank = sort_names(index.names)
    return np.concatenate(owners), rank[np.concatenate(codes)], tuple(ordered.to_pylist())


def _check_columns(sources: list[Source], tables: Tables, label_time: str, stream: bool) -> None:
    for source in sources:
        if not stream:
            source.check_column(tables.sequence_id, "sequence_id")
        if not is_wide(sources, tables.label):
            source.check_column(tables.label, "label")
        source.check_column(label_time, "label_time")


def _labels(
    flags: list[FlagColumn], labels: NameColumn
) -> tuple[NDArray[np.int64], NDArray[np.int32], pa.Array]:
    """The row, label and names of labels of all outcomes: of each 1 of a wide table, else of each row."""
    if flags:
        return *marks_of(flags), pa.array([flag.column for flag in flags], pa.large_string())
    codes, names = labels.finish()
    return np.arange(len(codes)), codes, names


def _owners(ids: NameColumn, subjects: pa.Array) -> NDArray[np.int64]:
    """The number of each row's subject; -1 if it has no events."""
    codes, names = ids.finish()
    numbers = pc.index_in(names, value_set=subjects).fill_null(-1).to_numpy(zero_copy_only=False)
    return numbers.astype(np.int64)[codes]


def merged_names(
    codes: NDArray[np.int32], names: pa.Array, normalise: bool
) -> tuple[NDArray[np.int32], pa.Array]:
    """Labels with their names normalised, if wanted."""
    if not normalise:
        return codes, names
    index = NameIndex()
    merged = np.array([index.number(pa.array([normalised(name)]))[0] for name in names.to_pylist()], np.int32)
    return merged[codes], index.names


def _warn(message: str) -> None:
    warnings.warn(message, EventCargoWarning, stacklevel=4)
