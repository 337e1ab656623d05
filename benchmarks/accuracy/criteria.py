"""The rules of phase 2 against the number of sequences: fig:ablation_comparaison_criterions of the paper.

Regime `fleet`, a model for each seed, trained on its own sequences; phase 1 by both tests on 50,000 others.
Shards of phase 1 in random order are taken until they hold m sequences; every rule fuses the same votes.
Each seed leaves its model, its edges and a JSON file in a folder of parts, so that the script goes on where
it was stopped, and seeds may be run apart; at the end all of them become one table.
Run: `.venv/bin/python -m benchmarks.accuracy.criteria [--seeds 0 1 2] [--figure docs/criteria.png]`
"""

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from eventcargo import LabelGraph, evaluate
from eventcargo.edges import EdgeFolder
from eventcargo.errors import EventCargoWarning
from eventcargo.evaluation import Scores, count_support
from eventcargo.events import EventDataset
from eventcargo.fusion import FuseConfig, VoteStore
from eventcargo.fusion.fuse import fuse
from eventcargo.models.density import DensityModel
from eventcargo.models.loading import load_model
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.training.trainer import train
from eventcargo.models.transformer.config import transformer_size
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.extract import extract
from eventcargo.simulation import simulate

from benchmarks.record import PARTS, provenance, save

SEEDS, TRAINED, SHARD = (0, 1, 2), 20_000, 512
SIZES = (512, 1_024, 2_048, 5_120, 10_240, 20_480, 49_664)
RULES: dict[str, dict[str, Any]] = {
    "union": {"criterion": "union"},
    **{f"static {tau}": {"criterion": "static", "tau": tau} for tau in (0.05, 0.25, 0.5, 0.8)},
    "adaptive": {"criterion": "adaptive"},
    **{f"fpr {fpr}": {"criterion": "fpr", "fpr": fpr} for fpr in (0.01, 0.05, 0.15, 0.2)},
    "bes": {"criterion": "bes"},
    "caig": {"criterion": "caig"},
    "confident": {"criterion": "confident"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--sequences", type=int, default=50_000, help="most sequences of phase 1")
    parser.add_argument("--minutes", type=float, default=5.0, help="of training")
    parser.add_argument("--workers", type=int, default=1, help="processes of phase 1; 0: all cores")
    parser.add_argument("--parts", type=Path, default=PARTS / "criteria")
    parser.add_argument("--figure", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore", EventCargoWarning)
    home = options.parts / f"{options.sequences}-{options.minutes:g}"  # parts of other sizes stay apart
    parts = [part(home / f"seed-{seed}", seed, options) for seed in options.seeds]
    rows = [row for each in parts for row in each.pop("rows")]
    result = {**provenance(options.seeds), "sequences": options.sequences, "minutes": options.minutes}
    path = save("criteria", {**result, "parts": parts, "rows": rows}, options.out)
    for line in table(rows):
        print(line)
    if options.figure is not None:
        draw(rows, options.figure)
    print(f"written to {path}")


def part(home: Path, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """The rows of a seed, and what they took, from its file or run now."""
    path = home / "rows.json"
    if not path.exists():
        save("criteria", {**provenance(seed), **run(home, seed, options)}, path)
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def run(home: Path, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Scores of all rules with the votes of a growing number of sequences."""
    began, worked = time.perf_counter(), time.process_time()
    made = simulate("fleet", sequences=TRAINED + options.sequences, seed=seed)
    first, rest = made.data.split(TRAINED / len(made.data), seed=seed)
    model = trained(home / "model", first, seed, options.minutes)
    print(f"seed {seed}: model after {time.perf_counter() - began:.0f} s", flush=True)
    config = ExtractConfig(test="both", shard=SHARD, seed=seed, workers=options.workers)
    rows: list[dict[str, Any]] = []
    for m, store in polls(extract(model, rest, home / "edges", config, resume=True)):
        rows += [{"seed": seed, "m": m, **row} for row in judged(store, made.truth, rest)]
        print(f"seed {seed}: {m:,} sequences after {time.perf_counter() - began:.0f} s", flush=True)
    seconds = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - worked}
    return {**seconds, "rows": rows}


def trained(home: Path, data: EventDataset, seed: int, minutes: float) -> DensityModel:
    """The model of a folder, trained first where it is not there yet."""
    if not home.exists():
        model = train(
            data, TrainConfig(max_time=f"{60 * minutes:.0f}s", seed=seed), transformer_size("small")
        )
        model.save_pretrained(home)
    return load_model(home)


def polls(folder: EdgeFolder) -> Iterator[tuple[int, VoteStore]]:
    """The votes of the first shards, more and more of them; shards in an order drawn at random."""
    order = np.random.default_rng(0).permutation(folder.n_shards).tolist()
    sizes = [m for m in SIZES if m <= folder.n_shards * SHARD]
    whole: list[VoteStore] = []
    for before, m in pairwise([0, *sizes]):
        whole = [
            VoteStore.join(
                [*whole, *(VoteStore.of(folder.read(n)) for n in order[before // SHARD : m // SHARD])]
            )
        ]
        yield m, whole[0]


def judged(store: VoteStore, truth: LabelGraph, data: EventDataset) -> Iterator[dict[str, Any]]:
    """Scores of every rule on the votes of both tests."""
    known = count_support(truth, data)
    for test in ("prefix", "total"):
        for name, settings in RULES.items():
            graph = fuse(store, FuseConfig(**settings, test=test))
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
    sizes = ", ".join(f"{m:,}" for m in sorted({row["m"] for row in rows}))
    for test in ("prefix", "total"):
        for average in ("macro", "weighted"):
            yield f"{test}, {average} F1 against m: {sizes}"
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
    axes[1][1].legend(fontsize=7, ncol=3, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
