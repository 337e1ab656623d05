"""Memory against the size of the data, work by work: which work can have data larger than memory?

    python -m benchmarks.scale.mapped --docs docs/scale.md

Fleets of growing size are saved, opened as mapped files, and run by one worker process. Mapped files
do not count: the system takes their memory back when others need it. The slope is by how many bytes a worker,
or the driver in a stage, grows for each byte of the data; where it is about 0, data may be any number of
times larger than memory.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eventcargo.discovery import DiscoverConfig, discover
from eventcargo.engines import Local, Work
from eventcargo.events import EventDataset
from eventcargo.memory import children, private_bytes
from eventcargo.simulation import simulate

from benchmarks.memory import Peak
from benchmarks.record import provenance, save, saved, show

SEED = 100
SEQUENCES = (10_000, 20_000, 40_000, 80_000)
WORKS = ("baseline", "features", "fits", "focused", "cases", "extract", "verify", "rules")
STAGES = ("baseline", "train", "extract", "fuse", "verify", "rules", "judge", "report")


class Watched(Local):
    """One worker, whose largest memory in each work is noted, and the bytes of the files that it opened."""

    def __init__(self, folder: Path) -> None:
        super().__init__(1, folder)
        self.memory, self.opened = dict[str, float](), dict[str, float]()

    def run(self, work: Work[Any], units: Sequence[int]) -> Iterator[int]:
        self.close()
        name, is_over = work.folder.name, threading.Event()
        watcher = threading.Thread(target=self._watch, args=(name, is_over))
        watcher.start()
        try:
            yield from self._run_apart(work, deque(work.missing(units)), 1)
        finally:
            is_over.set()
            watcher.join()
        inputs = work.folder / "inputs"
        self.opened[name] = sum(path.stat().st_size for path in inputs.rglob("*") if path.is_file())

    def _watch(self, name: str, is_over: threading.Event) -> None:
        while not is_over.wait(0.02):
            most = max(map(private_bytes, children()), default=0.0)
            self.memory[name] = max(self.memory.get(name, 0.0), most)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, nargs="*", default=SEQUENCES)
    parser.add_argument("--docs", type=Path, default=None, help="text that has a place for the table")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--saved", action="store_true", help="only show the table of the saved result")
    parser.add_argument("--make", type=Path, default=None, help="only make the data, in this folder")
    parser.add_argument(
        "--run", type=Path, default=None, help="only measure a run on the data of this folder"
    )
    options = parser.parse_args()
    if options.make:
        fleet = simulate("fleet", sequences=options.sequences[0], event_types=2_000, labels=20, seed=SEED)
        fleet.data.save(options.make / "data")
        return
    if options.run:
        print(json.dumps(run(options.run)))
        return
    if options.saved:
        show({"mapped": table(saved("mapped")["sizes"])}, options.docs)
        return
    sizes = [measure(n) for n in options.sequences]
    save("mapped", {**provenance(SEED), "sizes": sizes}, options.out)
    show({"mapped": table(sizes)}, options.docs)


def measure(sequences: int) -> dict[str, Any]:
    """What a worker takes in each work of a run on a fleet of this many sequences."""
    with tempfile.TemporaryDirectory() as home:
        make = [
            sys.executable,
            "-m",
            "benchmarks.scale.mapped",
            "--make",
            home,
            "--sequences",
            str(sequences),
        ]
        subprocess.run(make, check=True)  # elsewhere, so that no memory of it is left here
        measured = [*make[:3], "--run", home]
        row = json.loads(subprocess.run(measured, check=True, capture_output=True, text=True).stdout)
    print(json.dumps(row), flush=True)
    return {"sequences": sequences, **row}


def run(home: Path) -> dict[str, Any]:
    """What a worker and the driver take in a run on the data of a folder."""
    data, engine, began = EventDataset.load(home / "data"), Watched(home / "work"), time.monotonic()
    driver = dict[str, float]()

    def note(stage: str, _done: float, _total: float, message: str = "", /) -> None:
        if message == "done" and stage in STAGES:
            driver[stage] = peak.take()

    with Peak() as peak:
        config = DiscoverConfig(max_time="8h", steps=2)
        discover(data, home / "run", config, engine=engine, progress=note)
    columns = sum(path.stat().st_size for path in (home / "data").iterdir())
    row = {"events": data.n_events, "columns": columns, "memory": engine.memory, "driver": driver}
    return row | {"opened": engine.opened, "seconds": time.monotonic() - began, "load": os.getloadavg()[0]}


def table(sizes: list[dict[str, Any]]) -> str:
    """Memory by work, stage and size, and its slope."""
    first, last = sizes[0], sizes[-1]
    head = [f"{row['columns'] / 1e6:,.0f} MB of data" for row in sizes]
    lines = [
        f"| memory, MB | {' | '.join(head)} | bytes for each byte of data |",
        "|---" * (len(sizes) + 2) + "|",
    ]
    every = [
        *(("memory", "worker", work) for work in WORKS),
        *(("driver", "driver", stage) for stage in STAGES),
    ]
    for who, words, name in every:
        figures = " | ".join(f"{row[who][name] / 1e6:,.0f}" if name in row[who] else "" for row in sizes)
        slope = ""
        if name in first[who] and name in last[who]:
            grown = last[who][name] - first[who][name]
            slope = f"{grown / (last['columns'] - first['columns']):.2f}"
        lines.append(f"| {words}, {name} | {figures} | {slope} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
