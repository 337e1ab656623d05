"""A textbook method and Cargo on the same alarms of a lathe, against the causes an expert knows (CausRCA).

Prints what each finds for every alarm, with a star where it is a true cause, and how good each is over all.
Run: `python examples/textbook.py FOLDER`, a folder with events.csv.gz, labels.csv.gz and truth.csv; half a
minute. The expert names signals, the data have values of signals: `signal=value`.
"""

import sys
from pathlib import Path

from eventcargo import Cargo, evaluate, find_boundaries, read_events, read_graph


def signal(event: str) -> str:
    return event.split("=")[0]


def main(folder: Path) -> None:
    data = read_events(folder / "events.csv.gz", folder / "labels.csv.gz")
    truth = read_graph(folder / "truth.csv")
    graphs = {
        "IAMB": find_boundaries(data, "iamb"),
        "Cargo": Cargo(preset="fast", max_time="5m", steps=5).fit(data).graph_,
    }
    for alarm in truth.labels:
        true = {signal(event) for event in truth.boundary(alarm)}
        print(f"\n{alarm}")
        for method, graph in graphs.items():
            found = dict.fromkeys(signal(event) for event in graph.boundary(alarm))
            print(f"  {method}: {', '.join(f'{name}*' if name in true else name for name in found)}")
    for method, graph in graphs.items():
        scores = evaluate(graph, truth, labels=truth.labels, event_of=signal).macro
        print(f"\n{method}: precision {scores.precision:.2f}, recall {scores.recall:.2f}, F1 {scores.f1:.2f}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
