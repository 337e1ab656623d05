"""The cost of a run on many machines: a model of every stage, fitted here, and what it says for a large run.

Fleets of several sizes are run by one process that measures every unit of work: processor seconds in units
(which any number of workers share) and in the driver (which nobody shares), bytes of the inputs that each
worker opens, bytes of finished units. Each is a sum of amounts (events, labels, pairs of them ...) with
constants that are not negative, as in `growth_model.py`. The model is checked on a run with ten times the
sequences of any in the fit. Run: `.venv/bin/python -m benchmarks.scale.cluster --docs docs/scale.md`
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from eventcargo.discovery.estimate import amounts, weigh
from eventcargo.discovery.stages import Discovery
from eventcargo.engines import Local, Work
from eventcargo.events import EventDataset

from benchmarks.memory import Peak
from benchmarks.record import PARTS, provenance, save, show
from benchmarks.scale.growth import SEED, Size, fleet, settings

POINTS = (
    (1_000, 1_000, 10, 50),
    (3_000, 1_000, 10, 50),
    (10_000, 1_000, 10, 50),
    (5_000, 10_000, 10, 50),
    (5_000, 10_000, 100, 50),
    (5_000, 1_000, 10, 20),
    (5_000, 1_000, 10, 200),
    (10_000, 5_000, 50, 50),
    (2_000, 400, 5, 30),
)
CHECK = (100_000, 5_000, 50, 50)
"""Ten times the sequences of the largest point."""

LARGE = {"sequences": 100_000_000, "event_types": 100_000, "labels": 2_000, "length": 100}
NODES, CORES = 100, 32
POSITIVES_A_SEQUENCE = 0.65
"""As in the fleets here."""

STAGE_OF = {
    "baseline": "baseline",
    "features": "train",
    "fits": "train",
    "focused": "train",
    "cases": "extract",
    "extract": "extract",
    "verify": "verify",
    "rules": "rules",
}
"""The stage that each work belongs to."""

STAGES = ("baseline", "train", "extract", "fuse", "verify", "rules", "judge", "report")
BY_SEQUENCE = ("cases", "extract")
"""Works whose units each read their own sequences; those of others read all, once a node."""

OF_LABELS = ("label", "label_root", "positive", "label_sequence", "label_type")
MOST_SURVEYED = 40_000
"""Focused networks and the appraisal look at no more sequences (`focused/fit.py`, `appraisal.py`)."""

OF_SURVEY = tuple("label_survey" if name == "label_sequence" else name for name in OF_LABELS)
SECONDS = ("event", "label_event", *OF_LABELS)
BYTES = ("run", "event", "event_type", *OF_LABELS)
IN_DRIVER = {"train": ("run", "event_survey", "event_type", "held_event", "held_square", *OF_SURVEY)}
IN_UNITS = {"focused": ("run", "event_type", "label", "label_survey", "label_type")}
IN_MEMORY = ("run", "kept_event", "sequence", "event_type", "label", "label_survey", "label_type")
ROUNDS, LEAST = 20, {"seconds": 0.1, "bytes": 1e5}

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=None, help="measure this size, as JSON, and print it")
    parser.add_argument("--docs", type=Path, default=None, help="text that has places for the tables")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measure(json.loads(options.only))))
        return
    rows, check = [point(named(size)) for size in POINTS], point(named(CHECK))
    model = fitted(rows)
    checked, large = compared(model, check), projected(model)
    tables = {
        "cost-model": model_table(model),
        "cost-check": check_table(checked),
        "large-run": large_table(large),
    }
    show(tables, options.docs)
    result = {**provenance(SEED), "points": rows, "model": model, "check": checked, "large": large}
    print(f"written to {save('cluster', result, options.out)}")


def named(size: Sequence[int]) -> Size:
    return dict(zip(("sequences", "event_types", "labels", "length"), size, strict=True))


def point(size: Size) -> Row:
    """A size measured in a process of its own, or kept from an earlier run."""
    kept = PARTS / "cluster" / ("-".join(map(str, size.values())) + ".json")
    if not kept.exists():
        command = [sys.executable, "-m", "benchmarks.scale.cluster", "--only", json.dumps(size)]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(done.stdout.splitlines()[-1])
        print(list(size.values()), "measured", flush=True)
    row: Row = json.loads(kept.read_text())
    return {**row, "amounts": capped(row["amounts"], size)}


def capped(amount: dict[str, float], size: Size) -> dict[str, float]:
    """Amounts with those of what is surveyed, which stop growing."""
    surveyed = min(size["sequences"], MOST_SURVEYED)
    events = amount["event"] * surveyed / size["sequences"]
    return {**amount, "label_survey": size["labels"] * surveyed, "event_survey": events}


class Units(Local):
    """One process that measures every work."""

    def __init__(self) -> None:
        super().__init__(1)
        self.works = dict[str, dict[str, float]]()

    def run(self, work: Work[Any], units: Sequence[int]) -> Iterator[int]:
        own = self.works.setdefault(work.folder.name, dict.fromkeys(FIGURES, 0.0))
        began = time.process_time()
        work.share()
        own["sharing"] += time.process_time() - began
        assert self.folder is not None
        own["inputs"] = max(own["inputs"], float(size_of(work.folder / "inputs")))
        for unit in work.missing(units):
            began = time.process_time()
            work(unit)
            taken = time.process_time() - began
            own["seconds"] += taken
            own["longest"] = max(own["longest"], taken)
            own["units"] += 1
            own["outputs"] += size_of(work.path(unit))
            yield unit


FIGURES = ("units", "seconds", "longest", "sharing", "inputs", "outputs")


def size_of(path: Path) -> int:
    return sum(one.stat().st_size for one in (path.rglob("*") if path.is_dir() else [path]) if one.is_file())


class Measured(Discovery):
    """A run that records the processor seconds of every stage."""

    costs: dict[str, float]

    def _stage(self, name: str, work: Callable[[], Any]) -> Any:
        began = time.process_time()
        result = super()._stage(name, work)
        self.costs[name] = time.process_time() - began
        return result


def _apart(work: Callable[..., None], *arguments: Any) -> None:
    """Do something in a process of its own, so that no memory of it is left here."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == 0


