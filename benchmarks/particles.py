"""What particles buy: one-shot accuracy of the paper's test against their number, beside total conditioning.

A model is trained on each regime, then the sequences of a test set that carry a label are explained: F1 of
the flagged events against the true causes that occur in the sequence, by number of particles, with the
paper's relative cut. Run: `.venv/bin/python benchmarks/particles.py`
"""

import argparse
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from eventcargo import EventDataset
from eventcargo.errors import EventCargoWarning
from eventcargo.evaluation import evaluate_oneshot
from eventcargo.models.density import DensityModel
from eventcargo.models.settings import TrainConfig
from eventcargo.models.sizes import preset
from eventcargo.models.training import train
from eventcargo.oneshot.cuts import PAPER_CUT, StaticCut
from eventcargo.oneshot.examination import Examiner, examine, sequence_seeds
from eventcargo.oneshot.prefix import PAPER, PrefixTest
from eventcargo.oneshot.selection import SelectionConfig, select
from eventcargo.oneshot.total import TotalTest
from eventcargo.simulate import simulate
from eventcargo.simulate.simulated import Simulated

from record import provenance, save

REGIMES = ("fleet", "ordered", "chain")
NUMBERS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)
SEED = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--regimes", nargs="+", default=REGIMES)
    parser.add_argument("--sequences", type=int, default=150, help="test sequences that are explained")
    parser.add_argument("--max-time", default="90s", help="of training, for each regime")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    rows = [row for name in options.regimes for row in run(name, options.sequences, options.max_time)]
    result = {**provenance(SEED), "sequences": options.sequences, "rows": rows}
    print(f"written to {save('particles', result, options.out)}")


def run(regime: str, sequences: int, max_time: str) -> list[dict[str, Any]]:
    """One row for each number of particles, and one for total conditioning."""
    simulated = simulate(regime, seed=SEED)
    kept, test = simulated.data.split(0.8, seed=SEED)
    model = train(kept, TrainConfig(max_time=max_time, seed=SEED), preset("small"))
    test = test.select(test.label_rows.lengths > 0)[:sequences]
    rows = []
    for number in NUMBERS:
        config = replace(PAPER, particles=number)
        examiner = Examiner(PrefixTest(config, PAPER_CUT), PAPER_CUT, ("present",))
        rows.append({"particles": number, **explained(model, test, simulated, examiner)})
    total = Examiner(TotalTest(), StaticCut(0.2), ("present",))
    rows.append({"particles": None, **explained(model, test, simulated, total)})
    for row in rows:
        row["regime"] = regime
        print(row, flush=True)
    return rows


def explained(
    model: DensityModel, data: EventDataset, simulated: Simulated, examiner: Examiner
) -> dict[str, Any]:
    """One-shot scores of a test, and its time for a sequence."""
    seeds = sequence_seeds(data, SEED)
    selection = select(model, data, SelectionConfig(absent=0.0, most=0), seeds)
    began = time.perf_counter()
    edges = examine(model, data, selection, [examiner], seeds).edges
    seconds = time.perf_counter() - began
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EventCargoWarning)
        found = evaluate_oneshot(edges, data, simulated.truth).weighted
    assert found is not None
    return {
        "test": examiner.test.name,
        "precision": float(np.round(found.precision, 4)),
        "recall": float(np.round(found.recall, 4)),
        "f1": float(np.round(found.f1, 4)),
        "seconds_a_sequence": seconds / len(data),
    }


if __name__ == "__main__":
    main()
