"""Turn a list of (events, labels) pairs, small data written by hand, into two Arrow tables."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from eventcargo.errors import DataError, shown_value


def tables_from_pairs(pairs: Sequence[Any]) -> tuple[pa.Table, pa.Table | None, str | None]:
    """A table of events, a table of labels (None if empty), and the name of the time column (None without).

    The sequence ids are "0", "1", ... padded with zeros, so that they sort in the order of the list.
    """
    if not pairs:
        raise DataError("the list of pairs is empty; give at least one pair of events and labels")
    width = len(str(len(pairs) - 1))
    rows: list[tuple[str, Any, Any]] = []
    marks: list[tuple[str, Any]] = []
    for number, pair in enumerate(pairs):
        events, labels = _unpack(number, pair)
        name = str(number).zfill(width)
        rows += [(name, *_time_and_name(number, event)) for event in events]
        marks += [(name, label) for label in labels]
    has_times = any(time is not None for _, time, _ in rows)
    columns = {"sequence_id": [row[0] for row in rows], "event": [row[2] for row in rows]}
    if has_times:
        columns["time"] = [row[1] for row in rows]
    label_columns = {"sequence_id": [mark[0] for mark in marks], "label": [mark[1] for mark in marks]}
    return _table(columns), _table(label_columns) if marks else None, "time" if has_times else None


def _unpack(number: int, pair: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    members = pair if isinstance(pair, tuple | list) else ()
    if len(members) != 2 or not all(isinstance(each, list | tuple | set | frozenset) for each in members):
        raise DataError(f"pair {number} is {shown_value(pair, 80)}; use (list of events, list of labels)")
    events, labels = members
    if isinstance(events, set | frozenset):
        raise DataError(f"pair {number} has a set of events, which has no order; give a list")
    if not events:
        raise DataError(f"pair {number} has no events; every sequence needs at least one event")
    return events, list(labels)


def _time_and_name(number: int, event: Any) -> tuple[Any, Any]:
    if not isinstance(event, tuple | list):
        return None, event
    if len(event) != 2 or event[0] is None:
        raise DataError(f"pair {number} has the event {shown_value(event, 80)}; use a name or (time, name)")
    return event[0], event[1]


def _table(columns: dict[str, list[Any]]) -> pa.Table:
    try:
        return pa.table(columns)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0][:300]
        raise DataError(
            f"the pairs cannot be read: {reason}; use strings as names, and times of one kind"
        ) from None
