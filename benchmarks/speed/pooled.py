"""What the tests of weak causes cost: fits without a fold, pooled evidence, score tests.

A whole run of `discover`, then each part again by itself on the model and the graph of that run.
Run: `.venv/bin/python -m benchmarks.speed.pooled [--sequences 50000 --event-types 29100 --labels 474]`
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from eventcargo import EventDataset, LabelGraph, evaluate, simulate
from eventcargo.batches import Batches
from eventcargo.discovery import DiscoverConfig, Discovery
from eventcargo.errors import EventCargoWarning
from eventcargo.models.density import DensityModel
from eventcargo.models.linear import fit
from eventcargo.oneshot.pooled import PooledEvidence
from eventcargo.oneshot.score_shard import blocks
from eventcargo.statistics.score_test import ScoreTest
from eventcargo.verification.claims import Claim
from eventcargo.verification.label_test import LabelTest, VerifyData

from benchmarks.record import provenance, save


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=50_000)
    parser.add_argument("--event-types", type=int, default=29_100)
    parser.add_argument("--labels", type=int, default=474)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    size = {"sequences": options.sequences, "event_types": options.event_types, "labels": options.labels}
    figures = measure(size, options.seed)
    for name, value in figures.items():
        print(f"{name:28} {value}")
    print(f"written to {save('pooled', {**provenance(options.seed), **size, **figures}, options.out)}")


def measure(size: dict[str, int], seed: int) -> dict[str, Any]:
    """Seconds of a whole run, of its stages and of the new parts."""
    simulated = simulate("fleet", seed=seed, **size)
    data = simulated.data
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", EventCargoWarning)
        run = Discovery(data, Path(folder) / "run", DiscoverConfig(max_time="3h", seed=seed))
        whole, results = timed(run.run)
        stages = {name: round(seconds, 1) for name, seconds in run.manifest.seconds.items()}
    assert results.model is not None
    model, graph = results.model, results.graph
    folds = fold_seconds(data, model)
    evidence = timed(lambda: pooled_pass(model, data))[0]
    scores = timed(lambda: score_all(data, graph))[0]
    return {
        "macro_f1": round(evaluate(graph, simulated.truth).macro.f1, 4),
        "whole_run_seconds": round(whole, 1),
        "stages": stages,
        "fits_without_a_fold_seconds": round(folds, 1),
        "pooled_evidence_seconds": round(evidence, 1),
        "score_tests_seconds": round(scores, 1),
        "all_three_seconds": round(folds + evidence + scores, 1),
    }


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def fold_seconds(data: EventDataset, model: DensityModel) -> float:
    """How much longer the linear term takes with the fits without a fold than without them."""

    def fitted() -> object:
        return fit.fit_linear(data, model.vocabulary, model.max_length)

    with_folds = timed(fitted)[0]
    with mock.patch.object(fit, "N_FOLDS", 0):
        return max(0.0, with_folds - timed(fitted)[0])


def pooled_pass(model: DensityModel, data: EventDataset) -> None:
    """The pooled evidence of all sequences."""
    pooled = PooledEvidence(model, data, None)
    for block in blocks(data):
        pooled.add(block, Batches(data.select(block), model.vocabulary, model.max_length))


def score_all(data: EventDataset, graph: LabelGraph) -> None:
    """The scores of all event types given each boundary, and the test of each member given the others."""
    prepared, numbers = VerifyData(data), {name: at for at, name in enumerate(data.event_names)}
    for at, label in enumerate(data.label_names):
        test = LabelTest(prepared, at, [Claim(numbers[event]) for event in graph.boundary(label)], 1.0)
        test.scores()
        patterns = test.patterns()
        for place in range(len(test.claims)):
            assert ScoreTest.of(patterns, place, np.delete(np.arange(len(test.claims)), place)).z is not None


if __name__ == "__main__":
    main()
