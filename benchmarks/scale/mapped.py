"""Memory of a worker against the size of the data, work by work: which work can have data larger than memory?

    python -m benchmarks.scale.mapped --docs docs/scale.md

Fleets of growing size are saved, opened as mapped files, and run by one worker process. Mapped files
do not count: the system takes their memory back when others need it. The slope is by how many bytes a worker
grows for each byte of the data; where it is about 0, data may be any number of times larger than memory.
"""

import argparse
import json
import os
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

from benchmarks.record import provenance, save, saved, show

SEED = 100
SEQUENCES = (10_000, 20_000, 40_000, 80_000)
WORKS = ("baseline", "features", "fits", "focused", "cases", "extract", "verify", "rules")


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
    options = parser.parse_args()
    if options.saved:
        show({"mapped": table(saved("mapped")["sizes"])}, options.docs)
        return
    sizes = [measure(n) for n in options.sequences]
    save("mapped", {**provenance(SEED), "sizes": sizes}, options.out)
    show({"mapped": table(sizes)}, options.docs)


def measure(sequences: int) -> dict[str, Any]:
    """What a worker takes in each work of a run on a fleet of this many sequences."""
    with tempfile.TemporaryDirectory() as home:
        fleet = simulate("fleet", sequences=sequences, event_types=2_000, labels=20, seed=SEED).data
        fleet.save(Path(home) / "data")
        del fleet
        data, engine = EventDataset.load(Path(home) / "data"), Watched(Path(home) / "work")
        began = time.monotonic()
        discover(data, Path(home) / "run", DiscoverConfig(max_time="8h", steps=2), engine=engine)
        columns = sum(path.stat().st_size for path in (Path(home) / "data").iterdir())
    row = {"sequences": sequences, "events": data.n_events, "columns": columns, "memory": engine.memory}
    row |= {"opened": engine.opened, "seconds": time.monotonic() - began, "load": os.getloadavg()[0]}
    print(json.dumps(row), flush=True)
    return row


def table(sizes: list[dict[str, Any]]) -> str:
    """Memory by work and size, and its slope."""
    first, last = sizes[0], sizes[-1]
    head = [f"{row['columns'] / 1e6:,.0f} MB of data" for row in sizes]
    lines = [
        f"| memory of a worker, MB | {' | '.join(head)} | bytes for each byte of data |",
        "|---" * (len(sizes) + 2) + "|",
    ]
    for work in WORKS:
        figures = " | ".join(f"{row['memory'].get(work, 0) / 1e6:,.0f}" for row in sizes)
        grown = last["memory"].get(work, 0) - first["memory"].get(work, 0)
        lines.append(f"| {work} | {figures} | {grown / (last['columns'] - first['columns']):.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
