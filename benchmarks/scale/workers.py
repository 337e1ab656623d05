"""What a second worker brings, and what the driver pays for more units.

Phase 1 (a Transformer, the prefix test) and the fits of the linear term, each by one and by two processes,
taking turns: seconds, and processor seconds of the workers, start and opening of the inputs included. On a
machine where others work, seconds say little; `by processor time` is what two workers would bring on two free
cores: the processor seconds of one worker over those of the busier of two. Then the driver: bytes sent per
unit and its peak memory, against the number of units. Run:
`.venv/bin/python -m benchmarks.scale.workers [--ray]`; with `--ray` as `reliability/engines.py`.
"""

import argparse
import json
import os
import pickle
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from eventcargo import Vocabulary, simulate
from eventcargo.deadline import NEVER
from eventcargo.engines import Engine, Local, Work
from eventcargo.models.linear.fit import LinearConfig, fit_linear
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.training.trainer import train
from eventcargo.models.transformer.config import transformer_size
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.extract import extract

from benchmarks.record import peak_gigabytes, provenance, save, saved, show
from benchmarks.scale.nothing import Nothing

SEED, TURNS = 100, 3
UNITS = (100, 1_000, 10_000)


class Apart(Local):
    """As many processes as asked for, also if that is one, with what each of the works of a run took."""

    def __init__(self, workers: int, folder: Path) -> None:
        super().__init__(workers, folder)
        self.seconds = dict[str, float]()
        self.processor = dict[str, list[float]]()

    def run(self, work: Work[Any], units: Sequence[int]) -> Iterator[int]:
        self.close()
        began, left = time.monotonic(), deque(work.missing(units))
        yield from self._run_apart(work, left, self.workers)
        name = work.folder.name
        self.seconds[name] = time.monotonic() - began
        self.processor[name] = [processor_seconds(worker._process.pid) for worker in self._idle]


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ray", action="store_true", help="the driver of a Ray cluster, too")
    parser.add_argument("--only-driver", action="store_true", help="keep the saved speed-up of two workers")
    parser.add_argument("--saved", action="store_true", help="only show the tables of the saved result")
    parser.add_argument("--driver", nargs=2, default=None, help="ENGINE UNITS: measure the driver and print")
    parser.add_argument("--docs", type=Path, default=None, help="text that has places for the tables")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    if options.driver:
        print(json.dumps(driver(options.driver[0], int(options.driver[1]))))
        return
    if options.saved:
        show(tables(saved("workers")), options.docs)
        return
    result = {**provenance(SEED), "load": os.getloadavg()}
    engines = ["local", "ray"] if options.ray else ["local"]
    result["driver"] = [apart(engine, units) for engine in engines for units in UNITS]
    if options.only_driver:  # the figures of seconds were measured when the machine was quiet
        before = saved("workers")
        result["efficiency"] = before["efficiency"]
        result["efficiency_measured"] = before.get("efficiency_measured") or {
            name: before[name] for name in ("commit", "time", "load")
        }
    else:
        with tempfile.TemporaryDirectory() as home:
            result["efficiency"] = [
                efficiency(name, work, make(Path(home)), options.turns)
                for name, work, make in (("phase 1", "extract", phase_1), ("label fits", "fits", fits))
            ]
    show(tables(result), options.docs)
    print(f"written to {save('workers', result, options.out)}")


def tables(result: dict[str, Any]) -> dict[str, str]:
    return {"efficiency": efficiency_table(result["efficiency"]), "driver": driver_table(result["driver"])}


def efficiency_table(rows: list[dict[str, Any]]) -> str:
    head = "| work | speed-up | by processor time | processor seconds of one, of two | load |"
    lines = [head, "|---|---|---|---|---|"]
    for row in rows:
        one, two = row["turns"][0]["processor_seconds"]
        seconds = f"{one[0]:.1f}, {' and '.join(f'{each:.1f}' for each in two)}"
        figures = f"{row['speedup']:.2f} | {row['by_processor_time']:.2f} | {seconds}"
        lines.append(f"| {row['work']} | {figures} | {row['turns'][0]['load']:.0f} |")
    return "\n".join(lines)


