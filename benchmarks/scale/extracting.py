"""Time and memory of phase 1 at the paper's size, against the number of sequences.

Takes the model of a run of `training.py --run RUN` and extracts edges by total conditioning from
5,000 to 50,000 sequences, each in a process of its own.
Run: `.venv/bin/python -m benchmarks.scale.extracting RUN`
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from eventcargo import EdgeTable
from eventcargo.models.loading import load_model
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.extract import extract

from benchmarks.record import peak_gigabytes, provenance, save
from benchmarks.scale.training import data_of

SIZES = (5_000, 10_000, 20_000, 50_000)
SEED = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--sequences", type=int, default=100_000, help="that the model was trained on")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--only", type=int, default=0, help="measure this size here and print it")
    parser.add_argument("--data", type=Path, default=None, help="saved data, for --only")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measure(options.run, options.data, options.only)))
        return
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        data_of(SEED, options.sequences)[0][: max(options.sizes)].save(home / "data")
        rows = [apart(options.run, home / "data", size) for size in options.sizes]
    print(f"written to {save('extract_size', {**provenance(SEED), 'rows': rows}, options.out)}")


def apart(run: Path, data: Path, size: int) -> dict[str, Any]:
    """Figures of one size, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale.extracting", str(run)]
    command += ["--only", str(size), "--data", str(data)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    row: dict[str, Any] = json.loads(printed.splitlines()[-1])
    print(row, flush=True)
    return row


def measure(run: Path, folder: Path, size: int) -> dict[str, Any]:
    """Seconds and peak memory of extracting the first sequences of saved data."""
    from eventcargo import EventDataset

    model, data = load_model(run / "model"), EventDataset.load(folder)[:size]
    with tempfile.TemporaryDirectory() as out:
        began = time.perf_counter()
        found = extract(model, data, Path(out) / "edges", ExtractConfig(workers=1))
        seconds = time.perf_counter() - began
        peak = peak_gigabytes()
        edges = len(EdgeTable.read(found.folder).edges)
    return {
        "sequences": size,
        "seconds": seconds,
        "milliseconds_a_sequence": 1000 * seconds / size,
        "peak_gigabytes": peak,
        "edges": edges,
    }


if __name__ == "__main__":
    main()
