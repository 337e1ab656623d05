"""JSON Lines files (one object per line) as Arrow record batches.

The standard library reads them, so that every error names its line. The columns are the keys of all objects;
a key that an object lacks is null.
"""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from eventcargo.errors import DataError
from eventcargo.io.bisection import first_failure
from eventcargo.io.text import BOM, GZIP_ERRORS, check_utf8, open_bytes

BATCH_LINES = 50_000
ERRORS = (pa.ArrowException, UnicodeEncodeError, OverflowError)


def read_keys(path: Path) -> list[str]:
    """The keys of all objects, in order of appearance; refuse a broken line."""
    keys: dict[str, None] = {}
    for rows in _chunks(path):
        for row in rows:
            if row.keys() != keys.keys():
                keys.update(dict.fromkeys(row))
    if not keys:
        raise DataError(f"{path} is empty; every line must hold one JSON object")
    _check_unicode(path, keys)
    return list(keys)


def read(path: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Batches of these columns."""
    before = 0
    for rows in _chunks(path):
        arrays = [_column(path, before, column, [row.get(column) for row in rows]) for column in columns]
        yield pa.RecordBatch.from_arrays(arrays, columns)
        before += len(rows)


def _check_unicode(path: Path, keys: Iterable[str]) -> None:
    for key in keys:
        try:
            key.encode("utf-8")
        except UnicodeEncodeError:
            raise DataError(f"{path} has the key {key!r}, which is not valid Unicode; rename it") from None


def _chunks(path: Path) -> Iterator[list[dict[str, Any]]]:
    """The objects of the file, in chunks of `BATCH_LINES` lines."""
    before = 0
    try:
        with open_bytes(path) as file:
            while lines := list(islice(file, BATCH_LINES)):
                if before == 0:
                    lines[0] = lines[0].removeprefix(BOM)
                yield _parse_lines(path, before, lines)
                before += len(lines)
    except GZIP_ERRORS as error:
        raise DataError(f"{path} is damaged: {error}; write it again") from None


def _parse_lines(path: Path, before: int, lines: list[bytes]) -> list[dict[str, Any]]:
    """The objects of some lines: parsed together, which is fast, or line by line if one is broken."""
    filled = [(number, line) for number, line in enumerate(lines, start=before + 1) if line.strip()]
    try:
        rows = json.loads((b"[" + b",".join(line for _, line in filled) + b"]").decode("utf-8"))
    except (ValueError, RecursionError):
        rows = []
    if len(rows) == len(filled) and all(type(row) is dict for row in rows):
        return cast(list[dict[str, Any]], rows)
    return [_parse(path, number, line) for number, line in filled]


def _parse(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        check_utf8(path)
        raise
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}, line {number}: not JSON: {error}") from None
    if not isinstance(row, dict):
        raise DataError(f"{path}, line {number}: a {type(row).__name__}, not an object such as {{...}}")
    return row


def _column(path: Path, before: int, column: str, values: list[Any]) -> pa.Array:
    """One Arrow array; numbers among strings become strings, so that one parser reads them all."""
    kinds = {type(value) for value in values}
    if str in kinds and kinds & {int, float}:
        values = [repr(value) if type(value) in (int, float) else value for value in values]
    build = partial(pa.array, type=pa.large_string() if str in kinds else None)
    try:
        return build(values)
    except ERRORS:
        offset = first_failure(build, values, ERRORS)
        raise DataError(
            f"{path}, row {before + offset + 1}: {column} is {values[offset]!r}; "
            "use numbers or strings of valid Unicode, the same kind in all rows"
        ) from None
