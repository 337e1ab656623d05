"""Whether `discover --max-time` keeps its limit on a busy machine: other jobs load the cores meanwhile.

Each run is a process of its own, from the command line to its end, on the standard fleet in a Parquet file. A
limit that the program refuses as too short must be refused within it.
Run: `.venv/bin/python -m benchmarks.speed.time_limit [--limits 5s 20s 60s] [--presets ...] [--busy 3]`
"""

import argparse
import json
import multiprocessing as mp
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eventcargo.durations import parse_duration

from benchmarks.record import provenance, save

ALLOWED = (0.05, 3.0)
"""A run may take this share, or this many seconds, longer than its limit."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limits", nargs="+", default=["5s", "20s", "60s"])
    parser.add_argument("--presets", nargs="+", default=["default", "fast", "paper"])
    parser.add_argument("--sequences", type=int, default=20_000)
    parser.add_argument("--event-types", type=int, default=2_000)
    parser.add_argument("--labels", type=int, default=50)
    parser.add_argument("--busy", type=int, default=3, help="other jobs that run meanwhile")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, busy(options.busy):
        home = Path(folder)
        sizes = ("sequences", "event_types", "labels", "seed")
        made = [f"--{name.replace('_', '-')}={getattr(options, name)}" for name in sizes]
        if (done := command("simulate", "fleet", str(home / "data"), *made)).returncode:
            raise RuntimeError(done.stderr)
        pairs = [(preset, limit) for limit in options.limits for preset in options.presets]
        rows = [run(home, preset, limit) for preset, limit in pairs]
    result = {**provenance(options.seed), "busy": options.busy, "rows": rows}
    print(f"written to {save('time_limit', result, options.out)}")


def run(home: Path, preset: str, limit: str) -> dict[str, Any]:
    """One run, how long it took, what it found, and what it says was left out."""
    out, began = home / f"{preset}-{limit}", time.monotonic()
    tables = [str(home / "data" / "events.parquet"), "--labels", str(home / "data" / "labels.parquet")]
    tables += ["--truth", str(home / "data" / "truth.parquet")]
    done = command("discover", *tables, "--out", str(out), "--preset", preset, "--max-time", limit)
    taken, allowed = time.monotonic() - began, parse_duration(limit, "max_time")
    row = {
        "preset": preset,
        "limit": allowed,
        "seconds": taken,
        "kept": taken <= allowed + max(ALLOWED[0] * allowed, ALLOWED[1]),
        "peak_gigabytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2,
        "refused": bool(done.returncode),
        "macro_f1": None if done.returncode else read(out / "scores.json")["macro"]["f1"],
        "stages": {} if done.returncode else read(out / "run.json")["seconds"],
        "told": [line for line in done.stderr.splitlines() if "time" in line],
    }
    found = "refused" if row["refused"] else f"macro F1 {row['macro_f1']:.3f}  {row['stages']}"
    print(
        f"{preset:8} {limit:>4} {taken:6.1f} s {'kept' if row['kept'] else 'NOT KEPT'}  {found}", flush=True
    )
    return row


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "eventcargo", *arguments], capture_output=True, text=True, check=False
    )


@contextmanager
def busy(jobs: int) -> Iterator[None]:
    """Processes that use one core each, within the block."""
    burning = [mp.get_context("spawn").Process(target=burn, daemon=True) for _ in range(jobs)]
    for process in burning:
        process.start()
    try:
        yield
    finally:
        for process in burning:
            process.terminate()


def burn() -> None:
    while True:
        sum(range(100_000))


if __name__ == "__main__":
    main()
