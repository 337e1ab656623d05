"""All baselines on the standard `fleet` set (20,000 sequences, 2,000 types, 50 labels): scores and seconds.

Settings were chosen on the validation seeds (`--validate` prints that table) and then frozen; published
figures are those of the test seeds. Run: `.venv/bin/python -m benchmarks.accuracy.fleet [--validate]`
"""

import argparse
import itertools
import time
from pathlib import Path

import numpy as np

from eventcargo.baselines import METHODS, BaselineConfig, find_boundaries
from eventcargo.evaluation import FoldSummary, evaluate, most_frequent, summarise_folds
from eventcargo.simulation import Simulated, simulate

from benchmarks.record import provenance, save

VALIDATION_SEEDS = (100, 101, 102)
TEST_SEEDS = (0, 1, 2)


def run(method: str, fleets: list[Simulated], config: BaselineConfig) -> dict[str, object]:
    """Mean and deviation over the fleets, with and without negated literals, and seconds for one fleet."""
    started = time.perf_counter()
    graphs = [find_boundaries(fleet.data, method, config) for fleet in fleets]
    seconds = (time.perf_counter() - started) / len(fleets)
    pairs = list(zip(graphs, fleets, strict=True))
    scores = summarise_folds([evaluate(graph, fleet.truth) for graph, fleet in pairs])
    positive = summarise_folds([evaluate(graph, fleet.truth, negated=False) for graph, fleet in pairs])
    print_row(method, scores, f"{seconds:6.1f} s")
    return {
        "method": method,
        "seconds": seconds,
        "scores": scores.table.to_dicts(),
        "positive_literals": positive.table.to_dicts(),
    }


def print_row(name: str, summary: FoldSummary, tail: str = "") -> None:
    figure = {(row["average"], row["measure"]): row for row in summary.table.to_dicts()}
    parts = [
        f"{average} P {figure[average, 'precision']['mean']:.3f} R {figure[average, 'recall']['mean']:.3f} "
        f"F1 {figure[average, 'f1']['mean']:.3f} ± {figure[average, 'f1']['sd']:.3f}"
        for average in ("macro", "weighted")
    ]
    print(f"{name:30} {'   '.join(parts)}   {tail}", flush=True)


def validate() -> None:
    """The table the default settings were chosen from."""
    fleets = [simulate("fleet", seed=seed) for seed in VALIDATION_SEEDS]
    grid = itertools.product(
        ("iamb", "cmb", "l1-logistic"), ("observed", "full"), (0.001, 0.01, 0.05), (True, False)
    )
    for method, dof, alpha, correct in grid:
        config = BaselineConfig(alpha=alpha, dof=dof, correct=correct)
        print(f"{dof}, alpha {alpha}, {'corrected' if correct else 'plain'}:")
        run(method, fleets, config)


def test(out: Path | None) -> None:
    fleets = [simulate("fleet", seed=seed) for seed in TEST_SEEDS]
    floor = summarise_folds([evaluate(most_frequent(f.data, f.truth), f.truth) for f in fleets])
    print_row("most frequent events (floor)", floor)
    rows = [run(method, fleets, BaselineConfig()) for method in METHODS]
    supports = np.quantile([f.data.support for f in fleets], [0, 0.25, 0.5, 0.75, 1]).tolist()
    result = {
        **provenance(list(TEST_SEEDS)),
        "supports": supports,
        "floor": floor.table.to_dicts(),
        "methods": rows,
    }
    print(f"written to {save('fleet', result, out)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--validate", action="store_true", help="the grid on the validation seeds")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    if options.validate:
        validate()
    else:
        test(options.out)


if __name__ == "__main__":
    main()
