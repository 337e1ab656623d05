"""How the cost of a whole run grows with sequences, event types, labels and length.

Simulated fleets of many sizes, one size changed at a time, each run with the default settings by one worker
in a process of its own: processor seconds of every stage and the peak memory so far. Training is divided into
the linear term and the network (its trial, checks and appraisal). A point that needs more than
`--limit` seconds is skipped and named. `growth_model.py` fits the constants of `discovery/estimate.py` to the
points; `--check` runs points that are not in the fit and compares. Run:
`.venv/bin/python -m benchmarks.scale.growth`
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from eventcargo.discovery.config import DiscoverConfig
from eventcargo.discovery.estimate import estimate
from eventcargo.discovery.run_folder import QUALITY
from eventcargo.discovery.stages import Discovery
from eventcargo.events import EventDataset
from eventcargo.simulation import simulate

from benchmarks.memory import Peak
from benchmarks.record import PARTS, provenance, save, show

SEED = 100
BASE = {"sequences": 5_000, "event_types": 1_000, "labels": 10, "length": 50}
AXES = {
    "sequences": (5_000, 15_000, 50_000),
    "event_types": (1_000, 10_000, 29_100, 100_000),
    "labels": (10, 50, 474, 2_000),
    "length": (20, 50, 100, 300, 1_000),
}
AROUND = {"labels": {"event_types": 29_100}}
"""What differs from the base along an axis: many labels need many event types as causes."""
LARGE = {"sequences": (500_000,)}
CORNERS = (
    (15_000, 10_000, 100, 100),
    (2_000, 400, 5, 30),
    (10_000, 29_100, 474, 60),
    (40_000, 5_000, 200, 80),
)
"""Points with several sizes changed at once, for the fit only: they tell products of sizes from sums."""
CHECKS = (
    (10_000, 3_000, 30, 60),
    (20_000, 2_000, 50, 100),
    (3_000, 500, 5, 200),
    (8_000, 5_000, 100, 40),
    (12_000, 2_000, 80, 30),
    (4_000, 12_000, 200, 80),
    (20_000, 29_100, 474, 100),
)
"""Points that are not in the fit; the last three were run after the amounts of the model were chosen."""
STAGES = (
    "linear term",
    "network",
    "extract",
    "fuse",
    "verify",
    "baseline",
    "rules",
    "judge",
    "report",
)
LEAST, STEEP = 0.05, 1.3
"""Seconds below which a stage is not fitted, and the exponent from which growth is more than linear."""

Size = dict[str, int]
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="with 500,000 sequences, too")
    parser.add_argument("--check", action="store_true", help="compare the estimate on points not in the fit")
    parser.add_argument("--limit", type=int, default=400, help="most processor seconds of a point")
    parser.add_argument("--only", default=None, help="measure this size, as JSON, here and print it")
    parser.add_argument("--data", type=Path, default=None, help="with --only: the folder of its data")
    parser.add_argument("--make", action="store_true", help="with --only: simulate the data and do no more")
    parser.add_argument("--figure", type=Path, default=None, help="file of the figure")
    parser.add_argument("--docs", type=Path, default=None, help="text that has places for the tables")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    if options.only and options.make:
        fleet(json.loads(options.only)).save(options.data)
        return
    if options.only:
        resource.setrlimit(resource.RLIMIT_CPU, (options.limit, -1))
        print(json.dumps(measure(json.loads(options.only), options.data)))
        return
    rows = [point(size, options.limit) for size in sizes(options.large)]
    checks = [point(size, options.limit) for size in named(CHECKS)] if options.check else []
    done, skipped = [row for row in rows if "stages" in row], [row for row in rows if "stages" not in row]
    result = {**provenance(SEED), "points": done, "skipped": skipped, "exponents": exponents(done)}
    result |= {"steep": steep(done), "checks": [compared(row) for row in checks if "stages" in row]}
    tables = {"growth": growth_table(done), "growth-exponents": exponent_table(result["exponents"])}
    show(tables | ({"growth-checks": check_table(result["checks"])} if options.check else {}), options.docs)
    print("\n".join([*result["steep"], *(f"skipped: {row['size']}" for row in skipped)]))
    if options.figure:
        draw(done, options.figure)
    print(f"written to {save('growth', result, options.out)}")


def sizes(large: bool = False) -> list[Size]:
    """All points, smallest first along each axis, none twice."""
    found: list[Size] = []
    for axis, values in AXES.items():
        for value in (*values, *(LARGE.get(axis, ()) if large else ())):
            size = {**BASE, **AROUND.get(axis, {}), axis: value}
            if size not in found:
                found.append(size)
    return found + named(CORNERS)


def named(points: Iterable[tuple[int, ...]]) -> list[Size]:
    return [dict(zip(BASE, values, strict=True)) for values in points]


def point(size: Size, limit: int) -> Row:
    """The figures of a point, measured in a process of its own unless they are kept from an earlier run."""
    kept = PARTS / "growth" / ("-".join(str(value) for value in size.values()) + ".json")
    if kept.exists():
        row: Row = json.loads(kept.read_text())
        return row
    command = [sys.executable, "-m", "benchmarks.scale.growth", "--only", json.dumps(size)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        command += ["--limit", str(limit), "--data", f"{folder}/data"]
        subprocess.run([*command, "--make"], check=True, env=environment)
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    if done.returncode == -signal.SIGXCPU:
        print(f"skipped: {size} takes more than {limit} seconds", flush=True)
        return {"size": size, "skipped": f"more than {limit} processor seconds"}
    done.check_returncode()
    row = json.loads(done.stdout.splitlines()[-1])
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(row))
    print(list(size.values()), f"{row['seconds']:.1f} s, {row['peak_gigabytes']:.2f} GB", flush=True)
    return row


def fleet(size: Size) -> EventDataset:
    """A simulated fleet of this size."""
    length = size["length"]
    return simulate(
        "fleet",
        sequences=size["sequences"],
        event_types=size["event_types"],
        labels=size["labels"],
        length_mean=float(length),
        length_sd=0.35 * length,
        length_min=length // 5,
        length_max=2 * length,
        seed=SEED,
    ).data


def settings(size: Size) -> DiscoverConfig:
    return DiscoverConfig(max_time="4h", workers=1, max_length=max(512, 2 * size["length"] + 8))


class Measured(Discovery):
    """A run that records processor seconds, seconds and peak memory of every stage."""

    costs: dict[str, dict[str, float]]
    peak: Peak

    def _stage(self, name: str, work: Callable[[], Any]) -> Any:
        began, worked = time.perf_counter(), time.process_time()
        result = super()._stage(name, work)
        self.costs[name] = {
            "seconds": time.process_time() - worked,
            "wall": time.perf_counter() - began,
            "peak_gigabytes": self.peak.take() / 1024**3,
        }
        return result


def measure(size: Size, folder: Path) -> Row:
    """Processor seconds and peak memory of every stage of a run on saved data, which are mapped into memory.

    They are simulated in another process, whose memory does not count.
    """
    data = EventDataset.load(folder)
    data.fingerprint  # noqa: B018 (computed once; not a part of any stage)
    with tempfile.TemporaryDirectory() as place, Peak() as peak:
        run = Measured(data, Path(place) / "run", settings(size))
        run.costs, run.peak = {}, peak
        run.run()
        training = json.loads((run.folder / QUALITY).read_text())["training"]
    stages = split_training(run.costs, training)
    return {
        "size": size,
        "events": data.n_events,
        "positives": int(data.label_rows.lengths.sum()),
        "types_seen": len(data.event_names),
        "steps": training["steps"],
        "helped": len(training["helped"]),
        "stages": stages,
        "seconds": sum(stage["seconds"] for stage in stages.values()),
        "peak_gigabytes": max(stage["peak_gigabytes"] for stage in stages.values()),
    }


def split_training(costs: dict[str, dict[str, float]], training: Row) -> dict[str, dict[str, float]]:
    """The stages with training as two: the linear term's share of its seconds, and the rest."""
    train = costs.pop("train")
    term = train["seconds"] * training["term_seconds"] / train["wall"]
    parts = {"linear term": term, "network": train["seconds"] - term}
    peak = {"peak_gigabytes": train["peak_gigabytes"]}
    kept = ("seconds", "peak_gigabytes")
    rest = {name: {key: cost[key] for key in kept} for name, cost in costs.items()}
    return {name: {"seconds": seconds, **peak} for name, seconds in parts.items()} | rest


