"""Which sequences phase 1 tests: the F1 of the fused and of the verified graph, regime by regime.

Of sequences in which a label comes equally close, some are chosen: those with the smallest checksum of their
id (before 2026-11-18: with the first ids). Run it on the code before and after such a change and compare.
Run: `OMP_NUM_THREADS=1 python -m benchmarks.accuracy.case_choice [--out FILE]`; about 3 minutes of one core.
"""

import argparse
import tempfile
import warnings
from pathlib import Path

from eventcargo import DiscoverConfig, discover, evaluate, read_graph
from eventcargo.simulation import simulate

from benchmarks.record import provenance, save

CASES = {
    "chain": {"sequences": 600},
    "confounded": {"sequences": 600},
    "timing": {"sequences": 600},
    "noisy_or": {"sequences": 1500, "labels": 6, "event_types": 120},
    "state": {"sequences": 800},
    "log_odds": {"sequences": 1500, "labels": 6},
}
SEEDS = (100, 101)
"""Validation seeds."""


def scores(regime: str, settings: dict[str, int], seed: int) -> tuple[float, float]:
    """Macro F1 of the fused and of the verified graph."""
    made = simulate(regime, seed=seed, **settings)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        discover(made.data, f"{folder}/run", DiscoverConfig(preset="fast", steps=5, workers=1))
        graphs = [read_graph(Path(folder) / "run" / name) for name in ("fused.parquet", "graph.parquet")]
    fused, verified = (evaluate(graph, made.truth).macro.f1 for graph in graphs)
    return fused, verified


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--out", type=Path)
    options, rows = parser.parse_args(), []
    for regime, settings in ((name, CASES[name]) for name in options.cases):
        for seed in SEEDS:
            fused, verified = scores(regime, settings, seed)
            rows.append({"regime": regime, "seed": seed, "fused": fused, "verified": verified})
            print(rows[-1], flush=True)
    path = save("case_choice", {**provenance(list(SEEDS)), "runs": rows}, options.out)
    print(f"written to {path}")


if __name__ == "__main__":
    main()