def _save(size: Size, folder: str) -> None:
    fleet(size).save(folder)


def measure(size: Size) -> Row:
    with tempfile.TemporaryDirectory() as home, Peak() as peak:
        _apart(_save, size, f"{home}/data")
        data, engine = EventDataset.load(f"{home}/data"), Units()
        data.fingerprint  # noqa: B018 (computed once; not a part of any stage)
        run = Measured(data, f"{home}/run", settings(size), engine=engine)
        run.costs = {}
        peak.take()
        run.run()
        gigabytes = peak.take() / 1e9
        saved, kept = size_of(Path(f"{home}/data")), size_of(Path(f"{home}/run"))
    driver = dict(run.costs)
    for name, own in engine.works.items():
        driver[STAGE_OF[name]] -= own["seconds"] + own["sharing"]
    return {
        "size": size,
        "amounts": amounts(
            size["sequences"],
            len(data.event_names),
            size["labels"],
            data.n_events,
            int(data.label_rows.lengths.sum()),
            settings(size).max_length,
        ),
        "works": engine.works,
        "driver": {stage: max(seconds, 0.0) for stage, seconds in driver.items()},
        "data_bytes": saved,
        "run_bytes": kept,
        "peak_gigabytes": gigabytes,
    }


def fitted(rows: Sequence[Row]) -> Row:
    """Constants of processor seconds in units and in the driver, and of bytes."""
    works = {
        name: {
            what: fit(
                rows,
                IN_UNITS.get(name, SECONDS if what == "seconds" else BYTES),
                [row["works"][name][what] for row in rows],
                LEAST["seconds" if what == "seconds" else "bytes"],
            )
            for what in ("seconds", "inputs", "outputs")
        }
        for name in STAGE_OF
        if all(name in row["works"] for row in rows)
    }
    driver = {
        stage: fit(
            rows,
            IN_DRIVER.get(stage, ("run", "event", *OF_LABELS)),
            [row["driver"][stage] for row in rows],
            LEAST["seconds"],
        )
        for stage in STAGES
    }
    disk = {
        name: fit(rows, BYTES, [row[name] for row in rows], LEAST["bytes"])
        for name in ("data_bytes", "run_bytes")
    }
    memory = fit(rows, IN_MEMORY, [row["peak_gigabytes"] for row in rows], 0.1)
    return {"works": works, "driver": driver, "disk": disk, "memory": memory}


def fit(rows: Sequence[Row], terms: Sequence[str], costs: Sequence[float], least: float) -> dict[str, float]:
    """Constants with the least relative error, as in `growth_model.fit`."""
    matrix = np.array([[row["amounts"][name] for name in terms] for row in rows])
    scale, guess, found = matrix.max(axis=0), np.array(costs), np.zeros(len(terms))
    for _ in range(ROUNDS):
        weight = 1 / np.sqrt(np.maximum(costs, least) * np.maximum(guess, least))
        found = nnls(matrix / scale * weight[:, None], np.array(costs) * weight)[0] / scale
        guess = matrix @ found
    return {name: float(f"{each:.3g}") for name, each in zip(terms, found, strict=True) if each > 0}


def compared(model: Row, row: Row) -> list[Row]:
    """What the model says of a run that is not in the fit, beside what was measured."""
    amount, told = row["amounts"], []
    for name, own in model["works"].items():
        for what, unit in (("seconds", "s"), ("inputs", "MB"), ("outputs", "MB")):
            scale = 1.0 if unit == "s" else 1e-6
            told.append(
                pair(
                    f"{name}, {what}",
                    unit,
                    row["works"][name][what] * scale,
                    weigh(own[what], amount) * scale,
                )
            )
    for stage, terms in model["driver"].items():
        told.append(pair(f"{stage}, in the driver", "s", row["driver"][stage], weigh(terms, amount)))
    for name, terms in model["disk"].items():
        told.append(pair(name.replace("_", ", "), "MB", row[name] / 1e6, weigh(terms, amount) / 1e6))
    told.append(pair("memory of the driver", "GB", row["peak_gigabytes"], weigh(model["memory"], amount)))
    return told


