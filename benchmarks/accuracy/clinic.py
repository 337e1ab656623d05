"""From raw records to causes with options alone: the regime `clinic`, and worlds without a cause.

`discover` is run as a person would run it, on the written tables, with look-back, washout, attributes,
families, numbers and the confounding site adjusted for: all labels of a seed at once, or with `--one-by-one`
each by itself. Counted are planted causes that are missed, other event types that are reported, records of
the outcome among them, and causes of other labels that seem to prevent one. The same tables are then given
without `--label-time`, which has to be refused, and with the dates taken out of the outcomes, where nothing
can be refused and no boundary with a record in it may be trusted. `--null N` makes N data sets whose outcomes
fall at random times, cuts them in turn in the ways of `NULL_CUTS`, and counts the labels that get any edge,
and the rules about lateness or counts.
Run: `.venv/bin/python -m benchmarks.accuracy.clinic [--seeds 0 1 2 3 4] [--null 100] [--one-by-one]`
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from eventcargo import Vocabulary, read_graph, simulate

from benchmarks.record import provenance, save

UNDATED = ["--sequence-id", "subject_id", "--event", "code"]
TABLES = [*UNDATED, "--label-time", "time"]
NUMBERS = ["--numeric-value", "numeric_value", "--adjust", "site"]
CUT = ["--lookback", "30d", "--washout", "30d"]
NULL_CUTS = {
    "look-back and washout": CUT,
    "whole past": [],
    "everything": [*CUT, *NUMBERS],
    "windows": ["--index", "windows", "--every", "30d", "--lookback", "30d", "--horizon", "30d"],
}
"""Options of the worlds without a cause; `everything` has attributes, families and numbers, too."""
ARRANGED = ("at the end", "among the last", "times", "within")
"""Words of a rule about lateness, counts or gaps."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--null", type=int, default=100, help="data sets without a cause")
    parser.add_argument("--max-time", default="5m")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--one-by-one", action="store_true", help="a run for each label")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    settings = ["--max-time", options.max_time, "--preset", options.preset]
    rows = [row for seed in options.seeds for row in planted(seed, settings, options.one_by_one)]
    without_dates = [undated(seed, settings) for seed in options.seeds]
    nothing = [null(seed, settings) for seed in range(options.null)]
    result = {
        **provenance(0),
        "preset": options.preset,
        "one_by_one": options.one_by_one,
        "planted": rows,
        "undated": without_dates,
        "null": nothing,
        **summary(rows, without_dates, nothing),
    }
    print(json.dumps(summary(rows, without_dates, nothing), indent=1))
    print(f"written to {save('clinic', result, options.out)}")


def planted(seed: int, settings: list[str], one_by_one: bool) -> list[dict[str, Any]]:
    """Every label of one world: missed causes, other edges, and records of the outcome among them."""
    records = simulate("clinic", seed=seed)
    labels = records.truth.labels
    with tempfile.TemporaryDirectory() as folder:
        records.write(folder)
        runs = [[label] for label in labels] if one_by_one else [labels]
        return [row for run in runs for row in _run(records, Path(folder), seed, run, settings)]


def _run(
    records: Any, folder: Path, seed: int, labels: list[str], settings: list[str]
) -> Iterator[dict[str, Any]]:
    """Some labels in one run of the command; one alone is asked for by name."""
    only = ["--only", labels[0]] if len(labels) == 1 else []
    more = [*CUT, *_beside(folder), *NUMBERS, *only, *settings]
    graph, rules, levels = discover(folder, labels[0], [*TABLES, *more])
    vocabulary = folder / f"run {labels[0]}" / "model" / "vocabulary.json"
    truth = records.truth_for(Vocabulary.from_json(vocabulary).event_names)
    causes = {event for label in truth.labels for event in truth.boundary(label)}
    for label in labels:
        found, true = set(graph.boundary(label)), set(truth.boundary(label))
        prevents = set(graph.edges.filter(label=label, sign=-1)["event"])
        row = {
            "seed": seed,
            "label": label,
            "missed": sorted(true - found),
            "others": sorted(found - true),
            "records": sorted(found & set(records.post_outcome.get(label, ()))),
            "causes_of_others_that_prevent": sorted((prevents & causes) - true),
            "rule": rules.get(label),
            "verdict": levels.get(label),
        }
        print(row, flush=True)
        yield row


