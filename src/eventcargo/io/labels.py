"""Read labels, long (a row per sequence and label) or wide (a 0/1 column per label), into ragged rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, DataError, argument, counted, warn
from eventcargo.events import Ragged
from eventcargo.io.columns import Collected, Collector, NameColumn, collect, is_text, plain
from eventcargo.io.config import ReadConfig
from eventcargo.io.dates import not_dates
from eventcargo.io.problems import SHOWN_ROWS, Bad, Kind, Problems, bad_values, show
from eventcargo.io.sources import READING, Source, open_sources

LABEL = "label"
LABEL_WORDS = ("label", "outcome", "target", "class", "diagnosis", "fault", "failure", "category", "result")
"""Words in the name of a column that is likely to hold labels, the likeliest first."""

TRUE = pa.array(["1", "1.0", "true"], pa.large_string())
FALSE = pa.array(["0", "0.0", "false"], pa.large_string())


@dataclass(frozen=True)
class Marks:
    """The labels of one table.

    The sequence ids, sorted; for every row the number of its id; for every mark its row and the number of its
    label; the names of the labels.
    """

    ids: pa.Array
    rows: NDArray[np.int32]
    mark_rows: NDArray[np.int64]
    codes: NDArray[np.int32]
    names: list[str]
    collected: Collected


def read_labels(
    labels: Any,
    sequence_ids: pa.Array,
    sequence_id: str,
    label: str,
    unknown_labels: str = "refuse",
    reading: ReadConfig = READING,
    problems: Problems | None = None,
) -> tuple[Ragged, NDArray[np.int32], list[str]]:
    """Rows, codes and names of the labels of these sequences, from one table or a list of tables."""
    if labels is None:
        return label_rows(np.zeros(0, np.int64), np.zeros(0, np.int32), [], len(sequence_ids))
    noted = Problems() if problems is None else problems
    is_list = isinstance(labels, list | tuple)
    if is_list and not labels:
        raise ConfigError(f"{argument('labels', labels)}: give at least one table, or none")
    names = [f"labels[{i}]" for i in range(len(labels))] if is_list else ["labels"]
    tables = [
        _read_table(open_sources(table, name, reading, noted), sequence_id, label, noted)
        for table, name in zip(labels if is_list else [labels], names, strict=True)
    ]
    sequences = [find_sequences(table, sequence_ids, sequence_id, unknown_labels, noted) for table in tables]
    if problems is None:
        noted.settle()
    return _join(tables, sequences, len(sequence_ids))


def _read_table(sources: list[Source], sequence_id: str, label: str, problems: Problems) -> Marks:
    for source in sources:
        source.check_column(sequence_id, "sequence_id")
    if is_wide(sources, label):
        return _read_wide(sources, sequence_id, problems)
    return _read_long(sources, sequence_id, label, problems)


def _join(
    tables: list[Marks], sequences: list[NDArray[np.int64]], n_sequences: int
) -> tuple[Ragged, NDArray[np.int32], list[str]]:
    """The labels of all tables; `sequences` has the sequence of each of their rows, -1 for an unknown one."""
    names = sorted({name for table in tables for name in table.names})
    number = {name: i for i, name in enumerate(names)}
    rows, codes = [], []
    for table, sequence in zip(tables, sequences, strict=True):
        owners = sequence[table.mark_rows]
        numbers = np.array([number[name] for name in table.names], np.int32)
        rows.append(owners[owners >= 0])
        codes.append(numbers[table.codes[owners >= 0]])
    return label_rows(np.concatenate(rows), np.concatenate(codes), names, n_sequences)


def label_rows(
    sequences: NDArray[np.int64], codes: NDArray[np.int32], names: list[str], n_sequences: int
) -> tuple[Ragged, NDArray[np.int32], list[str]]:
    """Ragged labels, sorted and distinct within a sequence; warn of repeated labels."""
    width = max(len(names), 1)
    keys, counts = np.unique(sequences.astype(np.int64) * width + codes, return_counts=True)
    if n_repeated := int(counts.sum()) - len(keys):
        warn(f"dropped {counted(n_repeated, 'repeated label row')}")
    counts = np.bincount(keys // width, minlength=n_sequences)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Ragged.from_offsets(offsets), (keys % width).astype(np.int32), names


def find_sequences(
    table: Marks, sequence_ids: pa.Array, sequence_id: str, unknown_labels: str, problems: Problems
) -> NDArray[np.int64]:
    """The sequence of every row of labels; -1 for an unknown one, which is noted or dropped."""
    positions = pc.index_in(table.ids, value_set=sequence_ids)
    sequences = positions.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    is_lost = pc.is_in(table.ids, pa.array(problems.lost_ids, pa.large_string()))
    is_lost = is_lost.to_numpy(zero_copy_only=False) & (sequences < 0)
    is_unknown = (sequences < 0) & ~is_lost
    if is_lost.any() and problems.drops:
        warn(
            f"dropped the labels of {counted(int(is_lost.sum()), 'sequence')} of which no event could be used"
        )
    if is_unknown.any():
        _tell_unknown(table, is_unknown, sequence_id, unknown_labels, problems)
    return sequences[table.rows]


def _tell_unknown(
    table: Marks, is_unknown: NDArray[np.bool_], sequence_id: str, unknown_labels: str, problems: Problems
) -> None:
    count = counted(int(is_unknown.sum()), "sequence")
    if unknown_labels == "drop":
        first = table.ids[int(np.argmax(is_unknown))].as_py()
        warn(f"labels name {count} without any event, the first: {first!r}; dropped these labels")
        return
    kind = Kind(
        f"{sequence_id} is",
        f"labels name {count} without any event; correct the ids, or pass "
        f"{argument('unknown_labels', 'drop')}",
        droppable=False,
    )
    for place, rows, numbers in table.collected.rows(np.flatnonzero(is_unknown[table.rows])):
        shown = [show(table.ids[int(table.rows[row])]) for row in rows[:SHOWN_ROWS]]
        problems.add(kind, place, numbers.tolist(), shown)


def _check_rows(collected: Collected, sources: list[Source], problems: Problems) -> None:
    """Refuse a table without usable rows."""
    if collected.n_rows:
        return
    if problems:
        problems.refuse()
    raise DataError(f"{sources[0].place} is empty; leave labels out if no sequence carries a label")


def _read_long(sources: list[Source], sequence_id: str, label: str, problems: Problems) -> Marks:
    for source in sources:
        source.check_column(label, "label")
    ids, labels = NameColumn(sequence_id), NameColumn(label)
    collected = collect(sources, {sequence_id: ids, label: labels}, problems)
    _check_rows(collected, sources, problems)
    rows, names = ids.finish()
    codes, label_names = labels.finish()
    return Marks(names, rows, np.arange(len(rows)), codes, label_names.to_pylist(), collected)


class FlagColumn:
    """The rows in which a wide label is 1."""

    def __init__(self, column: str) -> None:
        self.column = column
        self.n_seen = self.n_bad = 0
        self.sample = pa.array([], pa.large_string())
        """Some text in the column that is neither 0 nor 1."""
        self._before = 0
        self._rows: list[NDArray[np.int64]] = []

    def parse(self, values: pa.Array) -> tuple[NDArray[np.bool_], list[Bad]]:
        values = plain(values)
        is_on, is_off = _flags(values)
        is_bad = pc.invert(pc.fill_null(pc.or_(is_on, is_off), False)).to_numpy(zero_copy_only=False)
        self.n_seen += len(values)
        self.n_bad += int(is_bad.sum())
        if is_bad.any() and is_text(values.type):
            self.sample = values.filter(pa.array(is_bad)).cast(pa.large_string())[:100].drop_null()
        advice = "a wide table holds 0 and 1, or false and true: drop columns that are not labels"
        bad = bad_values(f"label {self.column!r} is", advice, is_bad, values)
        return pc.fill_null(is_on, False).to_numpy(zero_copy_only=False), bad

    def keep(self, parsed: NDArray[np.bool_]) -> None:
        self._rows.append(np.flatnonzero(parsed) + self._before)
        self._before += len(parsed)

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
        numbers = values.cast(pa.float64(), safe=False)  # Arrow compares neither half floats nor mixed signs
        return pc.equal(numbers, 1.0), pc.equal(numbers, 0.0)
    nothing = pa.array(np.zeros(len(values), bool))
    return nothing, nothing


def _read_wide(sources: list[Source], sequence_id: str, problems: Problems) -> Marks:
    ids, flags = NameColumn(sequence_id), open_wide(sources, [sequence_id])
    collectors: dict[str, Collector] = {sequence_id: ids, **{flag.column: flag for flag in flags}}
    collected = collect(sources, collectors, problems)
    check_not_long(sources[0], sequence_id, flags)
    _check_rows(collected, sources, problems)
    rows, sequence_names = ids.finish()
    _check_once(rows, sequence_names, sequence_id, collected, problems)
    marked, codes = marks_of(flags)
    return Marks(sequence_names, rows, marked, codes, [flag.column for flag in flags], collected)


def marks_of(flags: Sequence[FlagColumn]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The row of each 1 in wide tables, and the number of its column."""
    marked = [flag.finish() for flag in flags]
    codes = np.repeat(np.arange(len(flags), dtype=np.int32), [len(some) for some in marked])
    return np.concatenate([np.zeros(0, np.int64), *marked]), codes


