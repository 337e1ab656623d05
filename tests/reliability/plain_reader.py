"""A plain reader of tables, written apart from the package's own: what damaged but readable tables say.

It is slow and knows no errors but Python's. Where it reads a table, the package must read the same or refuse.
"""

import csv
import datetime
import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet

from eventcargo import EventDataset

Content = tuple[dict[str, list[tuple[str, float]]], dict[str, set[str]]]
"""For every sequence its events with their times, in order, and its labels."""


def content_of(data: EventDataset) -> Content:
    """The content of a data set."""
    events = {one.id: list(zip(one.events, one.times, strict=True)) for one in data}
    return events, {one.id: set(one.labels) for one in data if one.labels}


def read_plainly(events: list[dict[str, Any]], labels: list[dict[str, Any]]) -> Content:
    """The content of rows of two tables."""
    sequences: dict[str, list[tuple[str, float]]] = {}
    has_times = any("time" in row for row in events)
    for row in events:
        own = sequences.setdefault(_name(row["sequence_id"]), [])
        own.append((_name(row["event"]), _moment(row["time"]) if has_times else float(len(own))))
    carried: dict[str, set[str]] = {}
    for row in labels:
        if "label" in row:
            carried.setdefault(_name(row["sequence_id"]), set()).add(_name(row["label"]))
            continue
        for name, value in row.items():
            if name != "sequence_id" and str(value).lower() in ("1", "1.0", "true"):
                carried.setdefault(_name(row["sequence_id"]), set()).add(name)
    return {name: sorted(own, key=lambda one: one[1]) for name, own in sequences.items()}, carried


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, by its ending."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        return list(pyarrow.parquet.read_table(path).to_pylist())
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = _decoded(raw)
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    return list(_delimited(text, "\t" if name.endswith(".tsv") else ""))


def _decoded(raw: bytes) -> str:
    for encoding in ("utf-8-sig", "utf-16", "utf-32", "cp1252"):
        if encoding in ("utf-16", "utf-32") and not raw.startswith(
            (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
        ):
            continue
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise ValueError("no text")


def _delimited(text: str, separator: str) -> Iterator[dict[str, Any]]:
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator or ",") if row]
    if not separator and len(rows[0]) == 1:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=";") if row]
    header = rows[0]
    for row in rows[1:]:
        if len(row) != len(header):
            raise ValueError(f"{len(row)} fields")
        yield dict(zip(header, row, strict=True))


def _name(value: Any) -> str:
    if value is None or value == "" or isinstance(value, float | list | dict | bool):
        raise ValueError(f"no name: {value!r}")
    return str(value)


def _moment(value: Any) -> float:
    if isinstance(value, datetime.datetime):
        return _seconds(value)
    if isinstance(value, datetime.date):
        return _seconds(datetime.datetime(value.year, value.month, value.day))
    if isinstance(value, bool) or value is None:
        raise ValueError(f"no time: {value!r}")
    try:
        return float(value)
    except ValueError:
        return _seconds(datetime.datetime.fromisoformat(value))


def _seconds(moment: datetime.datetime) -> float:
    moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    return (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) / datetime.timedelta(seconds=1)
