"""Read labels, long (a row per sequence and label) or wide (a 0/1 column per label), into ragged rows."""

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventcargo.errors import DataError, EventCargoWarning, counted
from eventcargo.events import Ragged
from eventcargo.io.columns import BadValueError, NameColumn, collect, first_true, is_text, plain
from eventcargo.io.sources import Source, open_sources

LABEL = "label"
TRUE = pa.array(["1", "1.0", "true"], pa.large_string())
FALSE = pa.array(["0", "0.0", "false"], pa.large_string())

Marks = tuple[pa.Array, NDArray[np.int32], NDArray[np.int32], list[str]]
"""Sequence ids; for every mark the number of its sequence and of its label; the names of the labels."""


def read_labels(
    labels: Any, sequence_ids: pa.Array, sequence_id: str, label: str, unknown_labels: str
) -> tuple[Ragged, NDArray[np.int32], list[str]]:
    """Rows, codes and names of the labels of these sequences."""
    if labels is None:
        return label_rows(np.zeros(0, np.int64), np.zeros(0, np.int32), [], len(sequence_ids))
    sources = open_sources(labels, "labels")
    for source in sources:
        source.check_column(sequence_id, "sequence_id")
    is_wide = label == LABEL and not any(LABEL in source.columns for source in sources)
    marks = _read_wide(sources, sequence_id) if is_wide else _read_long(sources, sequence_id, label)
    ids, sequences, codes, names = marks
    rows = find_sequences(ids, sequence_ids, unknown_labels)[sequences]
    codes = codes[rows >= 0]
    return label_rows(rows[rows >= 0], codes, names, len(sequence_ids))


def label_rows(
    sequences: NDArray[np.int64], codes: NDArray[np.int32], names: list[str], n_sequences: int
) -> tuple[Ragged, NDArray[np.int32], list[str]]:
    """Ragged labels, sorted and distinct within a sequence; warn of repeated labels."""
    width = max(len(names), 1)
    keys, counts = np.unique(sequences.astype(np.int64) * width + codes, return_counts=True)
    if n_repeated := int(counts.sum()) - len(keys):
        warnings.warn(
            f"dropped {counted(n_repeated, 'repeated label row')}",
            EventCargoWarning,
            stacklevel=4,
        )
    counts = np.bincount(keys // width, minlength=n_sequences)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Ragged.from_offsets(offsets), (keys % width).astype(np.int32), names


def find_sequences(ids: pa.Array, sequence_ids: pa.Array, unknown_labels: str) -> NDArray[np.int64]:
    """The position of every id among the sequences; -1 for an unknown id with unknown_labels="drop"."""
    positions = pc.index_in(ids, value_set=sequence_ids)
    if positions.null_count:
        first = ids.filter(pc.is_null(positions))[0].as_py()
        unknown = counted(positions.null_count, "sequence")
        message = f"labels name {unknown} without any event, the first: {first!r}"
        if unknown_labels != "drop":
            raise DataError(f'{message}; correct the ids, or pass unknown_labels="drop"')
        warnings.warn(f"{message}; dropped these labels", EventCargoWarning, stacklevel=4)
    rows: NDArray[np.int64] = positions.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return rows


def _read_long(sources: list[Source], sequence_id: str, label: str) -> Marks:
    for source in sources:
        source.check_column(label, "label")
    ids, labels = NameColumn(sequence_id), NameColumn(label)
    if collect(sources, {sequence_id: ids, label: labels}) == 0:
        raise DataError(f"{sources[0].place} is empty; leave labels out if no sequence carries a label")
    sequences, names = ids.finish()
    codes, label_names = labels.finish()
    return names, sequences, codes, label_names.to_pylist()


class FlagColumn:
    """The rows in which a wide label is 1."""

    def __init__(self, column: str) -> None:
        self.column = column
        self._before = 0
        self._rows: list[NDArray[np.int64]] = []

    def add(self, values: pa.Array) -> None:
        values = plain(values)
        is_on, is_off = _flags(values)
        bad = pc.invert(pc.fill_null(pc.or_(is_on, is_off), False))
        if pc.any(bad).as_py():
            offset = first_true(bad)
            raise BadValueError(
                f"label {self.column!r} is {values[offset].as_py()!r}; a wide table holds 0 and 1, or false "
                "and true: drop columns that are not labels",
                offset,
            )
        self._rows.append(np.flatnonzero(is_on.to_numpy(zero_copy_only=False)) + self._before)
        self._before += len(values)

    def finish(self) -> NDArray[np.int64]:
        return np.concatenate([np.zeros(0, np.int64), *self._rows])


def _flags(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Where a label is on, and where it is off; any other value is neither."""
    kind = values.type
    if is_text(kind):
        lower = pc.utf8_lower(values.cast(pa.large_string()))
        return pc.is_in(lower, TRUE), pc.is_in(lower, FALSE)
    if pa.types.is_boolean(kind):
        return values, pc.invert(values)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return pc.equal(values, 1), pc.equal(values, 0)
    nothing = pa.array(np.zeros(len(values), bool))
    return nothing, nothing


def _read_wide(sources: list[Source], sequence_id: str) -> Marks:
    names = sorted(set(sources[0].columns) - {sequence_id})
    for source in sources:
        _check_wide(source, sources[0], sequence_id)
    ids, flags = NameColumn(sequence_id), [FlagColumn(name) for name in names]
    if collect(sources, {sequence_id: ids, **{flag.column: flag for flag in flags}}) == 0:
        raise DataError(f"{sources[0].place} is empty; leave labels out if no sequence carries a label")
    sequences, sequence_names = ids.finish()
    _check_once(sequences, sequence_names)
    rows = [flag.finish() for flag in flags]
    codes = np.repeat(np.arange(len(names), dtype=np.int32), [len(marked) for marked in rows])
    return sequence_names, sequences[np.concatenate(rows)], codes, names


def _check_wide(source: Source, first: Source, sequence_id: str) -> None:
    labels = set(source.columns) - {sequence_id}
    if not labels:
        raise DataError(f"{source.place} has only the column {sequence_id!r}; add a column for each label")
    if labels != set(first.columns) - {sequence_id}:
        odd = sorted((labels ^ set(first.columns)) - {sequence_id})[0]
        raise DataError(
            f"{source.place} and {first.place} differ in column {odd!r}; give both the same labels"
        )
    if "" in labels:
        raise DataError(f"{source.place} has a column without a name; every label needs a name")


def _check_once(sequences: NDArray[np.int32], names: pa.Array) -> None:
    """Refuse a sequence with two rows in a wide table: they could contradict each other."""
    counts = np.bincount(sequences, minlength=len(names))
    if (counts > 1).any():
        first = names[int(np.argmax(counts > 1))].as_py()
        raise DataError(
            f"wide labels have several rows for {counted(int((counts > 1).sum()), 'sequence')}, the first: "
            f"{first!r}; merge them into one row"
        )