def along(rows: list[Row], axis: str) -> list[Row]:
    """The points of an axis, in order."""
    around = {**BASE, **AROUND.get(axis, {})}
    own = [row for row in rows if all(row["size"][name] == around[name] for name in BASE if name != axis)]
    return sorted(own, key=lambda row: int(row["size"][axis]))


def curve(rows: list[Row], axis: str, stage: str) -> tuple[list[int], list[float]]:
    """Sizes and seconds of a stage along an axis, without those too short to measure."""
    found = [(row["size"][axis], row["stages"][stage]["seconds"]) for row in along(rows, axis)]
    found = [(size, seconds) for size, seconds in found if seconds > LEAST]
    return [size for size, _ in found], [seconds for _, seconds in found]


def exponents(rows: list[Row]) -> dict[str, dict[str, float | None]]:
    """The slope of log seconds on log size, by stage and axis; None with fewer than two points."""
    return {stage: {axis: slope(*curve(rows, axis, stage)) for axis in AXES} for stage in STAGES}


def slope(at: Iterable[float], seconds: Iterable[float]) -> float | None:
    x, y = np.log(list(at)), np.log(list(seconds))
    return None if len(x) < 2 else round(float(np.polyfit(x, y, 1)[0]), 2)


def steep(rows: list[Row]) -> list[str]:
    """Where a stage grows faster than its size: neighbouring points with a slope above `STEEP`."""
    told = []
    for stage in STAGES:
        for axis in AXES:
            at, seconds = curve(rows, axis, stage)
            for low in range(len(at) - 1):
                local = slope(at[low : low + 2], seconds[low : low + 2])
                if local is not None and local > STEEP:
                    told.append(f"{stage}: exponent {local:.1f} from {at[low]:,} to {at[low + 1]:,} {axis}")
    return told


