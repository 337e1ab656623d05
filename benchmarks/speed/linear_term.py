"""The fit of the linear term: this tree against an earlier commit, on the same data, in one run.

`counts`: 8,000 sequences of 100 events, 30 event types, 5 labels whose causes are counts above those that are
features. `paper`: the fleet at the paper's size. Both trees fit in processes of their own, with one thread;
processor seconds are compared, and so are the log-loss on held-out sequences and the event types with weight.
Run: `.venv/bin/python -m benchmarks.speed.linear_term [--before COMMIT] [--data counts paper]`
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from eventcargo import EventDataset, EventSequence, Vocabulary
from eventcargo.batches import Batches
from eventcargo.features import sides
from eventcargo.models.linear.fit import LinearConfig, fit_linear
from eventcargo.models.training.validation import set_aside
from eventcargo.simulation import simulate

from benchmarks.record import provenance, save

BEFORE = "b93d3d5"
"""The last commit with the former solver."""

ROOT = Path(__file__).parents[2]
MAX_LENGTH = 194
FREQUENT = 6
"""The causes are among this many of the most frequent event types, which occur seven to ten times each."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default=BEFORE, help="commit to compare with")
    parser.add_argument("--data", nargs="+", default=["counts", "paper"], choices=list(DATA))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one", action="store_true", help="fit once in this process and print JSON")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(fit(options.data[0], options.seed)))
        return
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", options.before, "src"], cwd=ROOT, capture_output=True, check=True
        )
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as packed:
            packed.extractall(folder, filter="data")
        rows = [compare(name, options.seed, Path(folder)) for name in options.data]
    result = {**provenance(options.seed), "before": options.before, "rows": rows}
    print(f"written to {save('linear_term_speed', result, options.out)}")


def compare(name: str, seed: int, former: Path) -> dict[str, Any]:
    """Both trees on one data set."""
    before, now = run(name, seed, former / "src"), run(name, seed, ROOT / "src")
    row = {
        "data": name,
        "before": {key: value for key, value in before.items() if key != "types"},
        "now": {key: value for key, value in now.items() if key != "types"},
        "times": before["seconds"] / now["seconds"],
        "loss_ratio": now["loss"] / before["loss"],
        "same_types": before["types"] == now["types"],
    }
    print(json.dumps(row), flush=True)
    return row


def run(name: str, seed: int, source: Path) -> dict[str, Any]:
    """One fit in a process of its own, by the package in this source folder."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.speed.linear_term",
        "--one",
        "--data",
        name,
        "--seed",
        str(seed),
    ]
    paths = {"PYTHONPATH": f"{source}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **paths}, cwd="/"
    )
    return json.loads(done.stdout.splitlines()[-1])


def fit(name: str, seed: int) -> dict[str, Any]:
    """Processor seconds of the fit, nats a held-out sequence, and the event types with a weight by label."""
    train, test = set_aside(DATA[name](seed), 0.1, seed)
    vocabulary = Vocabulary.from_dataset(train)
    began = time.process_time()
    term = fit_linear(train, vocabulary, MAX_LENGTH, LinearConfig(workers=1))
    seconds = time.process_time() - began
    batches, loss = Batches(test, vocabulary, MAX_LENGTH), 0.0
    for rows in batches.in_order(16_384):
        batch = batches.take(rows)
        logits = term.logits(batch, batch.at_end).double().numpy()
        loss += float((np.logaddexp(0.0, logits) - batch.labels * logits).sum())
    first, second = sides(term.keys, term.size)
    used = term.weights.numpy() != 0
    types = [sorted({*first[own], *second[own]} - {-1}) for own in used.T]
    labels = used.shape[1]
    return {
        "seconds": seconds,
        "seconds_a_label": seconds / labels,
        "loss": loss / len(test),
        "features": term.n_features,
        "types": [[int(one) for one in own] for own in types],
    }


def counts(seed: int) -> EventDataset:
    """Labels that say: more a than b, or at least eight a and at most seven b."""
    rng = np.random.default_rng(seed)
    n, length, n_types, n_labels = 8_000, 100, 30, 5
    shares = np.arange(1, n_types + 1) ** -0.5
    ids = rng.choice(n_types, p=shares / shares.sum(), size=(n, length))
    times = np.cumsum(rng.exponential(1.0, size=(n, length)), axis=1)
    labels = []
    for label in range(n_labels):
        a, b = ((ids == one).sum(axis=1) for one in rng.choice(FREQUENT, 2, replace=False))
        labels.append(a > b if label % 2 else (a >= 8) & (b <= 7))
    carried = np.array(labels).T & (rng.random((n, n_labels)) > 0.02)
    names = np.array([f"E{one:02}" for one in range(n_types)])
    return EventDataset.from_sequences(
        EventSequence(
            f"{i:05}", tuple(names[ids[i]]), tuple(times[i]), tuple(f"L{y}" for y in np.flatnonzero(own))
        )
        for i, own in enumerate(carried)
    )


def paper(seed: int) -> EventDataset:
    return simulate("fleet", event_types=29_100, labels=474, sequences=50_000, seed=seed).data


DATA = {"counts": counts, "paper": paper}


if __name__ == "__main__":
    main()
