"""A whole run on data several times as large as the memory that the system grants it.

    python -m benchmarks.scale.beyond --docs docs/scale.md

A group of processes gets a limit of memory, in which files that are read and written count: the system takes
their memory back, and kills a process that needs more. One process does all stages of `discover` in it.
Making groups needs root.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from eventcargo.io import write_graph
from eventcargo.simulation import simulate

from benchmarks.record import provenance, save, saved, show
from tests.reliability import programs
from tests.reliability.little_memory import memory_group

SEED, LENGTH, LABELS = 100, 500, 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=500_000)
    parser.add_argument("--memory", type=int, default=1_200, help="limit in MB")
    parser.add_argument("--docs", type=Path, default=None, help="text that has a place for the table")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--saved", action="store_true", help="only show the table of the saved result")
    options = parser.parse_args()
    if not options.saved:
        result = measure(options.sequences, options.memory * 1_000_000)
        save("beyond", {**provenance(SEED), **result}, options.out)
    show({"beyond": table(saved("beyond") if options.saved else result)}, options.docs)


def measure(sequences: int, limit: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as home:
        data, run, truth = (Path(home) / name for name in ("data", "run", "truth.parquet"))
        lengths = {"length_mean": LENGTH, "length_sd": LENGTH / 3, "length_max": 2 * LENGTH}
        made = simulate("fleet", sequences=sequences, event_types=2_000, labels=LABELS, seed=SEED, **lengths)
        made.data.save(data)
        write_graph(made.truth, truth)
        n_events = made.data.n_events
        del made
        forget(data)
        size, began = sum(path.stat().st_size for path in data.iterdir()), time.monotonic()
        with memory_group(limit) as group:
            done = programs.run(
                *("discover", data, "--out", run, "--truth", truth, "--workers", "1"),
                *("--max-length", "64", "--max-time", "5h"),
                before=group.before,
                patience=5 * 3600,
            )
            peak = group.peak
        print(done.stderr[-2000:], flush=True)
        assert done.code == 0, (done.code, sorted(path.name for path in run.iterdir()))
        f1 = json.loads((run / "scores.json").read_text())["macro"]["f1"]
        stages = json.loads((run / "run.json").read_text())["seconds"]
    return {
        "sequences": sequences,
        "events": n_events,
        "bytes": size,
        "limit": limit,
        "peak": peak,
        "seconds": time.monotonic() - began,
        "stages": stages,
        "f1": f1,
    }


def forget(folder: Path) -> None:
    """Let the system drop what it keeps of files in memory: whoever reads them next has to pay for it."""
    os.sync()
    for path in folder.iterdir():
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def table(result: dict[str, Any]) -> str:
    rows = {
        "sequences": f"{result['sequences']:,}",
        "events": f"{result['events'] / 1e6:,.0f} million",
        "data, MB": f"{result['bytes'] / 1e6:,.0f}",
        "limit of memory, MB": f"{result['limit'] / 1e6:,.0f}",
        "most memory, with files, MB": f"{result['peak'] / 1e6:,.0f}",
        "minutes": f"{result['seconds'] / 60:.0f}",
        "F1 of the boundaries": f"{result['f1']:.2f}",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())])


if __name__ == "__main__":
    main()
