"""Tables of results, written part after part to one file: Parquet, CSV or JSON lines, by its ending."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pyarrow.parquet

from eventcargo.files import atomic_file
from eventcargo.prediction.table_paths import check_table_path

FORMULA = r"^[=+\-@\t\r]"
"""How a text begins that a spreadsheet takes for a formula."""


def write_tables(path: Path, parts: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Write all parts, which are passed on one by one; the file appears when the last one was taken.

    In CSV files, lists of names are joined by a comma and a space, and a text that a spreadsheet would take
    for a formula begins with an apostrophe.
    """
    check_table_path(path)
    with atomic_file(path) as target:
        yield from WRITERS[path.suffix.lower()](target, parts)


def _parquet(target: Path, parts: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    first = next(parts)
    with pyarrow.parquet.ParquetWriter(target, first.to_arrow().schema, compression="zstd") as writer:
        for part in _all(first, parts):
            writer.write_table(part.to_arrow().cast(writer.schema))
            yield part


def _csv(target: Path, parts: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    with target.open("w", encoding="utf-8") as file:
        for number, part in enumerate(parts):
            flat = part.with_columns(pl.selectors.list().list.join(", "))
            inert = flat.with_columns(pl.selectors.string().str.replace(FORMULA, "'$0")).rename(_inert)
            inert.write_csv(file, include_header=number == 0)
            yield part


def _inert(name: str) -> str:
    """The name of a column, which may be that of a label, as no formula."""
    return re.sub(FORMULA, r"'\g<0>", name)


def _jsonl(target: Path, parts: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    with target.open("w", encoding="utf-8") as file:
        for part in parts:
            file.write(part.write_ndjson())
            yield part


def _all(first: pl.DataFrame, rest: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    yield first
    yield from rest


WRITERS: dict[str, Callable[[Path, Iterator[pl.DataFrame]], Iterator[pl.DataFrame]]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".jsonl": _jsonl,
}
