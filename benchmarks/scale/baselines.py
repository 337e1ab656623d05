"""Every baseline at the paper's size: 50,000 sequences, 29,100 event types, 474 labels of `fleet`.

The paper reports that none of its five classical algorithms finished in three days. Each method runs in a
process of its own, so that its peak memory is its own; one that does not finish in `--limit` minutes is
stopped and the labels it had done are reported.
Run: `.venv/bin/python -m benchmarks.scale.baselines [--methods iamb,cmb] [--limit 30]`
"""

import argparse
import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import Any

from eventcargo.baselines import METHODS, find_boundaries
from eventcargo.evaluation import evaluate
from eventcargo.events import EventDataset
from eventcargo.io import read_graph, write_graph
from eventcargo.simulation import simulate

from benchmarks.record import peak_gigabytes, provenance, save

SEED = 0


def _work(pipe: Any, folder: str, method: str) -> None:
    data = EventDataset.load(f"{folder}/data")
    started = time.perf_counter()
    graph = find_boundaries(data, method, progress=lambda _, done, *__: pipe.send(int(done)))
    seconds = time.perf_counter() - started
    truth = read_graph(f"{folder}/truth.parquet")
    scores, positive = evaluate(graph, truth), evaluate(graph, truth, negated=False)
    pipe.send(
        {
            "seconds": seconds,
            "peak_gigabytes": peak_gigabytes(),
            "edges": len(graph),
            "scores": {name: part for name, part in scores.to_dict().items() if name != "per_label"},
            "positive_literals": {n: part for n, part in positive.to_dict().items() if n != "per_label"},
        }
    )


def run(folder: str, method: str, limit: float) -> dict[str, Any]:
    """One method in its own process; what it had done when the limit came."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_work, args=(there, folder, method))
    process.start()
    end, done, result = time.monotonic() + limit, 0, None
    while result is None and here.poll(max(end - time.monotonic(), 0)):
        said = here.recv()
        done, result = (said, None) if isinstance(said, int) else (done, said)
    process.terminate()
    process.join()
    return {"method": method, "labels_done": done, **(result or {"stopped_after_seconds": limit})}


def describe(row: dict[str, Any]) -> str:
    if "seconds" not in row:
        limit, done = row["stopped_after_seconds"], row["labels_done"]
        return f"{row['method']:20} stopped after {limit:,.0f} s with {done} labels done"
    macro, weighted = row["scores"]["macro"], row["scores"]["weighted"]
    return (
        f"{row['method']:20} {row['seconds']:8.1f} s {row['peak_gigabytes']:5.2f} GB   "
        f"macro P {macro['precision']:.3f} R {macro['recall']:.3f} F1 {macro['f1']:.3f}   "
        f"weighted P {weighted['precision']:.3f} R {weighted['recall']:.3f} F1 {weighted['f1']:.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--limit", type=float, default=30.0, help="minutes for each method")
    parser.add_argument("--sequences", type=int, default=50_000)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fleet = simulate("fleet", sequences=options.sequences, event_types=29_100, labels=474, seed=SEED)
        fleet.data.save(f"{folder}/data")
        write_graph(fleet.truth, f"{folder}/truth.parquet")
        print(fleet.data, flush=True)
        rows = []
        for method in options.methods.split(","):
            rows.append(run(folder, method, 60 * options.limit))
            print(describe(rows[-1]), flush=True)
    size = {"sequences": options.sequences, "event_types": 29_100, "labels": 474}
    print(f"written to {save('paper_size', {**provenance(SEED), **size, 'methods': rows}, options.out)}")


if __name__ == "__main__":
    main()
