"""Tables as an Excel workbook: a sheet per table, its header frozen; no text is a formula or a link.

A workbook holds less than Parquet: sheets have a last row, cells a longest text, and no cell is infinite.
What cannot be held is refused, or left out with a warning.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from eventcargo.errors import DataError, counted, warn
from eventcargo.graphs import LabelGraph

MAX_ROWS = 2**20 - 1
"""Rows of a sheet below its header."""

LONGEST_TEXT = 32_767
"""Characters of a cell."""

INERT = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
"""Text stays text, whatever it begins with."""

CREATED = datetime(1980, 1, 1, tzinfo=UTC).replace(tzinfo=None)
"""In place of the date of writing, so that the same tables give the same file."""

LETTER, MARGIN, WIDEST = 7, 24, 480
"""Pixels of a letter, of what is beside the text of a column (the button of its filter), of the widest."""

SAMPLED = 1_000
"""Rows from which the width of a column is taken."""


def write_workbook(path: Path, sheets: Mapping[str, pl.DataFrame]) -> None:
    """Write a sheet per table to `path`, which is a temporary file of its caller's."""
    from xlsxwriter import Workbook

    for name, table in sheets.items():
        _check(name, table)
    with path.open("wb") as file, Workbook(file, INERT) as book:
        book.set_properties({"created": CREATED})
        for name, table in sheets.items():
            finite = _finite(name, table)
            finite.write_excel(
                book,
                name,
                freeze_panes=(1, 0),
                column_widths=_widths(finite),
                float_precision=4,
                table_style="Table Style Light 1",
            )


def graph_sheets(graph: LabelGraph) -> dict[str, pl.DataFrame]:
    """The edges of a graph with all columns that hold a value, and all labels, also those without a cause."""
    support = pl.Series([graph.support[label] for label in graph.edges["label"]], dtype=pl.Int64)
    edges = graph.edges.with_columns(support=pl.col("support").fill_null(support))
    used = [name for name in edges.columns[2:] if edges[name].null_count() < len(edges)]
    boundaries = graph.boundaries.values()
    labels = {
        "label": pl.Series(graph.labels, dtype=pl.String),
        "support": pl.Series(list(graph.support.values()), dtype=pl.Int64),
        "causes": pl.Series([len(events) for events in boundaries], dtype=pl.Int64),
        "boundary": pl.Series([_cut(", ".join(events)) for events in boundaries], dtype=pl.String),
    }
    return {"edges": edges.select("label", "event", *used), "labels": pl.DataFrame(labels)}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 3]}..."


def _check(name: str, table: pl.DataFrame) -> None:
    """Refuse what a sheet cannot hold."""
    if len(table) > MAX_ROWS:
        raise DataError(
            f"a workbook holds {MAX_ROWS:,} rows, and {name} has {len(table):,}; write Parquet or CSV"
        )
    for column in table.select(pl.col(pl.String)):
        longest = column.str.len_chars().max() or 0
        if isinstance(longest, int) and longest > LONGEST_TEXT:
            raise DataError(
                f"a cell holds {LONGEST_TEXT:,} characters, and {column.name} of {name} has a text of "
                f"{longest:,}; write Parquet or CSV"
            )


def _finite(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """The table with empty cells for numbers that are infinite or none, which a warning counts."""
    floats = pl.col(pl.Float64)
    finite = table.with_columns(pl.when(floats.is_finite()).then(floats))
    n_lost = sum(finite.null_count().row(0)) - sum(table.null_count().row(0))
    if n_lost:
        warn(f"a workbook cannot hold {counted(n_lost, 'infinite number')} of {name}: the cells are empty")
    return finite


def _widths(table: pl.DataFrame) -> Any:
    """Pixels of every column."""
    return {column.name: min(MARGIN + LETTER * _letters(column), WIDEST) for column in table}


def _letters(column: pl.Series) -> int:
    shown: Any = column.head(SAMPLED).cast(pl.String).str.len_chars().max()
    longest = min(shown or 0, 12) if column.dtype.is_float() else shown or 0
    return max(len(column.name), longest)
