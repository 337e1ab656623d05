"""`read_events`: read tables of events and labels into an `EventDataset`.

Rows are read batch by batch, kept as numbers, and finally sorted by sequence and time. The order of rows and
their split over files do not matter, except that events at the same time keep their row order.
"""

import logging
import time as clock
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, DataError, argument, counted
from eventcargo.events import EventDataset, Ragged, TimeKind
from eventcargo.io.columns import Collector, NameColumn, collect
from eventcargo.io.config import ReadConfig
from eventcargo.io.forgotten_time import warn_of_times
from eventcargo.io.labels import read_labels
from eventcargo.io.pairs import tables_from_pairs
from eventcargo.io.problems import Problems
from eventcargo.io.shards import find_beside
from eventcargo.io.sources import READING, Source, open_sources
from eventcargo.io.times import TimeColumn
from eventcargo.io.values import ValueColumn, gather_values, open_values
from eventcargo.logs import duration

TIME = "time"

LOG = logging.getLogger(__name__)

UnknownLabels = Literal["refuse", "drop"]


def read_events(
    events: Any,
    labels: Any = None,
    *,
    sequence_id: str = "sequence_id",
    time: str | None = TIME,
    event: str = "event",
    label: str = "label",
    values: Sequence[str] = (),
    unknown_labels: UnknownLabels = "refuse",
    reading: ReadConfig = READING,
) -> EventDataset:
    """Read a data set from a table of events (sequence_id, time, event) and a table of labels.

    `events` and `labels` are paths (Parquet; CSV, TSV and JSON Lines, also as .gz), folders or patterns of
    such files, pandas or polars frames, or Arrow tables. `events` may also be a list of (events, labels)
    pairs, a folder written by `EventDataset.save` or `write_events`, or any folder with one table called
    events and one called labels.

    Parameters
    ----------
    labels
        Long, with the columns sequence_id and label, or wide, with a column of 0 and 1 for each label; or a
        list of such tables. None: no sequence carries a label.
    sequence_id, time, event, label
        Column names. Without a column `time`, or with time=None, the order of rows is the order of events.
        Dates become seconds since 1970 UTC; dates without a time zone are read as UTC. Strings are read as
        numbers or as ISO-8601 dates; `reading` has other formats and zones.
    values
        Further numeric columns of the events, such as mileage. Nulls, empty fields and NaN mean "not
        recorded".
    unknown_labels
        What to do with labels of sequences without events: "refuse", or "drop" with a warning.
    reading
        Formats of text and dates, and what to do with rows that cannot be used (`ReadConfig`). All such rows
        of all tables are told at once.

    >>> data = read_events([(["P01", "U02"], ["brake"]), (["U02"], [])])
    >>> data.event_names, data[0].labels, data.time_kind
    (('P01', 'U02'), ('brake',), 'order')
    """
    began = clock.monotonic()
    if unknown_labels not in ("refuse", "drop"):
        raise ConfigError(f"{argument('unknown_labels', unknown_labels)}: use refuse or drop")
    if isinstance(events, list | tuple):
        _check_pairs(labels, values)
        events, labels, time = tables_from_pairs(events)
        sequence_id, event, label = "sequence_id", "event", "label"
    elif isinstance(events, str | Path) and Path(events).is_dir():
        if (Path(events) / "dataset.json").is_file():
            return _load(Path(events), labels, values)
        events, labels = _inside(Path(events), labels)
    problems = Problems(reading.on_bad_row)
    sources = open_sources(events, "events", reading, problems)
    ids, columns = _read_rows(sources, sequence_id, time, event, values, reading, problems)
    label_rows, label_codes, label_names = read_labels(
        labels, ids, sequence_id, label, unknown_labels, reading, problems
    )
    problems.settle()
    data = EventDataset(
        sequence_ids=ids, **columns, labels=label_codes, label_rows=label_rows, label_names=label_names
    )
    counts = counted(len(data), "sequence"), counted(data.n_events, "event")
    LOG.info("read %s with %s in %s", *counts, duration(began))
    return data


def _check_pairs(labels: Any, values: Sequence[str]) -> None:
    if labels is not None:
        raise ConfigError(f"the pairs already contain the labels; leave out {argument('labels')}")
    if values:
        raise ConfigError(
            f"{argument('values', list(values))}: pairs have no columns; use EventDataset.from_sequences"
        )


