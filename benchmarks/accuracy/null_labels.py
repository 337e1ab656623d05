"""Labels without any cause: how many get an edge all the same?

The label sets of the sequences are dealt out anew, so that labels keep their support and go together as
before, but depend on no event. Every edge is false; a label is wrong if it has one. Seeds from 100 on are for
choosing settings, seeds from 0 on for the test.
Run: `.venv/bin/python -m benchmarks.accuracy.null_labels [--data FOLDER] [--seeds ...] [--cases ...]`
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from eventcargo import EventDataset, LabelGraph, find_boundaries, read_events
from eventcargo.discovery import DiscoverConfig, Discovery
from eventcargo.errors import EventCargoWarning
from eventcargo.simulation import simulate

from benchmarks.accuracy.run import REAL, WEAK, Case
from benchmarks.record import provenance, save

SIMULATED: Mapping[str, Case] = {
    "fleet-small": ("fleet", {"sequences": 6000, "event_types": 600, "labels": 20}),
    **{
        name: WEAK[name] for name in ("noisy_or", "log_odds", "family", "scarce-1000", "noisy-15", "twins-90")
    },
}
METHODS = ("default", "iamb")
COUNTS = ("labels", "labels_with_an_edge", "edges")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=None, help="folder of the real data sets")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--cases", nargs="+", default=[*SIMULATED, *REAL])
    parser.add_argument("--max-time", default="15m", help="of a run of ours")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    cases = [case for case in options.cases if case not in REAL or options.data is not None]
    rows = [
        told(run(case, method, seed, options.max_time, options.data))
        for seed in options.seeds
        for case in cases
        for method in METHODS
    ]
    summary = summarise(rows)
    for line in summary:
        print("{case:12} {method:8} {share:.4f} of {labels} labels have an edge".format(**line))
    result = {**provenance(options.seeds), "max_time": options.max_time, "summary": summary, "rows": rows}
    print(f"written to {save('null_labels', result, options.out)}")


def run(case: str, method: str, seed: int, max_time: str, folder: Path | None) -> dict[str, Any]:
    """One method on one data set whose labels were dealt out anew."""
    data, began = dealt(load(case, seed, folder), seed), time.perf_counter()
    extra: dict[str, Any] = {}
    if method == "default":
        graph, extra = discover(data, DiscoverConfig(seed=seed, max_time=max_time))
    else:
        graph = find_boundaries(data, method)
    return {
        "case": case,
        "method": method,
        "seed": seed,
        "labels": len(data.label_names),
        "labels_with_an_edge": sum(bool(events) for events in graph.boundaries.values()),
        "edges": len(graph),
        "seconds": round(time.perf_counter() - began, 1),
        **extra,
    }


def load(case: str, seed: int, folder: Path | None) -> EventDataset:
    """The data of a case with their own labels."""
    if case in REAL:
        assert folder is not None
        return read_events(folder / case / "events.csv.gz", folder / case / "labels.csv.gz")
    regime, settings = SIMULATED[case]
    return simulate(regime, seed=seed, **settings).data


def dealt(data: EventDataset, seed: int) -> EventDataset:
    """The same events, with the label sets of the sequences in a random order."""
    order = np.random.default_rng(seed).permutation(len(data))
    return EventDataset(
        sequence_ids=data.sequence_ids,
        events=data.events,
        times=data.times,
        rows=data.rows,
        labels=data.labels,
        label_rows=data.label_rows.take(order),
        event_names=data.event_names,
        label_names=data.label_names,
        time_kind=data.time_kind,
        values=data.values,
        value_names=data.value_names,
        groups=data.groups,
        kinds=data.kinds,
        known=None if data.known is None else data.known.take(order),
    )


def discover(data: EventDataset, config: DiscoverConfig) -> tuple[LabelGraph, dict[str, Any]]:
    """A whole run of ours; for each verdict, the labels with an edge."""
    with tempfile.TemporaryDirectory() as home, warnings.catch_warnings():
        warnings.simplefilter("ignore", EventCargoWarning)
        found = Discovery(data, Path(home) / "run", config).run()
        labels = [label for label, events in found.graph.boundaries.items() if events]
        wrong = [found.verdicts[label].level if label in found.verdicts else "none" for label in labels]
        return found.graph, {"by_verdict": {level: wrong.count(level) for level in sorted(set(wrong))}}


def told(row: dict[str, Any]) -> dict[str, Any]:
    """The row, printed."""
    print(
        "{case:12} {method:8} seed {seed}: {labels_with_an_edge} of {labels} labels have an edge, "
        "{edges} edges, {seconds} s".format(**row),
        flush=True,
    )
    return row


def summarise(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sums over seeds and the share of wrong labels, one line for each case and method."""
    lines = []
    for case, method in dict.fromkeys((row["case"], row["method"]) for row in rows):
        part = [row for row in rows if (row["case"], row["method"]) == (case, method)]
        sums = {name: sum(row[name] for row in part) for name in COUNTS}
        share = sums["labels_with_an_edge"] / max(sums["labels"], 1)
        lines.append({"case": case, "method": method, **sums, "share": share})
    return lines


if __name__ == "__main__":
    main()