def open_wide(sources: list[Source], beside: Sequence[str]) -> list[FlagColumn]:
    """The columns of 0 and 1 of wide tables, all but those in `beside`; refuse tables that differ."""
    for source in sources:
        _check_wide(source, sources[0], beside)
    return [FlagColumn(name) for name in sorted(set(sources[0].columns) - set(beside))]


def is_wide(sources: Sequence[Source], label: str) -> bool:
    """Whether tables have no column of labels, and none was asked for."""
    return label == LABEL and not any(LABEL in source.columns for source in sources)


def check_not_long(source: Source, sequence_id: str, flags: list[FlagColumn]) -> None:
    """Refuse a long table whose column of labels has another name: no column is mostly 0 and 1."""
    if any(2 * flag.n_bad <= flag.n_seen for flag in flags):
        return
    likely = _likely_label(flags)
    if likely is None:
        return
    raise DataError(
        f"{source.place} has no column {LABEL!r}, only {', '.join(map(repr, source.columns))}, and no column "
        f"of 0 and 1 besides {sequence_id!r}: {likely.column!r} is {likely.sample[0].as_py()!r}; did you "
        f"mean {argument('label', likely.column)}?"
    )


def _likely_label(flags: list[FlagColumn]) -> FlagColumn | None:
    """The column of text that is likeliest to hold labels: by its name, or the first that has no dates."""
    text = [flag for flag in flags if len(flag.sample) and not_dates(flag.sample).any()]
    for word in LABEL_WORDS:
        for flag in text:
            if word in flag.column.casefold():
                return flag
    return text[0] if text else None


