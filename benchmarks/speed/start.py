"""How long the program takes to start: help, usage errors, imports, and the explanation of one sequence.

Each case is a process of its own. All cases take turns, so that whatever else the machine does hits all of
them; given are medians over rounds of wall and processor time, Python's own start included. The explanation
is of a sequence of a small run that the script trains first. `--source` measures another checkout of the
package, to compare with.
Run: `python -m benchmarks.speed.start [--rounds 7] [--source OTHER/src]`.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import eventcargo
from eventcargo.cli import COMMANDS

from benchmarks.record import provenance, save

SEED = 100
PROGRAM = "from eventcargo.cli import main; main()"

Times = tuple[float, float]


def cases(run: Path) -> dict[str, list[str]]:
    """The arguments of Python for every case; `run` is the folder of a run to explain."""
    helps = {f"{name} --help": [name, "--help"] for name in COMMANDS}
    commands = {
        "--version": ["--version"],
        "--help": ["--help"],
        **helps,
        "simulate fleet --help": ["simulate", "fleet", "--help"],
        "unknown option": ["discover", "events.csv", "--out", "run", "--presett", "fast"],
        "bad setting": ["discover", "events.csv", "--out", "run", "--max-time", "soon"],
        "missing file": ["discover", "events.csv", "--out", "run"],
        "explain": ["explain", str(run), "--sequence", "S000001"],
    }
    imports = ("import eventcargo", "from eventcargo import Cargo", "import torch")
    return {name: ["-c", PROGRAM, *command] for name, command in commands.items()} | {
        statement: ["-c", statement] for statement in imports
    }


def measure(arguments: list[str], folder: Path, source: Path) -> Times:
    """Wall and processor seconds of one process."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, _, used = os.wait4(process.pid, 0)
    return time.perf_counter() - began, used.ru_utime + used.ru_stime


def make_run(folder: Path, source: Path) -> Path:
    """A small run with a model and its data."""
    data, run = folder / "data", folder / "run"
    tables = [str(data / "events.parquet"), "--labels", str(data / "labels.parquet")]
    quick = ["--size", "tiny", "--steps", "3", "--checks", "1"]
    measure(
        ["-c", PROGRAM, "simulate", "chain", str(data), "--sequences", "400", "--seed", str(SEED)],
        folder,
        source,
    )
    measure(["-c", PROGRAM, "train", *tables, "--out", str(run), *quick], folder, source)
    assert (run / "model" / "model.safetensors").exists()
    return run


def commit_of(source: Path) -> str:
    """The commit of a checkout."""
    command = ["git", "-C", str(source), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--source", type=Path, default=Path(eventcargo.__file__).parents[1])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    source = options.source.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        every = cases(make_run(folder, source))
        times: dict[str, list[Times]] = {case: [] for case in every}
        for number in range(options.rounds + 1):
            for case, arguments in every.items():
                taken = measure(arguments, folder, source)
                if number:  # the first round fills the caches of files
                    times[case].append(taken)
    medians = {
        case: {
            "wall": round(statistics.median(wall for wall, _ in taken), 3),
            "processor": round(statistics.median(processor for _, processor in taken), 3),
        }
        for case, taken in times.items()
    }
    for case, median in medians.items():
        print(f"{case:32} {median['wall']:6.2f} s wall {median['processor']:6.2f} s processor")
    about = {**provenance(SEED), "commit": commit_of(source), "rounds": options.rounds}
    print(save("start", {**about, "seconds": medians}, options.out))


if __name__ == "__main__":
    main()
