"""The label model by regime: the default, the pure Transformer, presence alone, and the true rules.

Every model is trained with the default settings for so many minutes, and judged on whole sequences that it
never saw. A run that was stopped goes on: rows that are in the result already are not computed again.
Run: `.venv/bin/python -m benchmarks.accuracy.label_model [--validate] [--minutes 5]`
"""

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from eventcargo import EventDataset
from eventcargo.models.density import label_probabilities
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.training.trainer import Training
from eventcargo.models.transformer.config import transformer_size
from eventcargo.simulation import simulate

from benchmarks.accuracy.linear_term import (
    TEST_SEEDS,
    VALIDATION_SEEDS,
    Floats,
    f1_scores,
    presence_logits,
    scores,
)
from benchmarks.record import RESULTS, provenance, save

REGIMES = ("fleet", "ordered", "follows", "repeat", "timing", "recency")
TRAINED = 20_000
"""Sequences of `fleet` that are trained on; a quarter as many are the test. Other regimes keep their size."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--validate", action="store_true", help="the validation seeds, not the test seeds")
    parser.add_argument("--regimes", nargs="+", default=REGIMES)
    parser.add_argument("--minutes", type=float, default=5.0, help="for each model of the fleet")
    parser.add_argument("--regime-minutes", type=float, default=2.0, help="for each model of other regimes")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    seeds = VALIDATION_SEEDS if options.validate else TEST_SEEDS
    name = "label_model_validation" if options.validate else "label_model"
    path = options.out or RESULTS / f"{name}.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    for regime in options.regimes:
        minutes = options.minutes if regime == "fleet" else options.regime_minutes
        for seed in seeds:
            if not any(row["regime"] == regime and row["seed"] == seed for row in rows):
                rows.append(run(regime, seed, minutes))
                save(name, {**provenance(list(seeds)), "rows": rows}, path)
    print(f"written to {path}")


def run(regime: str, seed: int, minutes: float) -> dict[str, Any]:
    """Scores of all models on one data set; the pure Transformer only where presence decides."""
    size = {"sequences": TRAINED * 5 // 4} if regime == "fleet" else {}
    train, test = simulate(regime, seed=seed, **size).data.split(0.8, seed=seed)
    # without noise the same seed gives the same sequences: their labels are what the rules say
    rules = simulate(regime, seed=seed, label_noise=0.0, **size).data.split(0.8, seed=seed)[1]
    y = test.label_matrix().toarray()
    row: dict[str, Any] = {"regime": regime, "seed": seed, "minutes": minutes, "sequences": len(train)}
    row["default"] = trained(train, test, seed, minutes, linear=True)
    if regime == "fleet":
        row["transformer"] = trained(train, test, seed, minutes, linear=False)
    began = time.perf_counter()
    row["presence"] = {**scores(y, presence_logits(train, test)), "seconds": time.perf_counter() - began}
    row["rules"] = f1_scores(y, rules.label_matrix().toarray())
    print_row(row)
    return row


def trained(
    train: EventDataset, test: EventDataset, seed: int, minutes: float, linear: bool
) -> dict[str, Any]:
    """Scores of a trained model on the test sequences, and what training says of itself."""
    began = time.perf_counter()
    training = Training(
        train,
        TrainConfig(max_time=f"{60 * minutes:.0f}s", seed=seed),
        transformer_size("small", linear=linear),
    )
    model = training.run()
    seconds = time.perf_counter() - began
    quality = training.quality
    assert quality is not None
    return {
        **scores(test.label_matrix().toarray(), logits_of(label_probabilities(model, test))),
        "seconds": seconds,
        "steps": training.state.step,
        "open_gates": int(model.gate.sum()),
        "held_out": dict(quality.overall),
        "events": dict(quality.events),
    }


def logits_of(chances: Any) -> Floats:
    clipped = np.clip(chances.astype(np.float64), 1e-12, 1 - 1e-12)
    return np.log(clipped) - np.log1p(-clipped)


def print_row(row: dict[str, Any]) -> None:
    rules = row["rules"]
    for name in [name for name in ("default", "transformer", "presence") if name in row]:
        part = row[name]
        print(
            f"{row['regime']:8} {row['seed']:3} {name:11} "
            f"F1 {part['f1_macro']:.4f} / {part['f1_weighted']:.4f} "
            f"(rules {rules['f1_macro']:.4f} / {rules['f1_weighted']:.4f})  AUROC {part['auroc']:.4f}  "
            f"log-loss {part['log_loss']:.5f}  {math.ceil(part['seconds'])} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
