"""From raw records to causes with options alone: the regime `clinic`, and worlds without a cause.

`discover` is run as a person would run it, on the written tables, with look-back, washout, attributes,
families, numbers and the confounding site adjusted for. Counted are planted causes that are missed, other
event types that are reported, and records of the outcome among them. `--null N` makes N data sets whose
outcomes fall at random times and counts the labels that get any edge, and the rules about lateness or counts.
Run: `.venv/bin/python -m benchmarks.accuracy.clinic [--seeds 0 1 2 3 4] [--null 20]`
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from eventcargo import Vocabulary, read_graph, simulate

from benchmarks.record import provenance, save

TABLES = ["--sequence-id", "subject_id", "--event", "code", "--label-time", "time"]
CUT = ["--lookback", "30d", "--washout", "30d"]
ARRANGED = ("at the end", "among the last", "times", "within")
"""Words of a rule about lateness, counts or gaps."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--null", type=int, default=20, help="data sets without a cause")
    parser.add_argument("--max-time", default="5m")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    settings = ["--max-time", options.max_time, "--preset", options.preset]
    rows = [row for seed in options.seeds for row in planted(seed, settings)]
    nothing = [null(seed, settings) for seed in range(options.null)]
    result = {
        **provenance(0),
        "preset": options.preset,
        "planted": rows,
        "null": nothing,
        **summary(rows, nothing),
    }
    print(json.dumps(summary(rows, nothing), indent=1))
    print(f"written to {save('clinic', result, options.out)}")


def planted(seed: int, settings: list[str]) -> list[dict[str, Any]]:
    """Every label of one world: missed causes, other edges, and records of the outcome among them."""
    records = simulate("clinic", seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        records.write(folder)
        return [_label(records, Path(folder), seed, label, settings) for label in records.truth.labels]


def _label(records: Any, folder: Path, seed: int, label: str, settings: list[str]) -> dict[str, Any]:
    beside = ["--static", f"{folder}/static.parquet", "--parents", f"{folder}/codes.parquet"]
    more = ["--numeric-value", "numeric_value", "--adjust", "site", "--only", label]
    graph, rules, levels = discover(folder, label, [*CUT, *beside, *more, *settings])
    found, vocabulary = set(graph.boundary(label)), folder / f"run {label}" / "model" / "vocabulary.json"
    true = set(records.truth_for(Vocabulary.from_json(vocabulary).event_names).boundary(label))
    row = {
        "seed": seed,
        "label": label,
        "missed": sorted(true - found),
        "others": sorted(found - true),
        "records": sorted(found & set(records.post_outcome.get(label, ()))),
        "rule": rules.get(label),
        "verdict": levels.get(label),
    }
    print(row, flush=True)
    return row


def null(seed: int, settings: list[str]) -> dict[str, Any]:
    """A world without a cause: labels with an edge, and rules about lateness, counts or gaps."""
    records = simulate("clinic", seed=seed, subjects=400, labels=10, no_cause=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records.write(folder)
        graph, rules, _ = discover(folder, "null", [*CUT, *settings])
        n_labels = len(graph.labels)
    edges = {label: graph.boundary(label) for label in graph.labels if graph.boundary(label)}
    arranged = [rule for rule in rules.values() if rule and any(word in rule for word in ARRANGED)]
    row = {"seed": seed, "labels": n_labels, "with_edge": edges, "arranged": arranged}
    print(row, flush=True)
    return row


def discover(folder: Path, name: str, more: list[str]) -> tuple[Any, dict[str, str | None], dict[str, str]]:
    """Graph, rules and verdict levels of a run of the command."""
    out = folder / f"run {name}"
    tables = [f"{folder}/events.parquet", "--labels", f"{folder}/outcomes.parquet", *TABLES]
    command = [sys.executable, "-m", "eventcargo", "discover", *tables, "--out", str(out), "--json", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    content = json.loads(done.stdout)
    levels = {label: verdict["level"] for label, verdict in content["verdicts"].items()}
    return read_graph(out / "graph.parquet"), content["rules"], levels


def summary(rows: list[dict[str, Any]], nothing: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts over all labels."""
    return {
        "labels": len(rows),
        "exact": sum(not row["missed"] and not row["others"] for row in rows),
        "causes_missed": sum(len(row["missed"]) for row in rows),
        "others_reported": sum(len(row["others"]) for row in rows),
        "records_reported": sum(len(row["records"]) for row in rows),
        "null_labels": sum(row["labels"] for row in nothing),
        "null_labels_with_edge": sum(len(row["with_edge"]) for row in nothing),
        "null_rules_of_arrangement": sum(len(row["arranged"]) for row in nothing),
    }


if __name__ == "__main__":
    main()
