"""Where the classical methods win and where they cannot: every method on every regime, default settings.

Run: `.venv/bin/python -m benchmarks.accuracy.regimes`
"""

import argparse
from pathlib import Path

from eventcargo.baselines import METHODS, find_boundaries
from eventcargo.evaluation import evaluate, summarise_folds
from eventcargo.simulation import REGIMES, simulate

from benchmarks.record import provenance, save

SEEDS = (0, 1, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    rows = []
    for regime in REGIMES:
        made = [simulate(regime, seed=seed) for seed in SEEDS]
        for method in METHODS:
            scores = [evaluate(find_boundaries(part.data, method), part.truth) for part in made]
            table = summarise_folds(scores).table
            rows.append({"regime": regime, "method": method, "scores": table.to_dicts()})
            macro = {row["measure"]: row for row in table.to_dicts() if row["average"] == "macro"}
            figures = " ".join(f"{measure} {macro[measure]['mean']:.3f}" for measure in macro)
            print(f"{regime:11} {method:20} macro {figures} ± {macro['f1']['sd']:.3f}", flush=True)
    print(f"written to {save('regimes', {**provenance(list(SEEDS)), 'rows': rows}, options.out)}")


if __name__ == "__main__":
    main()
