"""Phase 1 with exact probabilities: which boundaries does each test find on processes that it knows by heart?

Twenty random chains with six rules each (AND, OR, AND NOT, before, right after, at least twice), the
process's own probabilities as the model, and the union of all edges as the graph. What is missed or added
here is the fault of the test, not of a network. Run: `.venv/bin/python -m benchmarks.accuracy.oracle`
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from eventcargo import LabelGraph, evaluate
from eventcargo.models import Oracle, label_probabilities
from eventcargo.oneshot.cases import select_cases
from eventcargo.oneshot.config import PAPER, CasesConfig, PrefixConfig
from eventcargo.oneshot.prefix import PrefixTest
from eventcargo.oneshot.score_shard import ConfiguredTest, score_shard, sequence_seeds
from eventcargo.oneshot.thresholds import PAPER_THRESHOLD, StaticThreshold
from eventcargo.oneshot.total import TotalTest
from eventcargo.simulation.exact import ExactConfig, ExactProcess
from eventcargo.simulation.simulated import Simulated

from benchmarks.record import provenance, save

OBSERVED = PrefixConfig(particles=0, context=0)
"""Every event is scored given the observed prefix; sequences here are too short for a context of 15."""

SHORT = PrefixConfig(context=3, particles=PAPER.particles, top_k=0, top_p=1.0, draws="independent", error=0.0)
"""The paper's particles with a context that fits sequences of 3 to 20 events."""

TESTS = {
    "total, both polarities": ConfiguredTest(TotalTest(), StaticThreshold(0.2)),
    "total, label present": ConfiguredTest(TotalTest(), StaticThreshold(0.2), ("present",)),
    "prefix, observed, static cut": ConfiguredTest(
        PrefixTest(OBSERVED, StaticThreshold(0.2)), StaticThreshold(0.2), ("present",)
    ),
    "prefix, observed, paper's cut": ConfiguredTest(
        PrefixTest(OBSERVED, PAPER_THRESHOLD), PAPER_THRESHOLD, ("present",)
    ),
    "prefix, particles, paper's cut": ConfiguredTest(
        PrefixTest(SHORT, PAPER_THRESHOLD), PAPER_THRESHOLD, ("present",)
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--sequences", type=int, default=400)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    seeds = list(range(options.processes))
    runs = [run(seed, options.sequences) for seed in seeds]
    rows = [summary(name, [found[name] for found in runs]) for name in TESTS]
    for row in rows:
        print(row)
    result = {**provenance(seeds), "sequences": options.sequences, "rows": rows}
    print(f"written to {save('oracle', result, options.out)}")


def run(seed: int, sequences: int) -> dict[str, dict[str, float]]:
    """Scores of every test on one process."""
    process = ExactProcess.from_config(ExactConfig(), seed=seed)
    simulated, model = process.sample(sequences, seed=seed), Oracle(process)
    seeds = sequence_seeds(simulated.data, 0)
    cases = select_cases(model, simulated.data, CasesConfig(absent=10.0), seeds)
    shown = shown_labels(model, simulated)
    found = {}
    for name, configured_test in TESTS.items():
        edges = score_shard(model, simulated.data, cases, [configured_test], seeds).edges
        pairs = edges.select("label", "event").unique()
        graph = LabelGraph.from_edges(pairs, support=dict.fromkeys(model.label_names))
        truth = {label: simulated.truth.boundary(label) for label in shown}
        macro = evaluate(graph, LabelGraph.from_boundaries(truth)).macro
        exact = [set(graph.boundary(label)) == set(truth[label]) for label in shown]
        found[name] = {
            "precision": macro.precision,
            "recall": macro.recall,
            "f1": macro.f1,
            "exact": float(np.mean(exact)),
            "labels": float(len(shown)),
        }
    return found


def shown_labels(model: Oracle, simulated: Simulated) -> list[str]:
    """Labels whose rule holds in some sequence: of others no sequence tells anything."""
    expected = label_probabilities(model, simulated.data).max(axis=0) > 0.5
    return [name for name, seen in zip(model.label_names, expected, strict=True) if seen]


def summary(name: str, runs: list[dict[str, float]]) -> dict[str, Any]:
    means = {key: float(np.mean([found[key] for found in runs])) for key in runs[0]}
    return {"test": name, **means, "processes_all_exact": sum(found["exact"] == 1.0 for found in runs)}


if __name__ == "__main__":
    main()
