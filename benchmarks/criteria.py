"""The rules of phase 2 against the number of sequences: fig:ablation_comparaison_criterions of the paper.

Regime `fleet`, a model for each seed, trained on its own sequences; phase 1 by both tests on 50,000 others.
Shards of phase 1 in random order are taken until they hold m sequences; every rule fuses the same votes.
Run: `.venv/bin/python benchmarks/criteria.py [--figure docs/criteria.png]`
"""

import argparse
import json
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from eventcargo import EdgeTable, LabelGraph, evaluate
from eventcargo.edges import EdgeFolder
from eventcargo.errors import EventCargoWarning
from eventcargo.evaluation import Scores, count_support
from eventcargo.events import EventDataset
from eventcargo.fusion import FuseConfig, Poll, fuse
from eventcargo.models.settings import TrainConfig
from eventcargo.models.sizes import preset
from eventcargo.models.training import train
from eventcargo.oneshot.extract import extract
from eventcargo.oneshot.settings import ExtractConfig
from eventcargo.simulate import simulate

from record import RESULTS, provenance, save

SEEDS, TRAINED, SHARD = (0, 1, 2), 20_000, 512
SIZES = (512, 1_024, 2_048, 5_120, 10_240, 20_480, 49_664)
RULES: dict[str, dict[str, Any]] = {
    "union": {"rule": "union"},
    **{f"static {tau}": {"rule": "static", "tau": tau} for tau in (0.05, 0.25, 0.5, 0.8)},
    "adaptive": {"rule": "adaptive"},
    **{f"fpr {fpr}": {"rule": "fpr", "fpr": fpr} for fpr in (0.01, 0.05, 0.15, 0.2)},
    "bes": {"rule": "bes"},
    "caig": {"rule": "caig"},
    "confident": {"rule": "confident"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--sequences", type=int, default=50_000, help="most sequences of phase 1")
    parser.add_argument("--minutes", type=float, default=5.0, help="of training")
    parser.add_argument("--figure", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore", EventCargoWarning)
    path = options.out or RESULTS / "criteria.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    for seed in options.seeds:
        if not any(row["seed"] == seed for row in rows):
            rows += run(seed, options.sequences, options.minutes)
            save("criteria", {**provenance(options.seeds), "rows": rows}, path)
    for line in table(rows):
        print(line)
    if options.figure is not None:
        draw(rows, options.figure)
    print(f"written to {path}")


def run(seed: int, sequences: int, minutes: float) -> list[dict[str, Any]]:
    """Scores of all rules with the votes of a growing number of sequences."""
    made = simulate("fleet", sequences=TRAINED + sequences, seed=seed)
    first, rest = made.data.split(TRAINED / len(made.data), seed=seed)
    model = train(first, TrainConfig(max_time=f"{60 * minutes:.0f}s", seed=seed), preset("small"))
    rows = []
    with tempfile.TemporaryDirectory() as home:
        config = ExtractConfig(test="both", shard=SHARD, seed=seed)
        folder = extract(model, rest, Path(home) / "edges", config)
        for m, poll in polls(folder):
            rows += [{"seed": seed, "m": m, **row} for row in judged(poll, made.truth, rest)]
            print(f"seed {seed}, {m:,} sequences", flush=True)
    return rows


def polls(folder: EdgeFolder) -> Iterator[tuple[int, Poll]]:
    """The votes of the first shards, more and more of them; shards in an order drawn at random."""
    order = np.random.default_rng(0).permutation(folder.n_shards)
    for m in SIZES:
        if m <= folder.n_shards * SHARD:
            yield m, Poll.of(EdgeTable.join(folder.read(int(number)) for number in order[: m // SHARD]))


def judged(poll: Poll, truth: LabelGraph, data: EventDataset) -> Iterator[dict[str, Any]]:
    """Scores of every rule on the votes of both tests."""
    known = count_support(truth, data)
    for test in ("prefix", "total"):
        for name, settings in RULES.items():
            graph = fuse(poll, FuseConfig(**settings, test=test, verify=False))
            scores = evaluate(graph, known)
            figures = {average: plain(scores, average) for average in ("macro", "weighted")}
            yield {"test": test, "rule": name, "edges": len(graph), **figures}


def plain(scores: Scores, average: str) -> dict[str, float]:
    return {part: getattr(scores.average(average), part) for part in ("precision", "recall", "f1")}


def means(
    rows: list[dict[str, Any]], test: str, rule: str, average: str, part: str
) -> list[tuple[int, float]]:
    """Means over seeds against m."""
    found = [row for row in rows if row["test"] == test and row["rule"] == rule]
    return [
        (m, float(np.mean([row[average][part] for row in found if row["m"] == m])))
        for m in sorted({row["m"] for row in found})
    ]


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    for test in ("prefix", "total"):
        for average in ("macro", "weighted"):
            yield f"{test}, {average} F1 against m: {', '.join(f'{m:,}' for m in SIZES)}"
            for rule in RULES:
                figures = " ".join(f"{value:.3f}" for _, value in means(rows, test, rule, average, "f1"))
                yield f"  {rule:14} {figures}"


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """F1 against m, macro and weighted, for both tests."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(11, 8), sharex=True, sharey=True)
    for line, test in enumerate(("prefix", "total")):
        for column, average in enumerate(("macro", "weighted")):
            axis = axes[line][column]
            for rule in RULES:
                points = means(rows, test, rule, average, "f1")
                style = {"adaptive": "s-", "confident": "o-"}.get(rule, "--" if " " in rule else "-")
                axis.plot(*zip(*points, strict=True), style, label=rule, linewidth=1.2, markersize=4)
            axis.set_xscale("log")
            axis.set_title(f"{test} test, {average} F1")
            axis.grid(alpha=0.3)
    axes[1][0].set_xlabel("sequences")
    axes[1][1].set_xlabel("sequences")
    axes[0][1].legend(fontsize=7, ncol=2)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
