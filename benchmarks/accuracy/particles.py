"""What particles buy: one-shot accuracy of the paper's test against their number, beside total conditioning.

A model is trained on each regime, then the sequences of a test set that carry a label are explained: F1 of
the flagged events against the true causes that occur in the sequence, by number of particles; 0 particles are
the observed sequence. Two cuts: the paper's relative one, which sequences of 30 events leave few chances, and
a static one in nats. For each number also how many of its edges are those of the largest number (Jaccard).
Run: `.venv/bin/python -m benchmarks.accuracy.particles`
"""

import argparse
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from eventcargo import EventDataset
from eventcargo.errors import EventCargoWarning
from eventcargo.evaluation import evaluate_oneshot
from eventcargo.models.density import DensityModel
from eventcargo.models.loading import load_model
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.training.trainer import train
from eventcargo.models.transformer.config import transformer_size
from eventcargo.oneshot.cases import select_cases
from eventcargo.oneshot.config import PAPER, CasesConfig
from eventcargo.oneshot.prefix import PrefixTest
from eventcargo.oneshot.score_shard import ConfiguredTest, score_shard, sequence_seeds
from eventcargo.oneshot.thresholds import PAPER_THRESHOLD, EdgeThreshold, StaticThreshold
from eventcargo.oneshot.total import TotalTest
from eventcargo.simulation import simulate
from eventcargo.simulation.simulated import Simulated

from benchmarks.record import provenance, save

REGIMES = ("fleet", "ordered", "follows")
NUMBERS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)
CUTS: dict[str, EdgeThreshold] = {"paper": PAPER_THRESHOLD, "static": StaticThreshold(0.2)}
SEED = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--regimes", nargs="+", default=REGIMES)
    parser.add_argument("--sequences", type=int, default=150, help="test sequences that are explained")
    parser.add_argument("--max-time", default="5m", help="of training, for each regime")
    parser.add_argument("--models", type=Path, default=None, help="folder of trained models, made if missing")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    rows = []
    for regime in options.regimes:
        simulated = simulate(regime, seed=SEED)
        kept, test = simulated.data.split(0.8, seed=SEED)
        model = trained(kept, options.max_time, options.models and options.models / regime)
        test = test.select(test.label_rows.lengths > 0)[: options.sequences]
        rows += [{"regime": regime, **row} for row in run(model, test, simulated)]
    result = {**provenance(SEED), "sequences": options.sequences, "trained": options.max_time, "rows": rows}
    print(f"written to {save('particles', result, options.out)}")


def trained(data: EventDataset, max_time: str, path: Path | None) -> DensityModel:
    """A model of the data, from a folder if it is there."""
    if path is not None and path.exists():
        return load_model(path)
    model = train(data, TrainConfig(max_time=max_time, seed=SEED), transformer_size("small"))
    if path is not None:
        model.save_pretrained(path)
    return model


def run(model: DensityModel, test: EventDataset, simulated: Simulated) -> list[dict[str, Any]]:
    """One row for each cut and number of particles, and one for total conditioning."""
    total = ConfiguredTest(TotalTest(), CUTS["static"], ("present",))
    rows = [{"cut": "static", "particles": None, **explained(model, test, simulated, total)[0]}]
    for name, cut in CUTS.items():
        tests = [PrefixTest(replace(PAPER, particles=number), cut) for number in NUMBERS]
        found = [explained(model, test, simulated, ConfiguredTest(one, cut, ("present",))) for one in tests]
        same = agreement([edges for _, edges in found])
        rows += [
            {"cut": name, "particles": number, **scores, "jaccard": share}
            for number, (scores, _), share in zip(NUMBERS, found, same, strict=True)
        ]
    for row in rows:
        print(row, flush=True)
    return rows


def explained(
    model: DensityModel, data: EventDataset, simulated: Simulated, configured_test: ConfiguredTest
) -> tuple[dict[str, Any], pl.DataFrame]:
    """One-shot scores of a test with its time for a sequence, and its edges."""
    seeds = sequence_seeds(data, SEED)
    cases = select_cases(model, data, CasesConfig(absent=0.0, max_cases=0), seeds)
    began = time.process_time()
    edges = score_shard(model, data, cases, [configured_test], seeds)
    seconds = time.process_time() - began
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EventCargoWarning)
        found = evaluate_oneshot(edges.edges, data, simulated.truth).weighted
    assert found is not None
    figures = {name: round(float(getattr(found, name)), 4) for name in ("precision", "recall", "f1")}
    return {
        "test": configured_test.test.name,
        **figures,
        "seconds_a_sequence": seconds / len(data),
    }, edges.edges


def agreement(tables: Sequence[pl.DataFrame]) -> list[float]:
    """The share of edges that each table has in common with the last, of those that either has."""
    sets = [set(table.select("sequence", "label", "position").rows()) for table in tables]
    return [round(len(part & sets[-1]) / max(len(part | sets[-1]), 1), 4) for part in sets]


if __name__ == "__main__":
    main()
