"""JSON Lines files (one object per line) as Arrow record batches.

The standard library reads them, so that every problem names its row. The columns are the keys of all objects;
a key that an object lacks is null. A row is a line that is not blank.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, cast

import pyarrow as pa

from eventcargo.errors import DataError
from eventcargo.io.problems import Kind, Problems, show
from eventcargo.io.text import TextFile

BATCH_LINES = 50_000
ERRORS = (pa.ArrowException, UnicodeEncodeError, OverflowError)

NOT_JSON = Kind("not an object in JSON:", "every line must hold one, such as {...}")

Rows = list[tuple[int, dict[str, Any]]]
"""Objects with their row numbers."""


def read_keys(text: TextFile) -> list[str]:
    """The keys of all objects, in order of appearance."""
    keys: dict[str, None] = {}
    for rows in _chunks(text, Problems()):
        for _, row in rows:
            if row.keys() != keys.keys():
                keys.update(dict.fromkeys(row))
    if not keys:
        raise DataError(f"{text.path} is empty; every line must hold one JSON object")
    _check_unicode(text, keys)
    return list(keys)


def read(text: TextFile, problems: Problems | None, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Batches of these columns; broken rows are left out and noted in `problems`.

    Without `problems`, the first broken row is refused.
    """
    noted = Problems() if problems is None else problems
    for rows in _chunks(text, noted):
        batch = _batch(rows, columns)
        if batch is None:
            batch = _batch(_without_misfits(text, rows, columns, noted), columns)
        if problems is None and noted:
            noted.refuse()
        yield batch


def _batch(rows: Rows, columns: list[str]) -> pa.RecordBatch | None:
    """The rows as a batch; None if the values of a column do not go together."""
    try:
        arrays = [pa.array(*_column(rows, column)) for column in columns]
    except ERRORS:
        return None
    return pa.RecordBatch.from_arrays(arrays, columns)


def _column(rows: Rows, column: str) -> tuple[list[Any], pa.DataType | None]:
    """The values of a column and their type; numbers among strings become strings, for one parser."""
    values = [row.get(column) for _, row in rows]
    kinds = set(map(type, values))
    if str not in kinds:
        return values, None
    if kinds & {int, float}:
        values = [repr(value) if type(value) in (int, float) else value for value in values]
    return values, pa.large_string()


def _without_misfits(text: TextFile, rows: Rows, columns: list[str], problems: Problems) -> Rows:
    """The rows whose values go together; the others are noted."""
    for column in columns:
        values, kind = _column(rows, column)
        first = next((type(value) for value in values if value is not None), None)
        fits = [_fits(value, kind, first) for value in values]
        problem = Kind(f"{column} is", "use numbers or strings of valid Unicode, the same kind in all rows")
        for (number, _), value, fit in zip(rows, values, fits, strict=True):
            if not fit:
                problems.add_broken(problem, str(text.path), number, show(value))
        rows = [row for row, fit in zip(rows, fits, strict=True) if fit]
    return rows


def _fits(value: Any, kind: pa.DataType | None, first: type | None) -> bool:
    """Whether a value is of the type of its column, or of the type of the column's first value."""
    try:
        pa.array([value], kind)
    except ERRORS:
        return False
    if kind is not None or value is None:
        return True
    return type(value) is first or {type(value), first} == {int, float}


def _check_unicode(text: TextFile, keys: Iterable[str]) -> None:
    for key in keys:
        try:
            key.encode("utf-8")
        except UnicodeEncodeError:
            raise DataError(
                f"{text.path} has the key {key!r}, which is not valid Unicode; rename it"
            ) from None


def _chunks(text: TextFile, problems: Problems) -> Iterator[Rows]:
    """The objects of the file, in chunks of `BATCH_LINES` rows."""
    before = 0
    with text.open(newline="\n") as file:
        filled = (line for line in file if not line.isspace())
        while lines := list(islice(filled, BATCH_LINES)):
            yield _parse_lines(text, before, lines, problems)
            before += len(lines)


def _parse_lines(text: TextFile, before: int, lines: list[str], problems: Problems) -> Rows:
    """The objects of some lines: parsed together, which is fast, or line by line if one is broken."""
    try:
        rows = json.loads(f"[{','.join(lines)}]")
    except (ValueError, RecursionError):
        rows = []
    numbers = range(before + 1, before + len(lines) + 1)
    if len(rows) == len(lines) and all(type(row) is dict for row in rows):
        return list(zip(numbers, cast(list[dict[str, Any]], rows), strict=True))
    parsed = []
    for number, line in zip(numbers, lines, strict=True):
        row = _parse(line)
        if row is None:
            problems.add_broken(NOT_JSON, str(text.path), number, show(line.strip()))
        else:
            parsed.append((number, row))
    return parsed


def _parse(line: str) -> dict[str, Any] | None:
    """The object of one line, or None."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None
