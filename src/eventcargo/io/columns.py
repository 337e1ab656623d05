"""Column collectors: take Arrow arrays batch by batch, return compact numpy columns.

Names become integer codes (`NameColumn`) and times become float64 (`TimeColumn`), so a row takes a few bytes.
A collector tells which values it cannot use; `collect` leaves out their rows and notes file and row.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventcargo.io.problems import Bad, Problems, bad_values, file_rows
from eventcargo.io.sources import Source

SETTLE = 1 << 20
"""Number of new names to buffer before they are merged with the known names."""


LARGEST_EXACT = 1 << 53
"""float64 represents every integer up to this one exactly."""


class Collector(Protocol):
    """One column: `parse` reads values and tells the bad ones, `keep` takes what was read without any."""

    def parse(self, values: pa.Array) -> tuple[Any, list[Bad]]: ...

    def keep(self, parsed: Any) -> None: ...


@dataclass(frozen=True)
class Table:
    """How many rows of a table were taken, and the numbers of the rows left out."""

    place: str
    n_rows: int
    removed: NDArray[np.int64]


@dataclass(frozen=True)
class Collected:
    """What `collect` took from each table."""

    tables: list[Table]

    @property
    def n_rows(self) -> int:
        return sum(table.n_rows for table in self.tables)

    def rows(
        self, positions: NDArray[np.int64]
    ) -> Iterable[tuple[str, NDArray[np.int64], NDArray[np.int64]]]:
        """Rows by their position among all that were taken: table by table, positions and row numbers."""
        start = 0
        for table in self.tables:
            here = positions[(positions >= start) & (positions < start + table.n_rows)]
            if len(here):
                yield table.place, here, file_rows(here - start, table.removed)
            start += table.n_rows


def collect(
    sources: Iterable[Source],
    collectors: Mapping[str, Collector],
    problems: Problems | None = None,
    id_column: str = "",
) -> Collected:
    """Feed each collector its column from all sources.

    Rows with a bad value are left out and noted in `problems`, with their ids; without it, they are refused.
    """
    noted = Problems() if problems is None else problems
    tables = [_collect(source, collectors, noted, id_column) for source in sources]
    if problems is None:
        noted.settle()
    return Collected(tables)


def _collect(
    source: Source, collectors: Mapping[str, Collector], problems: Problems, id_column: str
) -> Table:
    n_read, n_rows, removed = 0, 0, [np.zeros(0, np.int64)]
    for batch in source.read(list(collectors)):
        columns = {name: plain(batch.column(name)) for name in collectors}
        usable = np.ones(batch.num_rows, bool)
        for look in (_not_utf8_values, lambda columns: _parse(columns, collectors)[1]):
            if bad := look({name: _kept(values, usable) for name, values in columns.items()}):
                usable = _note(bad, usable, n_read, source.place, problems)
        if not usable.all():
            problems.n_rows += int((~usable).sum())
            if id_column:
                problems.lost_ids.update(_ids(columns[id_column], ~usable))
            at = n_read + np.flatnonzero(~usable)
            removed.append(file_rows(at, problems.broken(source.place)))
            columns = {name: _kept(values, usable) for name, values in columns.items()}
            n_rows -= len(at)
        parsed, bad = _parse(columns, collectors)
        assert not bad
        for name, collector in collectors.items():
            collector.keep(parsed[name])
        n_read += batch.num_rows
        n_rows += batch.num_rows
    removed.append(problems.broken(source.place))
    return Table(source.place, n_rows, np.sort(np.concatenate(removed)))


def _parse(
    columns: dict[str, pa.Array], collectors: Mapping[str, Collector]
) -> tuple[dict[str, Any], list[Bad]]:
    parsed, bad = {}, []
    for name, collector in collectors.items():
        parsed[name], bad_here = collector.parse(columns[name])
        bad += bad_here
    return parsed, bad


def _note(
    bad: list[Bad], usable: NDArray[np.bool_], before: int, place: str, problems: Problems
) -> NDArray[np.bool_]:
    """Note the bad ones among the usable rows of a batch; return which rows are usable still."""
    at, left = np.flatnonzero(usable), usable.copy()
    for one in bad:
        left[at[one.offsets]] = False
        rows = file_rows(before + at[one.offsets], problems.broken(place))
        problems.add(one.kind, place, rows.tolist(), one.shown)
    return left


def _kept(values: pa.Array, mask: NDArray[np.bool_]) -> pa.Array:
    """The values that a mask marks."""
    if mask.all():
        return values
    try:
        return values.filter(pa.array(mask)) if mask.any() else values[:0]
    except pa.ArrowNotImplementedError:  # lists of views of text, for one
        return pa.array([one for one, stays in zip(values.to_pylist(), mask, strict=True) if stays])


def _ids(values: pa.Array, lost: NDArray[np.bool_]) -> set[str]:
    """The ids of rows that cannot be used, as far as they are ids."""
    if not (is_text(values.type) or pa.types.is_integer(values.type)):
        return set()
    whole = _kept(values, lost & ~_not_utf8(values)).drop_null()
    return set(map(str, whole.unique().to_pylist()))


def _not_utf8_values(columns: dict[str, pa.Array]) -> list[Bad]:
    """The text of some columns that is not UTF-8, as other programs leave it in Arrow and Parquet."""
    advice = "not valid UTF-8; convert the column"
    return [
        bad
        for name, values in columns.items()
        if is_text(values.type)
        for bad in bad_values(f"{name} is", advice, _not_utf8(values), values)
    ]


class NameColumn:
    """Names as int32 codes in row order, with the list of distinct names."""

    def __init__(self, column: str) -> None:
        self.column = column
        self._names = pa.array([], pa.large_string())
        self._codes: list[NDArray[np.int32]] = []
        self._waiting: list[pa.Array] = []
        self._n_waiting = 0

    def keep(self, parsed: tuple[NDArray[np.int32], pa.Array]) -> None:
        codes, names = parsed
        self._codes.append(codes)
        self._waiting.append(names)
        self._n_waiting += len(names)
        # A merge visits every known name, so it waits until as many new names have arrived.
        if self._n_waiting > max(SETTLE, len(self._names)):
            self._settle()

    def finish(self) -> tuple[NDArray[np.int32], pa.Array]:
        """The codes of all rows, and the names sorted by code point; a code is a position in that list."""
        self._settle()
        order = pc.sort_indices(self._names).to_numpy()
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        codes = np.concatenate([np.zeros(0, np.int32), *self._codes])
        self._codes = []
        for start in range(0, len(codes), SETTLE):  # in place, in chunks: one copy of the column
            codes[start : start + SETTLE] = rank[codes[start : start + SETTLE]]
        return codes, self._names.take(pa.array(order))

    def parse(self, values: pa.Array) -> tuple[tuple[NDArray[np.int32], pa.Array], list[Bad]]:
        values = plain(values)  # categories may be unused, or equal as strings
        if not len(values):
            return (np.zeros(0, np.int32), pa.array([], pa.large_string())), []
        if bad := self._wrong_type(values):
            return (np.zeros(0, np.int32), values), bad
        needed = "every row needs a value"
        bad = bad_values(f"{self.column} is", needed, pc.is_null(values), values) if values.null_count else []
        encoded = values.dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        names = encoded.dictionary.cast(pa.large_string())
        empty = pc.index(names, pa.scalar("", pa.large_string())).as_py()
        if empty >= 0:
            bad += bad_values(f"{self.column} is", needed, codes == empty, values)
        return (codes, names), bad

    def _wrong_type(self, values: pa.Array) -> list[Bad]:
        kind = values.type
        if is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind):
            return []
        advice = f"use strings or integers, not the type {kind}"
        if pa.types.is_floating(kind):
            advice += (
                ". pandas turns an integer column with gaps into floats: fill the gaps and cast the column"
            )
        return bad_values(f"{self.column} is", advice, np.ones(len(values), bool), values)

    def _settle(self) -> None:
        """Number the buffered names; known names come first and so keep their numbers."""
        merged = pa.concat_arrays([self._names, *self._waiting]).dictionary_encode()
        numbers = merged.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        at = len(self._names)
        first = len(self._codes) - len(self._waiting)
        for i, names in enumerate(self._waiting, start=first):
            self._codes[i] = numbers[at : at + len(names)][self._codes[i]]
            at += len(names)
        self._names, self._waiting, self._n_waiting = merged.dictionary, [], 0


def plain(values: pa.Array) -> pa.Array:
    """The values of categories and runs written out, views of text as text; other arrays unchanged.

    Arrow can neither decode nor filter some of these.
    """
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        return plain(values.storage)
    if pa.types.is_dictionary(kind):
        words = plain(values.dictionary)
        return pa.DictionaryArray.from_arrays(values.indices, words).dictionary_decode()
    if pa.types.is_run_end_encoded(kind):
        return plain(pc.run_end_decode(values))
    if pa.types.is_string_view(kind):
        return values.cast(pa.large_string())
    return values.cast(pa.large_binary()) if pa.types.is_binary_view(kind) else values


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def inexact(subject: str, values: pa.Array, advice: str) -> list[Bad]:
    """The integers that would lose digits as float64."""
    if not pa.types.is_integer(values.type):
        return []
    ends = pc.min_max(values).as_py()
    if ends["min"] is None or (ends["min"] >= -LARGEST_EXACT and ends["max"] <= LARGEST_EXACT):
        return []
    is_large = pc.greater(values, pa.scalar(LARGEST_EXACT, values.type))
    if ends["min"] < 0:
        is_large = pc.or_(is_large, pc.less(values, pa.scalar(-LARGEST_EXACT, values.type)))
    return bad_values(
        subject, f"beyond 2**53, where float64 loses digits; {advice}", is_large.fill_null(False), values
    )


def _not_utf8(values: pa.Array) -> NDArray[np.bool_]:
    """Which values are text that is not UTF-8."""
    broken = np.zeros(len(values), bool)
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        broken[:] = [one.is_valid and not _is_utf8(one.as_buffer().to_pybytes()) for one in values]
    return broken


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
