"""The first answer on own data, as a new user gets it: from an empty environment to a report.

Makes an environment, installs the package with all that it needs and nothing from pip's cache, and runs the
two commands of README's "Your first answer" on messy CSV files of a simulated clinic. Given
are the wall-clock seconds of every step, the size of the environment, and F1 of the boundaries found.
Run: `python -m benchmarks.speed.first_answer [--package .] [--pinned] [--out FILE]`; `--package` may be a
wheel, `--pinned` takes the versions of constraints.txt.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from eventcargo import evaluate, read_graph, simulate
from eventcargo.simulation.messy import TIME_FORMAT, write_messy
from eventcargo.simulation.records import Records

from benchmarks.record import provenance, save

ROOT = Path(__file__).parents[2]
SEED = 100
SUBJECTS = 2_500
TABLES = ("events.csv", "--labels", "outcomes.csv", "--sequence-id", "subject_id", "--event", "code")
TEXT = ("--time-format", TIME_FORMAT, "--normalise", "--on-bad-row", "drop")
CUT = ("--label-time", "time", "--lookback", "30d", "--washout", "30d")
MORE = (
    "--static",
    "static.csv",
    "--adjust",
    "site",
    "--parents",
    "codes.csv",
    "--numeric-value",
    "numeric_value",
)
QUESTION = (*TABLES, *TEXT, *CUT, *MORE)


def commands(folder: Path, package: Path, pinned: bool) -> dict[str, list[str]]:
    """The steps of a new user, by name."""
    programs = folder / "environment" / "bin"
    versions = ["-c", str(ROOT / "constraints.txt")] if pinned else []
    install = [str(programs / "pip"), "install", "--quiet", "--no-cache-dir", *versions, str(package)]
    program = str(programs / "eventcargo")
    return {
        "environment": [sys.executable, "-m", "venv", str(programs.parent)],
        "install": install,
        "version": [program, "--version"],
        "validate": [program, "validate", *QUESTION],
        "discover": [program, "discover", *QUESTION, "--out", "run"],
    }


def timed(command: list[str], folder: Path) -> float:
    """Wall-clock seconds of a command that knows no folder of this checkout; it must end well."""
    known = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, env=known, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def found(records: Records, folder: Path) -> dict[str, Any]:
    """What the run found, and how good it is; names are compared as `--normalise` writes them."""
    graph = read_graph(folder / "run" / "graph.parquet")
    truth = records.truth_for(graph.edges["event"].to_list())
    scores = evaluate(graph, truth, labels=truth.labels, event_of=str.casefold)
    return {"f1": scores.macro.f1, "boundaries": {label: graph.boundary(label) for label in graph.labels}}


def measure(package: Path, pinned: bool) -> dict[str, Any]:
    records = simulate("clinic", seed=SEED, subjects=SUBJECTS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "tables"
        write_messy(records, folder)
        seconds: dict[str, float] = {}
        for step, command in commands(folder, package, pinned).items():
            seconds[step] = timed(command, folder)
            print(f"{step}: {seconds[step]:.1f} s", flush=True)
        files = (folder / "environment").rglob("*")
        size = sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())
        answer = found(records, folder)
    return {
        "subjects": SUBJECTS,
        "events": len(records.events),
        "pinned": pinned,
        "seconds": seconds,
        "total_seconds": sum(seconds.values()),
        "environment_gigabytes": size / 1024**3,
        **answer,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", type=Path, default=ROOT)
    parser.add_argument("--pinned", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    result = measure(options.package.resolve(), options.pinned)
    print(f"in all: {result['total_seconds']:.0f} s; F1 of the boundaries {result['f1']:.2f}")
    print(save("first_answer", {**provenance(SEED), **result}, options.out))


if __name__ == "__main__":
    main()
