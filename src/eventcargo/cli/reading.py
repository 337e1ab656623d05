"""Reading the tables of a command within its time limit."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from eventcargo.deadline import Deadline, OutOfTime, cut_at
from eventcargo.durations import parse_duration, rounded_up
from eventcargo.errors import ConfigError, argument
from eventcargo.io.shards import find_shards

if TYPE_CHECKING:
    from eventcargo.discovery.data_source import DataSource, SourceData

SECONDS_A_BYTE = {".parquet": 1.3e-8, ".csv": 5e-9, ".tsv": 5e-9, ".jsonl": 5e-8, ".ndjson": 5e-8}
"""Processor seconds that a byte of a table takes to read, by the ending of the file; about, on one core."""

HOPELESS = 0.25
"""Tables are not even begun if this share of the expected time is longer than the limit."""


def read_in_time(source: "DataSource", max_time: str, began: float) -> "SourceData":
    """Read the tables, or refuse the time limit, which counts from `began`, and name the time they take."""
    limit, expected = parse_duration(max_time, "max_time"), expected_seconds(source)
    if HOPELESS * expected > limit:
        raise _too_short(source, max_time, expected)
    used = time.process_time()
    try:
        with cut_at(Deadline(began + limit)):
            return source.build()
    except OutOfTime:
        pace = (time.monotonic() - began) / max(time.process_time() - used, 1e-3)
        raise _too_short(source, max_time, max(pace * expected, 2 * limit)) from None


def expected_seconds(source: "DataSource") -> float:
    """Processor seconds that reading the tables takes; a saved data set is not read but mapped."""
    if source.is_saved:
        return 0.0
    return sum(SECONDS_A_BYTE.get(path.suffix, 0.0) * path.stat().st_size for path in _files(source))


def _too_short(source: "DataSource", max_time: str, seconds: float) -> ConfigError:
    megabytes = sum(path.stat().st_size for path in _files(source)) / 1e6
    return ConfigError(
        f"{argument('max_time', max_time)}: to load and read the tables ({megabytes:,.0f} MB) takes longer, "
        f"about {seconds:,.0f} s; allow {rounded_up(2 * seconds)} or more"
    )


def _files(source: "DataSource") -> Iterator[Path]:
    for path in map(Path, source.paths):
        yield from (
            (file for file in path.rglob("*") if file.is_file()) if path.is_dir() else find_shards(path)
        )