def driver_table(rows: list[dict[str, Any]]) -> str:
    head = "| engine | units | bytes sent per unit | memory of the driver, MB | grown by, MB | ms per unit |"
    lines = [head, "|---|---|---|---|---|---|"]
    for row in rows:
        memory = f"{row['driver_megabytes']:.0f} | {row['growth_megabytes']:.1f}"
        cells = f"{row['units']:,} | {row['bytes_a_unit']} | {memory} | {row['milliseconds_a_unit']:.1f}"
        lines.append(f"| {row['engine']} | {cells} |")
    return "\n".join(lines)


def phase_1(home: Path) -> Callable[[Engine], None]:
    """Phase 1 with a small Transformer that was hardly trained: its time does not depend on that."""
    data = simulate("fleet", sequences=32_768, event_types=2_000, labels=20, seed=SEED).data
    shape = transformer_size("small", linear=False, focused=False)
    model = train(data, TrainConfig(steps=2, checks=1, max_time="1h"), shape)
    config, made = ExtractConfig(test="prefix", shard=256, particles=64, absent=0.0), iter(range(1_000))
    return lambda engine: extract(model, data, home / f"edges-{next(made)}", config, engine=engine) and None


def fits(_: Path) -> Callable[[Engine], None]:
    """Label fits that take longer than it takes workers to start, as those of large data do."""
    data = simulate("fleet", sequences=20_000, event_types=5_000, labels=300, seed=SEED).data
    vocabulary = Vocabulary.from_dataset(data)
    return lambda engine: (
        fit_linear(data, vocabulary, 512, LinearConfig(), deadline=NEVER, engine=engine) and None
    )


def efficiency(name: str, work: str, run: Callable[[Engine], None], turns: int) -> dict[str, Any]:
    """Seconds of a work by one worker over those by two, in turns."""
    rows = []
    for _ in range(turns):
        taken: dict[int, Apart] = {}
        for workers in (1, 2):
            with tempfile.TemporaryDirectory() as folder, Apart(workers, Path(folder)) as engine:
                run(engine)
                taken[workers] = engine
        one, two = taken[1], taken[2]
        rows.append(
            {
                "seconds": [one.seconds[work], two.seconds[work]],
                "processor_seconds": [one.processor[work], two.processor[work]],
                "speedup": one.seconds[work] / two.seconds[work],
                "by_processor_time": one.processor[work][0] / max(two.processor[work]),
                "load": os.getloadavg()[0],
            }
        )
        print(name, json.dumps(rows[-1]), flush=True)
    middle = {each: statistics.median(row[each] for row in rows) for each in ("speedup", "by_processor_time")}
    return {"work": name, **middle, "turns": rows}


def apart(engine: str, units: int) -> dict[str, Any]:
    """The driver's figures for this many units, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale.workers", "--driver", engine, str(units)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(row), flush=True)
    return row


def driver(name: str, units: int) -> dict[str, Any]:
    """Bytes sent per unit, and how much the driver's memory grows while the units are done."""
    home, nodes, short = Path(tempfile.mkdtemp()), None, ""
    if name == "ray":
        from eventcargo.engines.ray import Ray

        from tests.engines.on_ray import Nodes

        short = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
        nodes = Nodes(short)
        nodes.grow(2)
        engine: Engine = Ray(nodes.cluster.address, home)
    else:
        engine = Local(2, home)
    work = Nothing(home)
    with engine, work.held(None):
        list(engine.run(work, range(10)))
        before, began = peak_gigabytes(), time.monotonic()
        list(engine.run(work, range(units)))
        seconds, after = time.monotonic() - began, peak_gigabytes()
    if nodes is not None:
        nodes.cluster.shutdown()
        shutil.rmtree(short, ignore_errors=True)
    shutil.rmtree(home)
    return {
        "engine": name,
        "units": units,
        "bytes_a_unit": len(pickle.dumps((work, units))),
        "driver_megabytes": after * 1024,
        "growth_megabytes": (after - before) * 1024,
        "milliseconds_a_unit": 1000 * seconds / units,
    }


if __name__ == "__main__":
    main()
