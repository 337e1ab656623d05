"""`write_events`: write an `EventDataset` as two plain tables, events and labels, for other programs.

The table of labels is long. The tables cannot hold a label that no sequence carries or an event type that
does not occur; `EventDataset.save` keeps both.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from eventcargo.errors import ConfigError, DataError, argument, counted, warn
from eventcargo.events import EventDataset
from eventcargo.files import atomic_folder

TableFormat = Literal["parquet", "csv", "jsonl"]

CHUNK_SEQUENCES = 20_000


def write_events(data: EventDataset, folder: str | Path, format: TableFormat = "parquet") -> None:
    """Write `events.<format>` and, if any sequence carries one, `labels.<format>` to a new folder.

    `read_events(folder, values=data.value_names)` reads the same data back. Dates are written as UTC
    timestamps, in ISO-8601 in text files; data without times have no column time. Names are written
    unchanged: a spreadsheet may read a name that starts with = + - or @ in a CSV file as a formula.

    >>> import tempfile
    >>> from eventcargo import EventSequence, read_events
    >>> data = EventDataset.from_sequences([EventSequence("car1", ("P01", "U02"), (0.0, 3.5), ("brake",))])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_events(data, folder, format="csv")
    ...     read_events(folder)["car1"]
    EventSequence(id='car1', events=('P01', 'U02'), times=(0.0, 3.5), labels=('brake',), values=())
    """
    if format not in WRITERS:
        raise ConfigError(f"{argument('format', format)}: use {', '.join(WRITERS)}")
    if n_empty := int((data.lengths == 0).sum()):
        raise DataError(f"a table cannot hold {counted(n_empty, 'sequence')} without events; use data.save")
    if len(data) == 0:
        raise DataError("the data set has no sequences: nothing to write")
    if clash := sorted({"sequence_id", "time", "event"} & set(data.value_names)):
        raise DataError(f"the value column {clash[0]!r} is named like a column of every table; use data.save")
    if data.known is not None:
        n_unknown = len(data) * len(data.label_names) - int(data.n_known.sum())
        warn(
            f"tables cannot say that {counted(n_unknown, 'pair')} of a sequence and a label "
            f"{'is' if n_unknown == 1 else 'are'} unknown: they will be read as absent; use data.save"
        )
    with atomic_folder(folder) as target:
        WRITERS[format](target / f"events.{format}", _event_tables(data))
        if data.label_rows.lengths.any():
            WRITERS[format](target / f"labels.{format}", _label_tables(data))


def _event_tables(data: EventDataset) -> Iterator[pa.Table]:
    names = pa.array(data.event_names, pa.large_string())
    for chunk in data.chunks(CHUNK_SEQUENCES):
        _, events, times = chunk.flat()
        columns = {"sequence_id": _repeat(chunk.sequence_ids, chunk.lengths)}
        if data.time_kind != "order":
            columns["time"] = _moments(times) if data.time_kind == "datetime" else pa.array(times)
        columns["event"] = names.take(pa.array(events))
        yield pa.table({**columns, **_value_columns(chunk)})


def _value_columns(data: EventDataset) -> dict[str, pa.Array]:
    """The values by name, null if not recorded."""
    values = data.rows.gather(data.values)
    return {name: pa.array(values[:, at], from_pandas=True) for at, name in enumerate(data.value_names)}


def _label_tables(data: EventDataset) -> Iterator[pa.Table]:
    names = pa.array(data.label_names, pa.large_string())
    for chunk in data.chunks(CHUNK_SEQUENCES):
        labels = chunk.label_rows.gather(chunk.labels)
        ids = _repeat(chunk.sequence_ids, chunk.label_rows.lengths)
        yield pa.table({"sequence_id": ids, "label": names.take(pa.array(labels))})


def _repeat(ids: pa.Array, counts: Any) -> pa.Array:
    return ids.take(pa.array(np.repeat(np.arange(len(ids)), counts)))


def _moments(seconds: Any) -> pa.Array:
    """Timestamps of seconds since 1970; float64 holds microseconds exactly up to the year 2242."""
    return pa.array(np.round(seconds * 1e6).astype(np.int64)).cast(pa.timestamp("us", "UTC"))


def _write_parquet(path: Path, tables: Iterator[pa.Table]) -> None:
    first = next(tables)
    with pyarrow.parquet.ParquetWriter(
        path, first.schema, compression="zstd", write_page_checksum=True
    ) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def _write_csv(path: Path, tables: Iterator[pa.Table]) -> None:
    first = _as_text(next(tables))
    with pyarrow.csv.CSVWriter(path, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(_as_text(table))


def _write_jsonl(path: Path, tables: Iterator[pa.Table]) -> None:
    with path.open("wb") as file:
        for table in tables:
            frame = pl.from_arrow(_as_text(table))
            assert isinstance(frame, pl.DataFrame)
            frame.write_ndjson(file)


def _as_text(table: pa.Table) -> pa.Table:
    """The table with timestamps as ISO-8601 strings."""
    if "time" not in table.column_names or not pa.types.is_timestamp(table["time"].type):
        return table
    moments = pc.replace_substring(table["time"].cast(pa.large_string()), " ", "T")
    return table.set_column(table.column_names.index("time"), "time", moments)


WRITERS: dict[str, Callable[[Path, Iterator[pa.Table]], None]] = {
    "parquet": _write_parquet,
    "csv": _write_csv,
    "jsonl": _write_jsonl,
}
