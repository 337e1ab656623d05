"""One training run at the paper's size: 100,000 sequences, 29,100 event types, 474 labels.

Figures are on 5,000 further sequences, by quartile of label support, beside the true rules under the label
noise. With `--run` a stopped run goes on. Run: `.venv/bin/python -m benchmarks.scale.training`
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo import EventDataset
from eventcargo.models.density import label_probabilities
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.training.trainer import Training
from eventcargo.models.transformer.config import transformer_size
from eventcargo.simulation import simulate

from benchmarks.accuracy.label_model import logits_of
from benchmarks.accuracy.linear_term import Floats, base_log_loss, f1_scores, scores
from benchmarks.record import peak_gigabytes, provenance, save

TRAINED, TESTED = 100_000, 5_000
EVENT_TYPES, LABELS = 29_100, 474
QUARTERS = 4
SAY_EVERY = 60.0
"""Seconds between two lines about how far a run has come."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sequences", type=int, default=TRAINED)
    parser.add_argument("--max-time", default="75m")
    parser.add_argument("--run", type=Path, default=None, help="folder of the run, to go on with later")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = run(options.seed, options.sequences, options.max_time, options.run or Path(folder) / "run")
    print(f"written to {save('paper_size_model', result, options.out)}")


def run(seed: int, sequences: int, max_time: str, folder: Path) -> dict[str, Any]:
    """Train, then score the test sequences."""
    train, test, rules = data_of(seed, sequences)
    config = TrainConfig(max_time=max_time, seed=seed)
    began = time.perf_counter()
    training = Training(train, config, transformer_size("small"), run=folder, resume=True, progress=Teller())
    model = training.run()
    seconds = time.perf_counter() - began
    quality = training.quality
    assert quality is not None
    y, logits = test.label_matrix().toarray(), logits_of(label_probabilities(model, test))
    result = {
        **provenance(seed),
        "sequences": len(train),
        "seconds": seconds,
        "steps": training.state.step,
        "peak_gigabytes": peak_gigabytes(),
        "open_gates": int(model.gate.sum()),
        "held_out": {**quality.overall, **quality.events},
        "all": {**scores(y, logits), "base_log_loss": base_log_loss(train, y), "rules": f1_scores(y, rules)},
        "quarters": quarters(train.support, y, logits, rules, model.trusted.numpy()),
    }
    for row in result["quarters"]:
        print(row, flush=True)
    return result


def data_of(seed: int, sequences: int) -> tuple[EventDataset, EventDataset, NDArray[np.int32]]:
    """Training data, test data, and what the rules say of the test data."""
    size = {"sequences": sequences + TESTED, "event_types": EVENT_TYPES, "labels": LABELS, "seed": seed}
    share = sequences / (sequences + TESTED)
    train, test = simulate("fleet", **size).data.split(share, seed=seed)
    rules = simulate("fleet", label_noise=0.0, **size).data.split(share, seed=seed)[1]
    return train, test, rules.label_matrix().toarray()


def quarters(
    support: NDArray[np.int64],
    y: NDArray[np.int32],
    logits: Floats,
    rules: NDArray[np.int32],
    trusted: NDArray[np.bool_],
) -> list[dict[str, Any]]:
    """Scores of the labels of each quartile of support, the rarest first."""
    parts = np.array_split(np.argsort(support, kind="stable"), QUARTERS)
    return [
        {
            "support": [int(support[part].min()), int(support[part].max())],
            **scores(y[:, part], logits[:, part]),
            "rules": f1_scores(y[:, part], rules[:, part]),
            "untrusted": int((~trusted[part]).sum()),
        }
        for part in parts
    ]


class Teller:
    """Says now and then how far a run has come."""

    def __init__(self) -> None:
        self._said = -SAY_EVERY

    def __call__(self, stage: str, done: float, total: float, message: str = "", /) -> None:
        if time.monotonic() - self._said >= SAY_EVERY:
            self._said = time.monotonic()
            print(f"{stage} {done / total:.0%} {message}", flush=True)


if __name__ == "__main__":
    main()
