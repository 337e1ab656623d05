"""Kills with -9, TERM and INT at random moments of discover, train, extract and fuse: the same bytes?

    python -m benchmarks.reliability.kills --docs docs/results.md

A run is killed and resumed several times before it may end. Then every file but those that tell the time must
be as after a run that nothing disturbed, and no working folder may be left. Besides, writes are killed at
each of their operations on files.
"""

import argparse
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from eventcargo.files import sweep

from benchmarks.record import provenance, save, saved, show
from tests.reliability.crash_points import WRITES, write
from tests.reliability.programs import QUICK, digest, leftovers, run, start

SIGNALS = {"KILL": signal.SIGKILL, "TERM": signal.SIGTERM, "INT": signal.SIGINT}
KILLS_A_RUN = 8

COMMANDS = {
    "discover": (("discover", "{data}", "--out", "{run}", *QUICK), "--resume"),
    "train": (("train", "{data}", "--out", "{run}", "--size", "tiny", "--steps", "30"), "--resume"),
    "extract": (
        ("extract", "{run}", "{data}", "--test", "prefix", "--shard", "64", "--workers", "1"),
        "--resume",
    ),
    "fuse": (("fuse", "{run}"), ""),
}
"""The commands, and the option that resumes them."""


def prepared(command: str, base: Path, folder: Path) -> None:
    """What a command starts from."""
    if command in ("extract", "fuse"):
        shutil.copytree(base / ("trained" if command == "extract" else "extracted"), folder)


def arguments(command: str, base: Path, folder: Path) -> list[str]:
    names = {"data": base / "data", "run": folder}
    return [part.format(**names) for part in COMMANDS[command][0]]


def undisturbed(base: Path) -> tuple[dict[str, dict[str, str]], dict[str, float]]:
    """The results of every command, and its seconds."""
    results, seconds = {}, {}
    assert run("simulate", "chain", base / "data", "--sequences", "300", "--labels", "2").code == 0
    for command, name in (
        ("discover", "d"),
        ("train", "trained"),
        ("extract", "extracted"),
        ("fuse", "fused"),
    ):
        prepared(command, base, base / name)
        began = time.monotonic()
        done = run(*arguments(command, base, base / name))
        assert done.code == 0, done.stderr
        seconds[command] = time.monotonic() - began
        results[command] = digest(base / name)
    return results, seconds


def killed(command: str, base: Path, folder: Path, seconds: float, rng: np.random.Generator) -> Iterator[str]:
    """Kill a command several times, then let it end; yields the signals."""
    prepared(command, base, folder)
    resume: list[str] = []
    for _ in range(KILLS_A_RUN):
        process = start(*arguments(command, base, folder), *resume)
        time.sleep(rng.uniform(0.3, 1.0) * seconds)
        name = str(rng.choice(list(SIGNALS)))
        if process.poll() is None:
            process.send_signal(SIGNALS[name])
            yield name
        process.communicate()
        if process.returncode == 0:  # it ended before it was killed
            return
        begun = any((folder / one).exists() for one in ("run.json", "linear.safetensors", "edges/plan.json"))
        resume = [COMMANDS[command][1]] if begun and COMMANDS[command][1] else []
    done = run(*arguments(command, base, folder), *resume)
    assert done.code == 0, done.stderr


def crash_points(base: Path) -> dict[str, int]:
    """How many operations on files each write has; it was killed at each and left nothing half-written."""
    points = {}
    for what in WRITES:
        code, point = -9, 0
        while code != 0:
            point += 1
            folder = base / f"{what} {point}"
            folder.mkdir()
            code = write(what, 1, point, folder)
            assert code in (0, -9)
            sweep(folder)
            assert not leftovers(folder)
        points[what] = point - 1
    return points


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--docs", type=Path, default=None, help="text that has a place for the table")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--saved", action="store_true", help="only show the table of the saved result")
    options = parser.parse_args()
    if options.saved:
        show({"kills": table(saved("kills"))}, options.docs)
        return
    rng = np.random.default_rng(options.seed)
    counts, wrong, n_runs = Counter[tuple[str, str]](), list[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        expected, seconds = undisturbed(base)
        while sum(counts.values()) < options.kills:
            command = list(COMMANDS)[sum(n_runs.values()) % len(COMMANDS)]
            folder = base / "run"
            counts.update(
                (command, signal_name) for signal_name in killed(command, base, folder, seconds[command], rng)
            )
            n_runs[command] += 1
            found = digest(folder)
            odd = sorted(
                path
                for path in found.keys() | expected[command].keys()
                if found.get(path) != expected[command].get(path)
            )
            wrong += [f"{command}: {path}" for path in [*odd, *leftovers(folder)]]
            print(f"{sum(counts.values())} kills, {len(wrong)} files differ {wrong[-3:]}", flush=True)
            shutil.rmtree(folder)
        points = crash_points(base)
    kills = {command: {name: counts[command, name] for name in SIGNALS} for command in COMMANDS}
    result = {**provenance(options.seed), "kills": kills, "runs": n_runs, "wrong": wrong, "points": points}
    save("kills", result, options.out)
    show({"kills": table(result)}, options.docs)


def table(result: Mapping[str, Any]) -> str:
    """The kills by command, and the crash points."""
    rows = []
    for command in COMMANDS:
        by = " | ".join(str(result["kills"][command][name]) for name in SIGNALS)
        odd = sum(one.startswith(command) for one in result["wrong"])
        rows.append(f"| {command} | {result['runs'][command]} | {by} | {odd} |")
    head = "| command | runs | killed by -9 | TERM | INT | files that differ |\n|---|---|---|---|---|---|"
    words = ", ".join(f"{what} {n}" for what, n in result["points"].items())
    return "\n".join([head, *rows, "", f"Operations on files at each of which a write was killed: {words}."])


if __name__ == "__main__":
    main()
