"""CSV and TSV files as Arrow record batches of strings; the reader parses them.

Arrow is fast but does not say where a file is broken, so on an error the standard library reads the file
again, only to find the row.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.csv

from eventcargo.errors import DataError, counted
from eventcargo.io.text import GZIP_ERRORS, check_utf8, open_bytes

BLOCK_BYTES = 1 << 23


def read_header(path: Path, delimiter: str) -> list[str]:
    """The column names."""
    try:
        names = next(_rows(path, delimiter), [])
    except GZIP_ERRORS as error:
        raise DataError(f"{path} is damaged: {error}; write it again") from None
    except UnicodeDecodeError:
        check_utf8(path)
        raise
    except csv.Error as error:
        raise DataError(f"{path} has no line of column names: {error}") from None
    if not names:
        raise DataError(f"{path} is empty; the first line must name the columns")
    return names


def read(path: Path, delimiter: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Batches of these columns, as strings; an empty field stays an empty string."""
    try:
        with open_bytes(path) as file:
            counter = QuoteCounter(file)
            yield from pyarrow.csv.open_csv(
                counter,
                read_options=pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
                parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                convert_options=pyarrow.csv.ConvertOptions(
                    include_columns=columns, column_types=dict.fromkeys(columns, pa.large_string())
                ),
            )
    except (OSError, pa.ArrowException, *GZIP_ERRORS) as error:
        raise _explain(path, delimiter, error) from None
    if counter.n_quotes % 2:
        _check_closed(path, delimiter)


class QuoteCounter:
    """A file that counts the quotes read from it.

    Arrow ends an open quote at the end of the file, so a quote that is never closed swallows all rows after
    it without an error. An odd number of quotes gives it away.
    """

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.n_quotes = 0

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        self.n_quotes += content.count(b'"')
        return content


def _check_closed(path: Path, delimiter: str) -> None:
    """Refuse a file whose last row has an open quote; a quote inside a value, as in 5" disk, is fine."""
    n_rows = 0
    try:
        for _ in _rows(path, delimiter, strict=True):
            n_rows += 1
    except csv.Error as error:
        if "unexpected end of data" in str(error) or "field limit" in str(error):
            # n_rows counts the header too, so it is the number of the row that failed.
            raise DataError(f"{path}, row {n_rows}: a quote is opened and never closed") from None


def _explain(path: Path, delimiter: str, error: Exception) -> DataError:
    """Turn an error of Arrow into a `DataError` that names the line or row, if it can be found."""
    try:
        check_utf8(path)
        rows = _rows(path, delimiter)
        width = len(next(rows))
        number = 0
        for number, row in enumerate(rows, start=1):
            if len(row) != width:
                fields, columns = counted(len(row), "field"), counted(width, "column")
                return DataError(f"{path}, row {number}: {fields}, but the first line names {columns}")
    except DataError as refusal:
        return refusal
    except GZIP_ERRORS:
        return DataError(f"{path} is damaged: {error}; write it again")
    except csv.Error:
        number = -1  # a value too long for the standard library: the row is unknown
    if number == 0:
        return DataError(f"{path} is empty: it has no row below its first line")
    return DataError(f"{path} cannot be read as CSV: {error}")


def _rows(path: Path, delimiter: str, strict: bool = False) -> Iterator[list[str]]:
    """The rows that are not blank, header first."""
    with io.TextIOWrapper(cast(Any, open_bytes(path)), encoding="utf-8-sig", newline="") as text:
        yield from filter(None, csv.reader(text, delimiter=delimiter, strict=strict))