def _beside(folder: Path) -> list[str]:
    return ["--static", f"{folder}/static.parquet", "--parents", f"{folder}/codes.parquet"]


def undated(seed: int, settings: list[str]) -> dict[str, Any]:
    """The same world with dates that nothing names, and without dates: refused, and what is trusted."""
    records = simulate("clinic", seed=seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records.write(folder)
        refused = run_discover(folder, "unnamed", [*UNDATED, *settings]).returncode == 1
        outcomes = pl.read_parquet(folder / "outcomes.parquet").drop("time").unique(maintain_order=True)
        outcomes.write_parquet(folder / "outcomes.parquet")
        graph, _, levels = discover(folder, "undated", [*UNDATED, *settings])
    reported = {label: set(graph.boundary(label)) & set(records.post_outcome[label]) for label in levels}
    row = {
        "seed": seed,
        "refused": refused,
        "records": {label: sorted(found) for label, found in reported.items()},
        "trusted": sorted(label for label, level in levels.items() if level == "trust"),
    }
    print(row, flush=True)
    return row


def null(seed: int, settings: list[str]) -> dict[str, Any]:
    """A world without a cause: labels with an edge, and rules about lateness, counts or gaps."""
    cut = list(NULL_CUTS)[seed % len(NULL_CUTS)]
    records = simulate("clinic", seed=seed, subjects=400, labels=10, no_cause=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records.write(folder)
        beside = _beside(folder) if cut == "everything" else []
        graph, rules, _ = discover(folder, "null", [*TABLES, *NULL_CUTS[cut], *beside, *settings])
        n_labels = len(graph.labels)
    edges = {label: graph.boundary(label) for label in graph.labels if graph.boundary(label)}
    arranged = [rule for rule in rules.values() if rule and any(word in rule for word in ARRANGED)]
    row = {"seed": seed, "cut": cut, "labels": n_labels, "with_edge": edges, "arranged": arranged}
    print(row, flush=True)
    return row


def discover(folder: Path, name: str, more: list[str]) -> tuple[Any, dict[str, str | None], dict[str, str]]:
    """Graph, rules and verdict levels of a run of the command."""
    done = run_discover(folder, name, more)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    content = json.loads(done.stdout)
    levels = {label: verdict["level"] for label, verdict in content["verdicts"].items()}
    return read_graph(folder / f"run {name}" / "graph.parquet"), content["rules"], levels


def run_discover(folder: Path, name: str, more: list[str]) -> subprocess.CompletedProcess[str]:
    tables = [f"{folder}/events.parquet", "--labels", f"{folder}/outcomes.parquet"]
    command = [sys.executable, "-m", "eventcargo", "discover", *tables, "--out", f"{folder}/run {name}"]
    return subprocess.run([*command, "--json", *more], capture_output=True, text=True, check=False)


def summary(
    rows: list[dict[str, Any]], without_dates: list[dict[str, Any]], nothing: list[dict[str, Any]]
) -> dict[str, Any]:
    """Counts over all labels."""
    return {
        "labels": len(rows),
        "exact": sum(not row["missed"] and not row["others"] for row in rows),
        "causes_missed": sum(len(row["missed"]) for row in rows),
        "others_reported": sum(len(row["others"]) for row in rows),
        "records_reported": sum(len(row["records"]) for row in rows),
        "causes_of_others_that_prevent": sum(len(row["causes_of_others_that_prevent"]) for row in rows),
        "undated_refused": sum(row["refused"] for row in without_dates),
        "undated_labels_with_a_record": sum(
            bool(one) for row in without_dates for one in row["records"].values()
        ),
        "undated_labels_trusted": sum(len(row["trusted"]) for row in without_dates),
        "null_labels": sum(row["labels"] for row in nothing),
        "null_labels_with_edge": sum(len(row["with_edge"]) for row in nothing),
        "null_rules_of_arrangement": sum(len(row["arranged"]) for row in nothing),
    }


if __name__ == "__main__":
    main()
