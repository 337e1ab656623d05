"""What label queries bring: label F1 of Transformers alone with and without them, after the same steps.

Both read the same batches in the same order; processor seconds are those of training on one thread. Label F1
is that of unseen sequences. Fleets of validation seeds.
Run: `.venv/bin/python -m benchmarks.paper.label_queries [--seeds 100] [--steps 1250 2500 5000]`
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eventcargo import simulate
from eventcargo.errors import EventCargoWarning
from eventcargo.models.density import label_probabilities
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.training.trainer import train
from eventcargo.models.transformer.config import transformer_size

from benchmarks.accuracy.linear_term import f1_scores
from benchmarks.record import provenance, save, show

SHARE = 5 / 6
"""Share of the sequences of a fleet that is trained on."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[100])
    parser.add_argument("--steps", type=int, nargs="+", default=[1_250, 2_500, 5_000])
    parser.add_argument("--sequences", type=int, default=24_000)
    parser.add_argument("--docs", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore", EventCargoWarning)
    rows = [row for seed in options.seeds for row in measured(seed, options.steps, options.sequences)]
    show({"label_queries": table(rows)}, options.docs)
    print(f"written to {save('label_queries', {**provenance(options.seeds), 'rows': rows}, options.out)}")


def measured(seed: int, steps: list[int], sequences: int) -> Iterator[dict[str, Any]]:
    """Label F1 of both kinds on one fleet, by the steps they were trained for."""
    seen, unseen = simulate("fleet", sequences=sequences, seed=seed).data.split(SHARE, seed=seed)
    labels = unseen.label_matrix().toarray()
    for number in steps:
        for queries in (False, True):
            began = time.process_time()
            shape = transformer_size("small", linear=False, label_queries=queries)
            model = train(seen, TrainConfig(steps=number, seed=seed), shape)
            seconds = time.process_time() - began
            scores = f1_scores(labels, label_probabilities(model, unseen) > 0.5)
            row = {"seed": seed, "steps": number, "queries": queries, "seconds": seconds, **scores}
            print(row, flush=True)
            yield row


def table(rows: list[dict[str, Any]]) -> str:
    """Means over the seeds, one line for each number of steps."""
    lines = [
        "| steps | last state: label F1 weighted, macro | seconds | label queries | seconds |",
        "|---|---|---|---|---|",
    ]
    for steps in sorted({row["steps"] for row in rows}):
        cells = [f"{steps:,}"]
        for queries in (False, True):
            own = [row for row in rows if row["steps"] == steps and row["queries"] == queries]
            weighted, macro, seconds = (
                sum(row[name] for row in own) / len(own) for name in ("f1_weighted", "f1_macro", "seconds")
            )
            cells += [f"{weighted:.3f}, {macro:.3f}", f"{seconds:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
