"""Digests of small runs: whether a change of the code changed any result.

One seeded run of each regime, bounded by steps, and every classical method: graph, edges, rules and verdicts
are reduced to a short hash each. Run it before and after a change; equal files mean equal results. Numbers
are compared to five digits, and of a verdict its level alone: wording is free to change.

    OMP_NUM_THREADS=1 python -m benchmarks.digest --against benchmarks/results/digest.json

`--out FILE` writes the digests of the code as it is. `results/digest.json` was made on one machine; on
another, first make one of the unchanged code.
"""

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from eventcargo import Cargo, LabelGraph, find_boundaries
from eventcargo.simulation import simulate

RUNS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "fleet": ("fleet", {"sequences": 1500, "labels": 8, "event_types": 400}, {}),
    "ordered": ("ordered", {"sequences": 600}, {}),
    "follows": ("follows", {"sequences": 600}, {}),
    "repeat": ("repeat", {"sequences": 600}, {}),
    "timing": ("timing", {"sequences": 600}, {}),
    "recency": ("recency", {"sequences": 600}, {}),
    "chain": ("chain", {"sequences": 600}, {}),
    "confounded": ("confounded", {"sequences": 600}, {}),
    "short": ("short", {"sequences": 800}, {}),
    "exact": ("exact", {"sequences": 400}, {}),
    "chain, both tests": ("chain", {"sequences": 400}, {"test": "both"}),
    "chain, preset paper": (
        "chain",
        {"sequences": 300},
        {"preset": "paper", "size": "tiny", "steps": 40, "criterion": "union"},
    ),
}
"""Name of a run, its regime, the regime's settings, and what `Cargo` is given."""

METHODS = ("iamb", "cmb", "mb-by-mb", "pcd-by-pcd", "mi-mcf", "mutual-information", "lift", "l1-logistic")


def digest(rows: Iterable[Any]) -> str:
    """A short hash of rows, whatever their order."""
    lines = sorted(json.dumps(row, ensure_ascii=False) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def rounded(frame: pl.DataFrame, columns: list[str]) -> list[list[Any]]:
    """Rows of some columns, with numbers to five digits."""
    return [
        [f"{value:.5g}" if isinstance(value, float) else value for value in row]
        for row in frame.select(columns).iter_rows()
    ]


def of_graph(graph: LabelGraph) -> str:
    columns = [
        "label",
        "event",
        "sign",
        "frequency",
        "strength",
        "effect",
        "ci_low",
        "p_value",
        "gain",
        "stability",
    ]
    return digest(rounded(graph.edges, columns))


def of_run(regime: str, settings: dict[str, Any], options: dict[str, Any]) -> dict[str, str]:
    """Digests of one run of `Cargo`."""
    data = simulate(regime, seed=100, **settings).data
    cargo = Cargo(**{"max_time": "9h", "steps": 10, "n_jobs": 1, **options}).fit(data)
    edges = ["sequence", "label", "event", "position", "strength", "effect", "polarity", "test"]
    rules = [[label, None if rule is None else rule.text] for label, rule in cargo.rules_.items()]
    return {
        "graph": of_graph(cargo.graph_),
        "edges": digest(rounded(cargo.edges_.edges, edges)),
        "rules": digest(rules),
        "verdicts": digest([label, verdict.level] for label, verdict in cargo.verdicts_.items()),
    }


def of_methods() -> dict[str, str]:
    """Digests of every classical method on one small fleet."""
    data = simulate("fleet", seed=100, sequences=1500, labels=8, event_types=400).data
    return {method: of_graph(find_boundaries(data, method)) for method in METHODS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.add_argument("--against", type=Path, help="JSON file of another state of the code")
    parser.add_argument("--runs", nargs="*", help=f"some of: {', '.join(RUNS)}")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    result: dict[str, dict[str, str]] = {}
    for name, run in RUNS.items():
        if not arguments.runs or name in arguments.runs:
            result[name] = of_run(*run)
            print(name, result[name], flush=True)
    if not arguments.runs:
        result["classical methods"] = of_methods()
        print("classical methods", result["classical methods"])
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    if arguments.against:
        sys.exit(compare(json.loads(arguments.against.read_text()), result))


def compare(before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]) -> int:
    """Print what differs; the exit code."""
    pairs = [(run, what) for run in after for what in after[run]]
    differ = [(run, what) for run, what in pairs if before.get(run, {}).get(what) != after[run][what]]
    for run, what in differ:
        print(f"differs: {what} of {run}")
    print(f"{len(pairs) - len(differ)} of {len(pairs)} digests are the same")
    return int(bool(differ))


if __name__ == "__main__":
    main()
