"""CSV and TSV files as Arrow record batches of strings; the reader parses them.

Arrow is fast but gives up at the first broken row and does not say where it is. From there on, the standard
library reads the rest of the file and reports every broken row.
"""

import csv
from collections import deque
from collections.abc import Iterator
from itertools import islice

import pyarrow as pa
import pyarrow.csv

from eventcargo.errors import DataError, counted
from eventcargo.io.problems import Kind, Problems
from eventcargo.io.text import GZIP_ERRORS, TextFile

BLOCK_BYTES = 1 << 23
BATCH_ROWS = 50_000
SEPARATORS = ",;\t|"
SAMPLE_ROWS = 50


def find_separator(text: TextFile) -> str:
    """The separator that splits the first rows alike and, among several such, into most columns."""
    best, best_score = ",", (0.0, 1)
    for separator in SEPARATORS:
        try:
            header, *rows = islice(_rows(text, separator), SAMPLE_ROWS)
        except (ValueError, csv.Error):
            continue
        alike = sum(len(row) == len(header) for row in rows) / len(rows) if rows else 1.0
        if len(header) > 1 and (alike, len(header)) > best_score:
            best, best_score = separator, (alike, len(header))
    return best


def read_header(text: TextFile, separator: str) -> list[str]:
    """The column names."""
    try:
        names = next(_rows(text, separator), [])
    except csv.Error as error:
        raise DataError(f"{text.path} has no line of column names: {error}") from None
    if not names:
        raise DataError(f"{text.path} is empty; the first line must name the columns")
    return names


def read(
    text: TextFile, separator: str, problems: Problems | None, columns: list[str]
) -> Iterator[pa.RecordBatch]:
    """Batches of these columns, as strings; an empty field stays an empty string.

    Broken rows are left out and noted in `problems`; without it, the first is refused.
    """
    n_rows = 0
    try:
        with text.arrow_stream() as stream, _open(stream, separator, columns) as reader:
            for batch in reader:
                yield batch
                n_rows += batch.num_rows
    except (OSError, pa.ArrowException) as error:
        yield from _read_rest(text, separator, columns, n_rows, problems, error)
        return
    if text.n_quotes % 2:
        _check_closed(text, separator)


def _open(stream: pa.NativeFile, separator: str, columns: list[str]) -> pyarrow.csv.CSVStreamingReader:
    return pyarrow.csv.open_csv(
        stream,
        read_options=pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
        parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            include_columns=columns, column_types=dict.fromkeys(columns, pa.large_string())
        ),
    )


def _check_closed(text: TextFile, separator: str) -> None:
    """Refuse a file whose last row has an open quote; a quote inside a value, as in 5" disk, is fine.

    Arrow ends an open quote at the end of the file, so a quote that is never closed swallows all rows after
    it without an error. An odd number of quotes gives it away.
    """
    n_rows = 0
    try:
        for _ in _rows(text, separator, strict=True):
            n_rows += 1
    except csv.Error as error:
        if "unexpected end of data" in str(error) or "field limit" in str(error):
            # n_rows counts the header too, so it is the number of the row that failed.
            raise DataError(f"{text.path}, row {n_rows:,}: a quote is opened and never closed") from None


def _read_rest(
    text: TextFile, separator: str, columns: list[str], n_read: int, problems: Problems | None, why: Exception
) -> Iterator[pa.RecordBatch]:
    """The rows after those that Arrow has read; `why` is what it stumbled over."""
    noted = Problems() if problems is None else problems
    n_broken, last = 0, n_read
    try:
        rows = enumerate(_rows(text, separator))
        _, header = next(rows)
        places = [header.index(column) for column in columns]
        deque(islice(rows, n_read), maxlen=0)
        while chunk := list(islice(rows, BATCH_ROWS)):
            last = chunk[-1][0]
            whole = [row for number, row in chunk if _is_whole(row, number, header, text, noted)]
            n_broken += len(chunk) - len(whole)
            values = [pa.array([row[at] for row in whole], pa.large_string()) for at in places]
            if problems is None and noted:
                noted.refuse()
            yield pa.RecordBatch.from_arrays(values, columns)
    except GZIP_ERRORS:
        raise DataError(f"{text.path} is damaged: {why}; write it again") from None
    except csv.Error:  # a value too long for the standard library: the row is unknown
        raise DataError(f"{text.path} cannot be read as CSV: {why}") from None
    if last == 0:
        raise DataError(f"{text.path} is empty: it has no row below its first line")
    if n_broken == 0:
        raise DataError(f"{text.path} cannot be read as CSV: {why}")


def _is_whole(row: list[str], number: int, header: list[str], text: TextFile, problems: Problems) -> bool:
    """Whether a row has all fields; a row that has not is noted."""
    if len(row) == len(header):
        return True
    columns = counted(len(header), "column")
    kind = Kind("", f"the first line names {columns}; a value with a separator in it needs quotes")
    problems.add_broken(kind, str(text.path), number, counted(len(row), "field"))
    return False


def _rows(text: TextFile, separator: str, strict: bool = False) -> Iterator[list[str]]:
    """The rows that are not blank, header first."""
    with text.open() as characters:
        yield from filter(None, csv.reader(characters, delimiter=separator, strict=strict))