def _check_wide(source: Source, first: Source, beside: Sequence[str]) -> None:
    labels = set(source.columns) - set(beside)
    if not labels:
        only = f"the column {beside[0]!r}" if len(beside) == 1 else f"the columns {', '.join(beside)}"
        raise DataError(f"{source.place} has only {only}; add a column for each label")
    if labels != set(first.columns) - set(beside):
        odd = sorted((labels ^ set(first.columns)) - set(beside))[0]
        raise DataError(
            f"{source.place} and {first.place} differ in column {odd!r}; give both the same labels"
        )
    if "" in labels:
        raise DataError(f"{source.place} has a column without a name; every label needs a name")


def _check_once(
    rows: NDArray[np.int32], names: pa.Array, sequence_id: str, collected: Collected, problems: Problems
) -> None:
    """Note sequences with two rows in a wide table: they could contradict each other."""
    is_repeated = np.bincount(rows, minlength=len(names)) > 1
    if not is_repeated.any():
        return
    kind = Kind(
        f"{sequence_id} is",
        f"wide labels have several rows for {counted(int(is_repeated.sum()), 'sequence')}; merge them into "
        "one row",
        droppable=False,
    )
    for place, positions, numbers in collected.rows(np.flatnonzero(is_repeated[rows])):
        problems.add(
            kind, place, numbers.tolist(), [show(names[int(rows[i])]) for i in positions[:SHOWN_ROWS]]
        )
