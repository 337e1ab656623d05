"""All baselines on two real data sets with known causes: scores and seconds.

azure_pdm: 25,099 machine months, 13 event types, 4 labels. causrca: 3,005 windows of a lathe, 160 event
types, 18 alarms, 16 of them with a parent among the events; its truth names nodes, so values are stripped.
Run: `.venv/bin/python -m benchmarks.accuracy.real_data FOLDER`, a folder that holds both data sets.
"""

import argparse
import time
from pathlib import Path

from eventcargo.baselines import METHODS, find_boundaries
from eventcargo.evaluation import count_support, evaluate, most_frequent
from eventcargo.io import read_events, read_graph

from benchmarks.record import provenance, save

UNREACHABLE = ("Prog_A_701330", "SR_A_67040")


def node(event: str) -> str:
    """The node of an event `node=value`."""
    return event.split("=")[0]


def run(folder: Path) -> list[dict[str, object]]:
    data = read_events(folder / "events.csv.gz", folder / "labels.csv.gz")
    truth = count_support(read_graph(folder / "truth.csv"), data)
    labels = [label for label in truth.labels if label not in UNREACHABLE]
    print(f"{folder.name}: {data}")
    rows = []
    for method in ("most frequent events", *METHODS):
        started = time.perf_counter()
        graph = (
            most_frequent(data, truth, event_of=node)
            if method not in METHODS
            else find_boundaries(data, method)
        )
        seconds = time.perf_counter() - started
        scores = evaluate(graph, truth, labels=labels, event_of=node).to_dict()
        macro, weighted = scores["macro"], scores["weighted"]
        print(
            f"{method:20} macro P {macro['precision']:.3f} R {macro['recall']:.3f} F1 {macro['f1']:.3f}   "
            f"weighted P {weighted['precision']:.3f} R {weighted['recall']:.3f} F1 {weighted['f1']:.3f}   "
            f"{seconds:.1f} s"
        )
        rows.append({"data": folder.name, "method": method, "seconds": seconds, **scores})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    rows = run(options.folder / "azure_pdm") + run(options.folder / "causrca")
    print(f"written to {save('real_data', {**provenance(0), 'rows': rows}, options.out)}")


if __name__ == "__main__":
    main()