def _load(folder: Path, labels: Any, values: Sequence[str]) -> EventDataset:
    if labels is not None:
        raise ConfigError(
            f"{folder} is a saved data set that already holds its labels; leave out {argument('labels')}"
        )
    data = EventDataset.load(folder)
    if values and tuple(values) != data.value_names:
        raise ConfigError(
            f"{folder} is a saved data set that already holds its values, {list(data.value_names)}, not "
            f"{list(values)}; leave out {argument('values')}"
        )
    return data


def _inside(folder: Path, labels: Any) -> tuple[Path, Any]:
    """The table called events in a folder and, unless `labels` is given, the table called labels."""
    inside = find_beside(folder, "events")
    if inside is None:
        return folder, labels
    return inside, find_beside(folder, "labels") if labels is None else labels


def _read_rows(
    sources: list[Source],
    sequence_id: str,
    time: str | None,
    event: str,
    values: Sequence[str],
    reading: ReadConfig,
    problems: Problems,
) -> tuple[Any, dict[str, Any]]:
    """The sequence ids, sorted, and the columns of events for `EventDataset`."""
    ids, names = NameColumn(sequence_id), NameColumn(event)
    collectors: dict[str, Collector] = {sequence_id: ids, event: names}
    if len(collectors) < 2 or time in collectors:
        raise ConfigError(
            f"{argument('sequence_id', sequence_id)}, {argument('time', time)}, {argument('event', event)}: "
            "the columns must differ"
        )
    for source in sources:
        source.check_column(sequence_id, "sequence_id")
        source.check_column(event, "event")
    times = _time_column(sources, time, reading)
    if times is not None:
        collectors[times.column] = times
    extra = open_values(sources, values, list(collectors))
    collectors.update({column.column: column for column in extra})
    if time == TIME and times is None:
        warn_of_times(sources[0], list(collectors))
    if collect(sources, collectors, problems, sequence_id).n_rows == 0:
        if problems:
            problems.refuse()
        raise DataError(
            f"{sources[0].place} is empty: no row in {counted(len(sources), 'table')}; give some events"
        )
    sequences, sequence_ids = ids.finish()
    codes, event_names = names.finish()
    moments = None if times is None else times.finish()
    rows, codes, moments, numbers = sort_rows(sequences, codes, moments, extra, len(sequence_ids))
    kind: TimeKind = "order" if times is None or times.kind is None else times.kind
    columns = {"events": codes, "times": moments, "rows": rows, "time_kind": kind, "values": numbers}
    return sequence_ids, {**columns, "value_names": values, "event_names": event_names.to_pylist()}


def _time_column(sources: list[Source], time: str | None, reading: ReadConfig) -> TimeColumn | None:
    """A collector of times; None if the order of rows counts: the default column is in no source."""
    if time is None or (time == TIME and not any(time in source.columns for source in sources)):
        return None
    for source in sources:
        source.check_column(time, "time")
    return TimeColumn(time, reading=reading)


def sort_rows(
    sequences: NDArray[np.int32],
    events: NDArray[np.int32],
    times: NDArray[np.float64] | None,
    columns: Sequence[ValueColumn],
    n_sequences: int,
) -> tuple[Ragged, NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Rows sorted by sequence and time, ties in row order; without times, they are 0, 1, 2, ..."""
    order: NDArray[np.intp] | slice = slice(None)
    if not _is_sorted(sequences, times):
        order = np.lexsort((sequences,) if times is None else (times, sequences))
        events = events[order]
        times = None if times is None else times[order]
    values = gather_values(columns, order, len(events))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(sequences, minlength=n_sequences))]).astype(np.int64)
    if times is None:
        times = np.arange(len(events), dtype=np.float64) - np.repeat(offsets[:-1], np.diff(offsets))
    return Ragged.from_offsets(offsets), events, times, values


def _is_sorted(sequences: NDArray[np.int32], times: NDArray[np.float64] | None) -> bool:
    rises = sequences[1:] > sequences[:-1]
    stays = sequences[1:] == sequences[:-1]
    if times is not None:
        stays &= times[1:] >= times[:-1]
    return bool((rises | stays).all())