def pair(what: str, unit: str, measured: float, estimated: float) -> Row:
    ratio = estimated / measured if measured else float("nan")
    return {"what": what, "unit": unit, "measured": measured, "estimated": estimated, "ratio": ratio}


def projected(model: Row) -> Row:
    """Hours and terabytes of the large run."""
    n, length = LARGE["sequences"], LARGE["length"]
    positives = int(POSITIVES_A_SEQUENCE * n)
    amount = capped(amounts(n, LARGE["event_types"], LARGE["labels"], n * length, positives, 512), LARGE)
    workers, rows, data = NODES * CORES, [], weigh(model["disk"]["data_bytes"], amount)
    for name, own in model["works"].items():
        units = units_of(name)
        seconds, inputs = weigh(own["seconds"], amount), weigh(own["inputs"], amount)
        opening = min(NODES, units)
        reading = data * (1 if name in BY_SEQUENCE else opening) if name != "fits" else 0.0
        rows.append(
            {
                "work": name,
                "units": units,
                "processor_hours": seconds / 3600,
                "hours": seconds / 3600 / min(workers, units),
                "inputs_terabytes": inputs / 1e12,
                "outputs_terabytes": weigh(own["outputs"], amount) / 1e12,
                "network_terabytes": (inputs * opening + reading) / 1e12,
            }
        )
    driver = {stage: weigh(terms, amount) / 3600 for stage, terms in model["driver"].items()}
    return {
        "size": LARGE,
        "workers": workers,
        "works": rows,
        "driver_hours": driver,
        "data_terabytes": weigh(model["disk"]["data_bytes"], amount) / 1e12,
        "run_terabytes": weigh(model["disk"]["run_bytes"], amount) / 1e12,
        "driver_gigabytes_of_memory": weigh(model["memory"], amount),
    }


def units_of(name: str) -> int:
    """How many units a work of the large run has."""
    n, labels = LARGE["sequences"], LARGE["labels"]
    return {"features": 7, "cases": n // 16_384, "extract": n // 2_048, "fits": labels, "rules": labels}.get(
        name, -(-labels // 8)
    )


def model_table(model: Row) -> str:
    lines = [
        "| work | processor seconds in units | bytes that a worker opens | bytes written |",
        "|---|---|---|---|",
    ]
    for name, own in model["works"].items():
        cells = [formula(own[what]) for what in ("seconds", "inputs", "outputs")]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", "| stage | processor seconds in the driver |", "|---|---|"]
    lines += [f"| {stage} | {formula(terms)} |" for stage, terms in model["driver"].items()]
    lines += ["", "| | |", "|---|---|"]
    lines += [
        f"| {name.replace('_bytes', '')}, bytes on disk | {formula(terms)} |"
        for name, terms in model["disk"].items()
    ]
    lines.append(f"| memory of the driver, GB | {formula(model['memory'])} |")
    return "\n".join(lines)


def formula(terms: dict[str, float]) -> str:
    letters = {
        "run": "",
        "event": " E",
        "event_type": " V",
        "label": " K",
        "positive": " P",
        "label_root": " sqrt(K P)",
        "label_sequence": " K N",
        "label_event": " K E",
        "label_type": " K V",
        "label_survey": " K N'",
        "event_survey": " E''",
        "kept_event": " E'",
        "sequence": " N",
        "held_event": " H",
        "held_square": " H2",
    }
    return " + ".join(f"{each:.2g}{letters[name]}" for name, each in terms.items()) or "0"


def check_table(rows: Sequence[Row]) -> str:
    lines = ["| what | measured | model | ratio |", "|---|---|---|---|"]
    for row in rows:
        unit, ratio = row["unit"], row["ratio"]
        if row["measured"] >= (1.0 if unit in ("s", "MB") else 0.0):
            figures = f"{row['measured']:.3g} {unit} | {row['estimated']:.3g} {unit} | {ratio:.2f}"
            lines.append(f"| {row['what']} | {figures} |")
    return "\n".join(lines)


def large_table(large: Row) -> str:
    head = [
        "work",
        "units",
        "processor hours",
        "hours",
        "opened by a worker, TB",
        "written, TB",
        "network, TB",
    ]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in large["works"]:
        figures = ("processor_hours", "hours", "inputs_terabytes", "outputs_terabytes", "network_terabytes")
        cells = [f"{row[figure]:.2g}" for figure in figures]
        lines.append(f"| {row['work']} | {row['units']:,} | " + " | ".join(cells) + " |")
    lines += ["", "| stage | hours in the driver |", "|---|---|"]
    lines += [f"| {stage} | {hours:.2g} |" for stage, hours in large["driver_hours"].items()]
    lines += ["", "| | |", "|---|---|"]
    for name in ("data_terabytes", "run_terabytes", "driver_gigabytes_of_memory"):
        lines.append(f"| {name.replace('_', ' ')} | {large[name]:.2g} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
