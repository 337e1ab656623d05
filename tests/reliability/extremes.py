"""Extreme data: whole runs on each, in a process of its own, with limits of time and memory, both measured.

`benchmarks/reliability/extremes.py` has them at full size, `test_extremes` small.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil

from tests.reliability.programs import environment

CAUSED = 0.9
"""How often a label follows its cause; it also follows nothing, one time in fifty."""


@dataclass(frozen=True)
class Extreme:
    """The sizes of an extreme; a label follows the event type of its own number."""

    sequences: int
    event_types: int
    labels: int
    length: int = 30
    longest: int = 0
    """events of one sequence that is longer than all others; 0: none is"""
    always: bool = False
    """whether one label more is on every sequence"""


FULL = {
    "no label": Extreme(200_000, 1_000, 0),
    "one label": Extreme(200_000, 1_000, 1),
    "5,000 labels": Extreme(100_000, 10_000, 5_000),
    "a label on every sequence": Extreme(20_000, 1_000, 5, always=True),
    "one event type": Extreme(20_000, 1, 1),
    "200,000 event types": Extreme(20_000, 200_000, 20),
    "a sequence of 100,000 events": Extreme(5_000, 1_000, 5, longest=100_000),
}

SMALL = {
    "no label": Extreme(500, 20, 0),
    "one event type, and a label on every sequence": Extreme(300, 1, 1, length=2, always=True),
    "a sequence of 20,000 events": Extreme(200, 20, 1, length=10, longest=20_000),
}


def write_tables(extreme: Extreme, folder: Path, seed: int) -> list[str]:
    """Write the tables of an extreme; the arguments of the program that name them."""
    rng, folder = np.random.default_rng(seed), Path(folder)
    lengths = rng.integers(1, 2 * extreme.length, extreme.sequences)
    lengths[0] = extreme.longest or lengths[0]
    rows = np.repeat(np.arange(extreme.sequences), lengths)
    events = rng.integers(0, extreme.event_types, len(rows))
    times = rng.random(len(rows)).cumsum()
    folder.mkdir(parents=True, exist_ok=True)
    table = {"sequence_id": _names("car", rows), "time": times, "event": _names("E", events)}
    pl.DataFrame(table).write_parquet(folder / "events.parquet")
    return [str(folder / "events.parquet"), *_write_labels(extreme, folder, rows, events, rng)]


def _write_labels(
    extreme: Extreme, folder: Path, rows: np.ndarray[Any, Any], events: np.ndarray[Any, Any], rng: Any
) -> list[str]:
    if not extreme.labels:
        return []
    causes = events < extreme.labels
    pairs = np.unique(np.stack([rows[causes], events[causes]]), axis=1)
    pairs = pairs[:, rng.random(pairs.shape[1]) < CAUSED]
    stray = rng.integers(0, [[extreme.sequences], [extreme.labels]], (2, extreme.sequences // 50))
    carriers, labels = np.unique(np.concatenate([pairs, stray], axis=1), axis=1)
    table = pl.DataFrame({"sequence_id": _names("car", carriers), "label": _names("L", labels)})
    if extreme.always:
        everyone = _names("car", np.arange(extreme.sequences))
        table = pl.concat([table, pl.DataFrame({"sequence_id": everyone, "label": "always"})])
    table.write_parquet(folder / "labels.parquet")
    return ["--labels", str(folder / "labels.parquet")]


def _names(start: str, numbers: np.ndarray[Any, Any]) -> pl.Series:
    return start + pl.Series(numbers).cast(pl.String).str.zfill(6)


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    code: int
    seconds: float
    peak: float
    """largest memory of all its processes, in bytes, as the system counts it"""
    private: float
    """the same without mapped files"""
    words: str
    """what it printed to standard error from the word error on, if it failed"""

    @property
    def is_clear(self) -> bool:
        """Whether it ended with a result or a clear refusal."""
        refused = self.code == 1 and self.words.startswith("error: ") and "Traceback" not in self.words
        return self.code == 0 or refused


def run(*arguments: str, seconds: float) -> Ended:
    """Run the program; it is killed when it takes longer than `seconds`, and has no code then."""
    command = [sys.executable, "-m", "eventcargo", *arguments]
    began, peak, private = time.monotonic(), 0.0, 0.0
    with tempfile.TemporaryFile("w+") as told:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=told, env=environment())
        while process.poll() is None and time.monotonic() - began < seconds:
            sizes = [_memory(one) for one in _family(process.pid)]
            peak = max(peak, sum(all_of_it for all_of_it, _ in sizes))
            private = max(private, sum(own for _, own in sizes))
            time.sleep(0.05)
        taken, code = time.monotonic() - began, process.poll()
        for one in _family(process.pid) if code is None else []:
            one.kill()
        process.wait()
        told.seek(0)
        words = "" if code == 0 else told.read().strip()
    at = words.find("error: ")
    return Ended(-9 if code is None else code, taken, peak, private, words[max(at, 0) :])


def _family(process: int) -> list[psutil.Process]:
    try:
        first = psutil.Process(process)
        return [first, *first.children(recursive=True)]
    except psutil.Error:
        return []


def _memory(process: psutil.Process) -> tuple[float, float]:
    """Resident memory of a process, and that without mapped files."""
    try:
        status = dict(
            line.split(":", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines()
        )
        sizes = {name: 1024.0 * int(status[name].split()[0]) for name in ("VmRSS", "RssFile")}
    except (OSError, KeyError):  # it has ended
        return 0.0, 0.0
    return sizes["VmRSS"], sizes["VmRSS"] - sizes["RssFile"]


def discover(extreme: Extreme, folder: Path, options: Mapping[str, str], seconds: float, seed: int) -> Ended:
    """A whole run on an extreme."""
    tables = write_tables(extreme, folder / "data", seed)
    settings = [part for name, value in options.items() for part in (f"--{name}", value)]
    return run("discover", *tables, "--out", str(folder / "run"), *settings, seconds=seconds)
