"""Time and memory of `eventcargo cohort` on many rows of events.

Makes Parquet files of `--rows` events in a temporary folder: 50 events a subject within a year, subjects
interleaved in the order of time as in a log, 5,000 event types, and an outcome for every tenth subject. Then
runs `eventcargo cohort` with a look-back of 30 days in a process of its own and reports its seconds and its
peak of resident memory.

    .venv/bin/python -m benchmarks.scale.cohort --rows 10000000
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.record import provenance, save

EVENTS_A_SUBJECT, EVENT_TYPES, OUTCOME_EVERY = 50, 5_000, 10
YEAR = 365 * 86_400
PART = 2_000_000
"""Rows of one file."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000_000])
    parser.add_argument("--lookback", default="30d")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=None, help="for temporary files")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    rows = []
    for size in options.rows:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            make(Path(folder), size, options.seed)
            rows.append(measure(Path(folder), size, options.lookback))
        print(json.dumps(rows[-1], indent=1), flush=True)
    print(f"written to {save('cohort', {**provenance(options.seed), 'rows': rows}, options.out)}")


def make(folder: Path, n_rows: int, seed: int) -> None:
    """Write the events in parts, one after the other in time, and the outcomes."""
    random = np.random.default_rng(seed)
    n_subjects = max(n_rows // EVENTS_A_SUBJECT, 1)
    names = pa.array([f"SUBJECT{number:08}" for number in range(n_subjects)])
    codes = pa.array([f"CODE{number:05}" for number in range(EVENT_TYPES)])
    (folder / "events").mkdir()
    for start in range(0, n_rows, PART):
        n = min(PART, n_rows - start)
        seconds = (start + np.sort(random.uniform(0, n, n))) / n_rows * YEAR
        table = {
            "sequence_id": names.take(pa.array(random.integers(0, n_subjects, n))),
            "time": _dates(seconds),
            "event": codes.take(pa.array((EVENT_TYPES * random.random(n) ** 2).astype(np.int64))),
        }
        pq.write_table(pa.table(table), folder / "events" / f"part{start // PART:04}.parquet")
    some = np.arange(0, n_subjects, OUTCOME_EVERY)
    outcomes = {
        "sequence_id": names.take(pa.array(some)),
        "label": [f"L{number % 20:02}" for number in range(len(some))],
        "when": _dates(random.uniform(0.2, 1, len(some)) * YEAR),
    }
    pq.write_table(pa.table(outcomes), folder / "outcomes.parquet")


def _dates(seconds: Any) -> pa.Array:
    return pa.array((seconds * 1e6).astype(np.int64)).cast(pa.timestamp("us"))


def measure(folder: Path, n_rows: int, lookback: str) -> dict[str, Any]:
    """Seconds, processor seconds and peak memory of the command, and what it made."""
    command = [sys.executable, "-m", "eventcargo", "cohort", str(folder / "events"), "--json"]
    command += ["--labels", str(folder / "outcomes.parquet"), "--label-time", "when"]
    command += ["--lookback", lookback, "--out", str(folder / "data")]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    summary = json.loads(process.stdout.read())
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"eventcargo cohort failed: {status}")
    return {
        "events": n_rows,
        "subjects": n_rows // EVENTS_A_SUBJECT,
        "lookback": lookback,
        **{name: summary[name] for name in ("cases", "controls", "events_used", "line")},
        "seconds": round(time.perf_counter() - began, 1),
        "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_gigabytes": round(_gigabytes(used), 2),
    }


def _gigabytes(used: resource.struct_rusage) -> float:
    """Largest resident memory, which Linux counts in kilobytes."""
    return used.ru_maxrss / 1024**2


if __name__ == "__main__":
    main()
