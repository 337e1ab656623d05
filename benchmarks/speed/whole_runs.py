"""Time and memory of whole runs of `discover`: small regimes, the standard fleet, the size of the paper.

Each run is a process of its own on data saved to a folder; time is from the start of the command to its end.
Run: `.venv/bin/python -m benchmarks.speed.whole_runs [--cases chain fleet paper]`
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from eventcargo import simulate, write_graph

from benchmarks.record import provenance, save

CASES: dict[str, dict[str, Any]] = {
    **{
        name: {"regime": name}
        for name in ("chain", "ordered", "follows", "repeat", "timing", "recency", "short")
    },
    "fleet": {"regime": "fleet", "sequences": 20_000, "event_types": 2_000, "labels": 50},
    "paper": {"regime": "fleet", "sequences": 50_000, "event_types": 29_100, "labels": 474},
    "large": {"regime": "fleet", "sequences": 500_000, "event_types": 29_100, "labels": 474},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cases", nargs="+", default=[name for name in CASES if name != "large"], choices=CASES
    )
    parser.add_argument("--max-time", default="3h")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    rows = [measure(name, options.seed, options.max_time) for name in options.cases]
    print(f"written to {save('whole_runs', {**provenance(options.seed), 'rows': rows}, options.out)}")


def measure(name: str, seed: int, max_time: str) -> dict[str, Any]:
    """One case: seconds, peak memory, macro F1 and the seconds of each stage."""
    with tempfile.TemporaryDirectory() as folder:
        settings = dict(CASES[name])
        simulated = simulate(settings.pop("regime"), seed=seed, **settings)
        simulated.data.save(f"{folder}/data")
        write_graph(simulated.truth, f"{folder}/truth.parquet")
        del simulated
        arguments = [f"{folder}/data", "--out", f"{folder}/run", "--truth", f"{folder}/truth.parquet"]
        seconds, peak = run(["discover", *arguments, "--max-time", max_time])
        stages = json.loads(Path(f"{folder}/run/run.json").read_text())["seconds"]
        scores = json.loads(Path(f"{folder}/run/scores.json").read_text())
    row = {
        "case": name,
        "seconds": seconds,
        "gigabytes": peak,
        "macro_f1": scores["macro"]["f1"],
        "stages": stages,
    }
    print(f"{name:8} {seconds:7.1f} s {peak:5.2f} GB  macro F1 {row['macro_f1']:.3f}  {stages}", flush=True)
    return row


def run(arguments: list[str]) -> tuple[float, float]:
    """Seconds and peak gigabytes of a command."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "eventcargo", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    told = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(told.decode()[-1000:])
    return time.monotonic() - began, usage.ru_maxrss / 1024**2


if __name__ == "__main__":
    main()
