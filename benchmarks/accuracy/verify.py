"""What verify does to a good graph and to a degraded one, in every regime.

The good graph is the truth, each edge with a claim as phase 1 makes them: a frequency of half to all of the
sequences that have the event type, and 0.5 to 3 nats a vote. The degraded one has lost 15 % of its edges and
got 30 % that are spurious, whose claims are drawn alike: an event type of a sequence that carries the label.
Neither has seen a model, so what is left after verify is verify's own.
Run: `.venv/bin/python -m benchmarks.accuracy.verify [--validate]`
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from eventcargo.evaluation import evaluate
from eventcargo.graphs import LabelGraph
from eventcargo.simulation import REGIMES, Simulated, simulate
from eventcargo.verification.verify import verify

from benchmarks.record import provenance, save

SEEDS, VALIDATION_SEEDS = [0, 1, 2], [100, 101, 102]

LOST, SPURIOUS = 0.15, 0.3
"""Shares of the true edges, at least one edge of each regime."""

INHIBITING = 0.3
"""Frequency at most of an edge that inhibits: its votes come from sequences without the label."""

Pair = tuple[str, str, int]
"""Label, event type and sign."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--validate", action="store_true", help="validation seeds; nothing is published")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    seeds = VALIDATION_SEEDS if options.validate else SEEDS
    rows = [row for regime in REGIMES for seed in seeds for row in run(simulate(regime, seed=seed))]
    if options.out or not options.validate:
        print(f"written to {save('verify', {**provenance(seeds), 'rows': rows}, options.out)}")


def run(made: Simulated) -> list[dict[str, Any]]:
    """Scores before and after, of the good and of the degraded graph."""
    rng = np.random.default_rng(made.seed)
    true: list[Pair] = list(made.truth.edges.select("label", "event", "sign").iter_rows())
    lost = rng.choice(len(true), max(1, round(LOST * len(true))), replace=False)
    kept = [pair for at, pair in enumerate(true) if at not in lost]
    graphs = {"good": true, "degraded": kept + spurious(made, true, rng)}
    return [judge(made, kind, claimed(made, pairs, rng)) for kind, pairs in graphs.items()]


def judge(made: Simulated, kind: str, graph: LabelGraph) -> dict[str, Any]:
    began = time.perf_counter()
    after = verify(graph, made.data)
    row: dict[str, Any] = {"regime": made.regime, "seed": made.seed, "graph": kind}
    row["seconds"] = time.perf_counter() - began
    for when, found in (("before", graph), ("after", after)):
        macro = evaluate(found, made.truth).macro
        row[when] = {
            "edges": len(found),
            "precision": macro.precision,
            "recall": macro.recall,
            "f1": macro.f1,
        }
    print(row, flush=True)
    return row


def spurious(made: Simulated, true: list[Pair], rng: np.random.Generator) -> list[Pair]:
    """Event types of sequences that carry the label, none of them true and none twice."""
    present, carried = made.data.presence(), made.data.label_matrix().tocsc()
    taken = {(label, event) for label, event, _ in true}
    found: list[Pair] = []
    while len(found) < max(1, round(SPURIOUS * len(true))):
        at = int(rng.integers(len(made.data.label_names)))
        row = int(rng.choice(carried[:, [at]].nonzero()[0]))
        event = made.data.event_names[rng.choice(present[[row]].nonzero()[1])]
        label = made.data.label_names[at]
        if (label, event) not in taken:
            taken.add((label, event))
            found.append((label, event, 1))
    return found


def claimed(made: Simulated, pairs: list[Pair], rng: np.random.Generator) -> LabelGraph:
    """The graph of these edges, with a frequency and a strength as phase 1 states them."""
    data = made.data
    together = (data.label_matrix().T @ data.presence()).toarray() / np.maximum(data.support, 1)[:, None]
    shares = [
        INHIBITING if sign < 0 else together[data.label_names.index(label), data.event_names.index(event)]
        for label, event, sign in pairs
    ]
    edges = pl.DataFrame(
        pairs, schema={"label": pl.String, "event": pl.String, "sign": pl.Int8}, orient="row"
    )
    edges = edges.with_columns(
        frequency=pl.Series(np.array(shares) * rng.uniform(0.5, 1.0, len(pairs))),
        strength=pl.Series(rng.uniform(0.5, 3.0, len(pairs))),
    )
    return LabelGraph.from_edges(edges, dict(zip(data.label_names, data.support.tolist(), strict=True)))


if __name__ == "__main__":
    main()
