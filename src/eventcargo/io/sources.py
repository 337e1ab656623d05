"""Open any table as a `Source`, a stream of Arrow record batches.

A source made from a file, a frame or an Arrow table has a place (for messages), column names, and a function
that reads some of the columns batch by batch, so that a file is never in memory as a whole.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

from eventcargo.errors import DataError, argument, did_you_mean, shown_value
from eventcargo.io import delimited, jsonlines
from eventcargo.io.config import ReadConfig
from eventcargo.io.problems import Problems
from eventcargo.io.shards import file_format, find_shards
from eventcargo.io.text import inspect
from eventcargo.sealed_tables import DAMAGED

Batches = Iterator[pa.RecordBatch]

BATCH_ROWS = 1 << 18
SHOWN_NAMES = 20
READING = ReadConfig()


@dataclass(frozen=True)
class Source:
    """One table: its place for messages, its columns, and `read`, which streams the given columns.

    A source that cannot be read twice, or not in part, says so with `can_peek`.
    """

    place: str
    columns: list[str]
    read: Callable[[list[str]], Batches]
    can_peek: bool = True

    def __post_init__(self) -> None:
        name, count = next(iter(Counter(self.columns).most_common(1)), ("", 0))
        if count > 1:
            raise DataError(
                f"{self.place} has the column {shown_value(name)} {count} times; rename or drop one"
            )

    def peek(self, columns: list[str]) -> pa.RecordBatch | None:
        """The first batch of these columns, if it can be had cheaply."""
        if not self.can_peek or not columns:
            return None
        batches = self.read(columns)
        try:
            return next(batches, None)
        finally:
            batches.close()  # type: ignore[attr-defined]  # `read` is a generator

    def check_column(self, column: str, keyword: str) -> None:
        """Refuse a source that lacks a column; the message names the argument that maps it."""
        if column not in self.columns:
            meant = did_you_mean(column, self.columns)
            advice = (
                f"did you mean {argument(keyword, meant)}?"
                if meant
                else f"name the right one with {argument(keyword)}"
            )
            raise DataError(
                f"{self.place} has no column {shown_value(column)}, only {shown_names(self.columns)}; "
                f"{advice}"
            )


def shown_names(names: Sequence[str]) -> str:
    """The first names of a list.

    >>> shown_names(["a", "b"])
    "'a', 'b'"
    """
    more = len(names) - SHOWN_NAMES
    listed = ", ".join(shown_value(name, 80) for name in names[:SHOWN_NAMES])
    return f"{listed} and {more:,} more" if more > 0 else listed


def open_sources(
    given: Any, what: str, reading: ReadConfig = READING, problems: Problems | None = None
) -> list[Source]:
    """The tables of a path, frame or Arrow object; `what` names the object in messages.

    Rows that are broken as text are left out and noted in `problems`; without it, the first is refused.
    """
    if isinstance(given, str | Path):
        return [open_file(path, reading, problems) for path in find_shards(given)]
    return [_open_frame(given, f"the {what} table")]


def open_file(path: Path, reading: ReadConfig = READING, problems: Problems | None = None) -> Source:
    """The table in one file."""
    try:
        return _open_file(path, reading, problems)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


def _open_file(path: Path, reading: ReadConfig, problems: Problems | None) -> Source:
    kind = file_format(path)
    if kind == "parquet":
        return Source(str(path), _parquet_columns(path), partial(_read_parquet, path))
    text = inspect(path, reading.encoding)
    if kind == "jsonl":
        return Source(str(path), jsonlines.read_keys(text), partial(jsonlines.read, text, problems))
    separator = reading.delimiter or ("\t" if kind == "tsv" else delimited.find_separator(text))
    header = delimited.read_header(text, separator)
    return Source(str(path), header, partial(delimited.read, text, separator, problems))


def _parquet_columns(path: Path) -> list[str]:
    try:
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            return _without_index(file.schema_arrow.names)
    except MemoryError:  # also an ArrowException, but no fault of the file
        raise
    except DAMAGED as error:
        raise DataError(f"{path} is not a Parquet file: {error}; write it again, or rename it") from None


def _read_parquet(path: Path, columns: list[str]) -> Batches:
    try:
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=columns, use_threads=False)
    except MemoryError:
        raise
    except DAMAGED as error:
        raise DataError(f"{path} is damaged: {error}; write it again") from None


def _without_index(names: Sequence[str]) -> list[str]:
    """Column names without the unnamed row index that pandas writes."""
    return [name for name in names if not name.startswith("__index_level_")]


def _open_frame(given: Any, place: str) -> Source:
    if isinstance(given, pl.LazyFrame):
        return Source(
            place, given.collect_schema().names(), partial(_read_lazy, given, place), can_peek=False
        )
    if not hasattr(given, "__arrow_c_stream__"):
        raise DataError(
            f"{place} is a {type(given).__name__}; use a path, a pandas or polars frame, "
            "an Arrow table or reader, or a list of (events, labels) pairs"
        )
    if hasattr(given, "iloc"):
        return Source(place, [str(name) for name in given.columns], partial(_read_pandas, given, place))
    if isinstance(given, pl.DataFrame):
        return Source(
            place, given.columns, lambda columns: _read_arrow(given.select(columns), columns, place)
        )
    try:
        reader = pa.RecordBatchReader.from_stream(given)
    except pa.ArrowException as error:
        raise DataError(f"{place} is not a table: {error}; give a table with named columns") from None
    return Source(
        place,
        _without_index(reader.schema.names),
        lambda columns: _select(reader, columns, place),
        can_peek=False,
    )


def _read_lazy(frame: pl.LazyFrame, place: str, columns: list[str]) -> Batches:
    return _read_arrow(frame.select(columns).collect(), columns, place)


def _read_pandas(frame: Any, place: str, columns: list[str]) -> Batches:
    """Batches of a pandas frame; only these columns are converted."""
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)[columns]
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        reason = str(error.args[-1] if error.args else error).splitlines()[0][
            :300
        ]  # the last names the column
        raise DataError(f"{place} cannot be read: {reason}; give each column values of one kind") from None
    return _read_arrow(table, columns, place)


def _read_arrow(given: Any, columns: list[str], place: str) -> Batches:
    try:
        reader = pa.RecordBatchReader.from_stream(given)
    except (pa.ArrowException, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0][:300]
        raise DataError(f"{place} cannot be read: {reason}; use names, numbers and dates") from None
    yield from _select(reader, columns, place)


def _select(reader: pa.RecordBatchReader, columns: list[str], place: str) -> Batches:
    for batch in reader:
        chosen = batch.select(columns)
        for name, values in zip(columns, chosen.columns, strict=True):
            _check_sound(values, f"column {name!r} of {place}")
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield chosen.slice(start, BATCH_ROWS)


def _check_sound(values: pa.Array, where: str) -> None:
    """Refuse an array whose numbers point outside its memory: reading it would end the process.

    Text that is not UTF-8 is sound here; its rows are told later.
    """
    kind = values.type
    try:
        values.validate()
        if pa.types.is_dictionary(kind):
            values.indices.validate(full=True)
            ends = pa.compute.min_max(values.indices).as_py()
            if ends["max"] is not None and not 0 <= ends["min"] <= ends["max"] < len(values.dictionary):
                raise DataError(f"{where} is damaged: it has categories without a name")
            _check_sound(values.dictionary, where)
        elif kind in RAW:
            values.view(RAW[kind]).validate(full=True)
        elif not pa.types.is_string_view(kind):
            values.validate(full=True)
    except pa.ArrowException as error:
        raise DataError(f"{where} is damaged: {str(error)[:300]}") from None


RAW = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
"""Text as bytes."""
