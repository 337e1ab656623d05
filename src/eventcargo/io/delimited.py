"""CSV and TSV files as Arrow record batches whose columns are all strings; parsing is left to the reader.

Arrow is quick but does not say where a file is broken, so on an error the file is read a second time with
the means of the standard library, only to name the row.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.csv

from eventcargo.errors import DataError
from eventcargo.io.text import GZIP_ERRORS, check_utf8, is_gzipped, open_bytes

BLOCK_BYTES = 1 << 23
csv.field_size_limit(1 << 30)


def read_header(path: Path, delimiter: str) -> list[str]:
    """The column names."""
    try:
        names = next(_rows(path, delimiter), [])
    except GZIP_ERRORS as error:
        raise DataError(f"{path} is damaged: {error}; write it again") from None
    except UnicodeDecodeError:
        check_utf8(path)
        raise
    if not names:
        raise DataError(f"{path} is empty; the first line must name the columns")
    return names


def read(path: Path, delimiter: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Batches of the columns asked for, as strings; an empty field stays an empty string."""
    compression = "gzip" if is_gzipped(path) else None
    try:
        with pa.input_stream(str(path), compression=compression) as stream:
            yield from pyarrow.csv.open_csv(
                stream,
                read_options=pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
                parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                convert_options=pyarrow.csv.ConvertOptions(
                    include_columns=columns, column_types=dict.fromkeys(columns, pa.large_string())
                ),
            )
    except (OSError, pa.ArrowException) as error:
        raise _explain(path, delimiter, error) from None


def _explain(path: Path, delimiter: str, error: Exception) -> DataError:
    """The refusal for an error of Arrow, with the line or row at fault where that can be found."""
    try:
        check_utf8(path)
        rows = _rows(path, delimiter)
        width = len(next(rows))
        for number, row in enumerate(filter(None, rows), start=1):
            if len(row) != width:
                return DataError(
                    f"{path}, row {number}: {len(row)} fields, but the first line names {width} columns"
                )
    except DataError as refusal:
        return refusal
    except (*GZIP_ERRORS, csv.Error):
        pass
    return DataError(f"{path} cannot be read as CSV: {error}")


def _rows(path: Path, delimiter: str) -> Iterator[list[str]]:
    with io.TextIOWrapper(cast(Any, open_bytes(path)), encoding="utf-8-sig", newline="") as text:
        yield from csv.reader(text, delimiter=delimiter)
