"""The paper's own tables and figures, on a simulated fleet: Table 1, the NADE table, N, k, fusion.

Each unit runs in a process of its own and leaves a JSON file, so that the script goes on where it was
stopped; models are kept beside them. At the end all units become one result, figures, and tables in Markdown.
The criteria of fusion against m are those of `accuracy/criteria.py`, where it was run. Settings are the
paper's: none is chosen here.
Run: `.venv/bin/python -m benchmarks.paper.run [--figures FOLDER] [--docs FILE]`, one or two hours of a core.
The paper's size: `--sequences 50000 --event-types 29100 --labels 474 --steps 70000 --minutes 240`.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from eventcargo.errors import EventCargoWarning

from benchmarks.paper.figures import draw
from benchmarks.paper.methods import baseline, cargo, their_baseline
from benchmarks.paper.parts import Setup, cuts, nade, particles, picture, threshold
from benchmarks.paper.tables import OURS, THEIRS, tables
from benchmarks.record import PARTS, RESULTS, peak_gigabytes, provenance, save, show

WORK: Mapping[str, Callable[..., Any]] = {
    "nade": nade,
    "threshold": threshold,
    "picture": picture,
    "cuts": cuts,
    "particles": particles,
    "cargo": cargo,
    "baseline": baseline,
    "pycausalfs": their_baseline,
}
NADES = (("explicit", "all"), ("small", "all"), ("small", "quarter"), ("tiny", "all"), ("tiny", "quarter"))
KINDS = ("explicit", "small")
"""The models by which particles and cuts are looked at: one that knows the labels, one as the paper's."""

Unit = tuple[str, ...]


def main() -> None:
    options = parser().parse_args()
    names = ("sequences", "event_types", "labels", "tested", "steps", "minutes", "seed", "parts")
    setup = Setup(**{name: getattr(options, name) for name in names})
    warnings.simplefilter("ignore", EventCargoWarning)
    if options.unit:
        print(json.dumps(run_unit(tuple(options.unit), setup)))
        return
    parts = {unit: part for unit in units(options.limit) if (part := done(unit, setup)) is not None}
    result = {
        **provenance(setup.seed),
        **sizes(setup),
        "limit": options.limit,
        **gathered(parts),
        "criteria": criteria(),
    }
    made = {name: "\n".join(lines) for name, lines in tables(result)}
    show(made, options.docs)
    if options.figures is not None:
        draw(result, options.figures)
    print(f"written to {save('paper', result, options.out)}")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--sequences", type=int, default=20_000, help="of Table 1 and of training")
    made.add_argument("--event-types", type=int, default=2_000)
    made.add_argument("--labels", type=int, default=50)
    made.add_argument("--tested", type=int, default=250, help="unseen sequences for the paper's test")
    made.add_argument("--steps", type=int, default=10_000, help="of training; 0: by --minutes")
    made.add_argument(
        "--minutes", type=float, default=60.0, help="limit; whole runs may take two or three times that"
    )
    made.add_argument("--limit", type=float, default=60.0, help="seconds for each of pyCausalFS")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--parts", type=Path, default=PARTS / "paper")
    made.add_argument("--figures", type=Path, default=None, help="folder for the figures")
    made.add_argument("--docs", type=Path, default=None, help="text whose tables are made anew")
    made.add_argument("--out", type=Path, default=None)
    made.add_argument("--unit", nargs="+", default=None, help="one unit, in this process")
    return made


def units(limit: float) -> list[Unit]:
    """All units; a model is trained by the first that needs it."""
    found: list[Unit] = [("nade", *model) for model in NADES]
    found += [("threshold",), ("picture",)]
    found += [(name, kind) for name in ("cuts", "particles") for kind in KINDS]
    found += [("cargo", "paper"), ("cargo", "default")]
    found += [("baseline", name) for name in OURS]
    return found + [("pycausalfs", name, f"{limit:g}") for name in THEIRS]


def run_unit(unit: Unit, setup: Setup) -> dict[str, Any]:
    """What a unit finds, with its time and memory."""
    began = time.perf_counter()
    found = WORK[unit[0]](setup, *unit[1:])
    seconds = time.perf_counter() - began
    return {"unit_seconds": round(seconds, 1), "gigabytes": round(peak_gigabytes(), 2), "found": found}


def done(unit: Unit, setup: Setup) -> dict[str, Any] | None:
    """The part of a unit, run now where it has left no file yet; None where it failed."""
    path = setup.home / f"{'_'.join(unit)}.json"
    if not path.exists():
        command = [sys.executable, "-m", "benchmarks.paper.run", *sys.argv[1:], "--unit", *unit]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            print(f"{unit} failed: {ran.stderr.strip().splitlines()[-1:]}", flush=True)
            return None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ran.stdout.splitlines()[-1])
        print(f"{' '.join(unit)}: {json.loads(path.read_text())['unit_seconds']:.0f} s", flush=True)
    return dict(json.loads(path.read_text()))


def sizes(setup: Setup) -> dict[str, Any]:
    names = ("sequences", "event_types", "labels", "tested", "steps", "minutes")
    return {name: getattr(setup, name) for name in names}


def gathered(parts: Mapping[Unit, dict[str, Any]]) -> dict[str, Any]:
    """What all units found, in lists by table and figure."""
    found: dict[str, Any] = {name: [] for name in WORK}
    for unit, part in parts.items():
        rows = part["found"]
        found[unit[0]] += rows if isinstance(rows, list) else [{**rows, "gigabytes": part["gigabytes"]}]
    seconds = {" ".join(unit): part["unit_seconds"] for unit, part in parts.items()}
    return {**found, "unit_seconds": seconds}


def criteria() -> list[dict[str, Any]]:
    """Rows of `accuracy/criteria.py` with votes of the paper's test; none where it was not run."""
    path = RESULTS / "criteria.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    return [row for row in rows if row["test"] == "prefix"]


if __name__ == "__main__":
    main()