def growth_table(rows: list[Row]) -> str:
    head = ["sequences", "event types", "labels", "length", *STAGES, "all", "peak GB"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    shown = [*(row for axis in AXES for row in along(rows, axis)), *rows]
    for row in [row for at, row in enumerate(shown) if row not in shown[:at]]:
        cells = [f"{value:,}" for value in row["size"].values()]
        cells += [f"{row['stages'][stage]['seconds']:.2g}" for stage in STAGES]
        cells += [f"{row['seconds']:.0f}", f"{row['peak_gigabytes']:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def exponent_table(found: dict[str, dict[str, float | None]]) -> str:
    lines = ["| stage | sequences | event types | labels | length |", "|---|---|---|---|---|"]
    for stage, row in found.items():
        cells = ["" if row[axis] is None else f"{row[axis]:.2f}" for axis in AXES]
        lines.append(f"| {stage} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def compared(row: Row) -> Row:
    """Estimated and measured cost of a point."""
    plan = estimate(fleet(row["size"]), settings(row["size"]))
    return {
        **row,
        "estimated_seconds": plan.seconds,
        "estimated_gigabytes": plan.bytes / 1024**3,
        "estimated_steps": {step.stage: step.seconds for step in plan.steps},
        "ratio_seconds": plan.seconds / row["seconds"],
        "ratio_memory": plan.bytes / 1024**3 / row["peak_gigabytes"],
    }


def check_table(rows: list[Row]) -> str:
    head = ["sequences", "event types", "labels", "length", "seconds", "estimated", "ratio"]
    head += ["GB", "estimated", "ratio"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = [f"{value:,}" for value in row["size"].values()]
        cells += [f"{row['seconds']:.0f}", f"{row['estimated_seconds']:.0f}", f"{row['ratio_seconds']:.2f}"]
        cells += [f"{row['peak_gigabytes']:.2f}", f"{row['estimated_gigabytes']:.2f}"]
        lines.append("| " + " | ".join([*cells, f"{row['ratio_memory']:.2f}"]) + " |")
    return "\n".join(lines)


def draw(rows: list[Row], path: Path) -> None:
    """One panel per size, one line per stage."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(AXES), figsize=(14, 4), sharey=True)
    for panel, axis in zip(axes, AXES, strict=True):
        own = along(rows, axis)
        at = [row["size"][axis] for row in own]
        for stage in STAGES:
            seconds = [row["stages"][stage]["seconds"] for row in own]
            panel.loglog(at, seconds, "o-", ms=4, label=stage)
        panel.set_xticks(at, [f"{value:,}" for value in at])
        panel.set_xticks([], minor=True)
        panel.set_xlabel(axis.replace("_", " "))
        panel.grid(alpha=0.3)
    axes[0].set_ylabel("processor seconds")
    axes[-1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.set_layout_engine("constrained")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
