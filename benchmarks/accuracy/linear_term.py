"""The linear term against L1-logistic regression on presence and against the true rules, by regime.

Trained on four fifths of each data set, judged on the rest. Settings were chosen on the validation seeds;
`--test` takes the test seeds. Run: `.venv/bin/python -m benchmarks.accuracy.linear_term [--test]`
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score

from eventcargo import EventDataset, Vocabulary
from eventcargo.batches import Batches
from eventcargo.models.linear.fit import LinearConfig, fit_linear
from eventcargo.models.linear.term import LinearTerm
from eventcargo.simulation import simulate

from benchmarks.record import peak_gigabytes, provenance, save

VALIDATION_SEEDS = (100, 101, 102)
TEST_SEEDS = (0, 1, 2)
REGIMES = ("fleet", "ordered", "follows", "repeat", "timing", "recency")
MAX_LENGTH = 194

Floats = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--test", action="store_true", help="the test seeds instead of the validation seeds")
    parser.add_argument("--regimes", nargs="+", default=REGIMES)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    torch.set_num_threads(1)
    seeds = TEST_SEEDS if options.test else VALIDATION_SEEDS
    rows = [run(regime, seed, options.workers) for regime in options.regimes for seed in seeds]
    result = {**provenance(list(seeds)), "peak_gigabytes": peak_gigabytes(), "rows": rows}
    name = "linear_term" if options.test else "linear_term_validation"
    print(f"written to {save(name, result, options.out)}")


def run(regime: str, seed: int, workers: int) -> dict[str, Any]:
    """Scores of the linear term, of presence alone and of the rules on one data set."""
    train, test = simulate(regime, seed=seed).data.split(0.8, seed=seed)
    # without noise the same seed gives the same sequences: their labels are what the rules say
    rules = simulate(regime, seed=seed, label_noise=0.0).data.split(0.8, seed=seed)[1]
    y = test.label_matrix().toarray()
    started = time.perf_counter()
    term, logits = term_logits(train, test, workers)
    term_seconds = time.perf_counter() - started
    started = time.perf_counter()
    presence = presence_logits(train, test)
    presence_seconds = time.perf_counter() - started
    row = {
        "regime": regime,
        "seed": seed,
        "base_log_loss": base_log_loss(train, y),
        "features": {family: len(keys) for family, keys in term.keys.items()},
        "term": {**scores(y, logits), "seconds": term_seconds},
        "presence": {**scores(y, presence), "seconds": presence_seconds},
        "rules": f1_scores(y, rules.label_matrix().toarray()),
    }
    print_row(row)
    return row


def term_logits(train: EventDataset, test: EventDataset, workers: int) -> tuple[LinearTerm, Floats]:
    vocabulary = Vocabulary.from_dataset(train)
    term = fit_linear(train, vocabulary, MAX_LENGTH, LinearConfig(workers=workers))
    batches = Batches(test, vocabulary, MAX_LENGTH)
    made = (batches.take(rows) for rows in batches.in_order(16_384))
    return term, np.concatenate([term.logits(batch, batch.at_end).double().numpy() for batch in made])


def presence_logits(train: EventDataset, test: EventDataset) -> Floats:
    """L1-logistic regression on presence with scikit-learn's defaults, one label after the other."""
    X, X_test = train.presence().astype(np.float64), test.presence().astype(np.float64)
    y = train.label_matrix().toarray()
    logits = np.empty((len(test), y.shape[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for label in range(y.shape[1]):
            model = LogisticRegression(l1_ratio=1.0, solver="liblinear", max_iter=200, random_state=0)
            logits[:, label] = model.fit(X, y[:, label]).decision_function(X_test)
    return logits


def f1_scores(y: NDArray[np.int32], predicted: NDArray[Any]) -> dict[str, float]:
    kinds = ("macro", "weighted")
    return {f"f1_{kind}": float(f1_score(y, predicted, average=kind, zero_division=0)) for kind in kinds}


def scores(y: NDArray[np.int32], logits: Floats) -> dict[str, float]:
    told = (y.min(axis=0) == 0) & (y.max(axis=0) == 1)  # AUROC needs both kinds of sequences
    return {
        **f1_scores(y, logits > 0),
        "auroc": float(roc_auc_score(y[:, told], logits[:, told], average="macro")),
        "log_loss": float((np.logaddexp(0.0, logits) - y * logits).mean()),
    }


def base_log_loss(train: EventDataset, y: NDArray[np.int32]) -> float:
    """Log-loss of the training set's base rates."""
    rate = (train.support + 0.5) / (len(train) + 1.0)
    return float(-np.where(y, np.log(rate), np.log1p(-rate)).mean())


def print_row(row: dict[str, Any]) -> None:
    rules = f"(rules {row['rules']['f1_macro']:.4f} / {row['rules']['f1_weighted']:.4f})"
    for name in ("term", "presence"):
        part = row[name]
        print(
            f"{row['regime']:8} {row['seed']:3} {name:8} "
            f"F1 {part['f1_macro']:.4f} / {part['f1_weighted']:.4f} {rules}  AUROC {part['auroc']:.4f}  "
            f"log-loss {part['log_loss']:.5f} of {row['base_log_loss']:.5f}  {part['seconds']:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
