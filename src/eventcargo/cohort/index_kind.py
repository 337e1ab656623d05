"""Which kind of index a cohort has, and the refusal to ignore the dates of labels."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eventcargo.cohort.config import Cohort, Index
from eventcargo.cohort.tables import Tables
from eventcargo.errors import ConfigError, DataError, argument
from eventcargo.io.columns import is_text, plain
from eventcargo.io.labels import is_wide
from eventcargo.io.shards import visible_files
from eventcargo.io.sources import Source, open_file, open_sources

DATE = r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([T, ]|\s*$)"
"""Text that looks like a date, in any of the usual notations."""

MOST = 0.5
"""Share of values that look like dates from which a column holds dates; the rest may be wrong or missing."""

PREDICTION_TIME = "prediction_time"


def index_kind(cohort: Cohort, tables: Tables) -> Index:
    """The kind of index, chosen by what is given if it is automatic."""
    has_times = bool(cohort.label_time or cohort.outcomes)
    if cohort.index in ("outcome", "windows") and not has_times:
        raise ConfigError(
            f"{argument('index', cohort.index)} needs the times of outcomes: name their column with "
            f"{argument('label_time')}, or the event types that are outcomes with {argument('outcomes')}"
        )
    if cohort.label_time and tables.outcomes is None:
        raise ConfigError(f"{argument('label_time', cohort.label_time)} needs a table of labels")
    if cohort.index:
        return cohort.index
    if has_times:
        return "outcome"
    if has_prediction_times(tables):
        return "prediction"
    refuse_dates(tables)
    return "end"


def has_prediction_times(tables: Tables) -> bool:
    """Whether the labels are those of a MEDS task."""
    table = next(iter(tables.outcome_tables), None)
    if not tables.is_meds or not isinstance(table, str | Path):
        return False
    path = Path(table)
    files = [path] if path.is_file() else visible_files(path.rglob("*.parquet"))
    return bool(files) and PREDICTION_TIME in open_file(files[0]).columns


def refuse_dates(tables: Tables) -> None:
    """Refuse labels with a column of dates that nothing names: events after them could not be causes."""
    for given in tables.outcome_tables:
        if isinstance(given, pa.RecordBatchReader):
            continue  # can be read only once
        for source in open_sources(given, "labels", tables.reading):
            column = date_column(source, tables)
            if column is not None:
                raise DataError(
                    f"{source.place} has dates in {column!r}: give {argument('label_time', column)} to read "
                    f"only events before the outcome, or {argument('index', 'end')} if nothing in the events "
                    "comes after it"
                )


def date_column(source: Source, tables: Tables) -> str | None:
    """The first column of labels that looks like a time: dates, or the name of the events' time column."""
    others = [name for name in source.columns if name not in (tables.sequence_id, tables.label)]
    if not (tables.label in source.columns or is_wide([source], tables.label)) or not others:
        return None
    batch = next(iter(source.read(others)), None)
    for name in others:
        if name == tables.time or (batch is not None and _are_dates(plain(batch.column(name)))):
            return name
    return None


def _are_dates(values: Any) -> bool:
    kind = values.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return True
    values = values.drop_null()
    if not is_text(kind) or not len(values):
        return False
    is_date = pc.match_substring_regex(values.cast(pa.large_string()), DATE)
    return float(pc.mean(is_date).as_py()) > MOST
