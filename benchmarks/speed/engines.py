"""Whole runs of `discover`, this tree against an earlier commit (needs git): what engines cost one machine.

The default settings, in turns: seconds and processor seconds, workers included. On a busy machine the latter
say more. Run: `.venv/bin/python -m benchmarks.speed.engines [--cases chain fleet]`; and, for what it costs to
read data in blocks, `--before a872b56 --cases fleet paper --out benchmarks/results/blocks_speed.json`
"""

import argparse
import io
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

from eventcargo import simulate, write_events

from benchmarks.record import provenance, save
from benchmarks.speed.whole_runs import CASES

BEFORE = "7bba07d"
"""The last commit with a pool of processes for phase 1 and threads for the rest."""

ROOT = Path(__file__).parents[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", default=["chain", "fleet"], choices=CASES)
    parser.add_argument("--before", default=BEFORE, help="the earlier commit")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        archive = subprocess.run(
            ["git", "archive", options.before, "src"], cwd=ROOT, stdout=subprocess.PIPE, check=True
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as file:
            file.extractall(home, filter="data")
        trees = {"before": Path(home) / "src", "now": ROOT / "src"}
        rows = [compared(case, trees, options.turns) for case in options.cases]
    result = {**provenance(0), "before": options.before, "rows": rows}
    print(f"written to {save('engines_speed', result, options.out)}")


def compared(case: str, trees: dict[str, Path], turns: int) -> dict[str, Any]:
    """The ratio of now to before, the median of some turns."""
    settings, taken = dict(CASES[case]), dict[str, list[tuple[float, float]]]()
    with tempfile.TemporaryDirectory() as folder:
        write_events(simulate(settings.pop("regime"), seed=0, **settings).data, f"{folder}/data")
        tables = [f"{folder}/data/events.parquet", "--labels", f"{folder}/data/labels.parquet"]
        for turn in range(turns):
            for name, tree in trees.items():
                out = f"{folder}/{name}-{turn}"
                taken.setdefault(name, []).append(run([*tables, "--out", out, "--max-time", "3h"], tree))
    pairs = list(zip(taken["now"], taken["before"], strict=True))
    row = {
        "case": case,
        **taken,
        "seconds_ratio": statistics.median(now[0] / before[0] for now, before in pairs),
        "processor_ratio": statistics.median(now[1] / before[1] for now, before in pairs),
        "load": os.getloadavg(),
    }
    print(row, flush=True)
    return row


def run(arguments: list[str], tree: Path) -> tuple[float, float]:
    """Seconds and processor seconds of a command, its workers included."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "eventcargo", "discover", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(tree)},
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"discover of {tree} ended with {status}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
