"""Time and memory of phase 2 at the paper's size: 10 million votes over 29,100 event types and 474 labels.

The votes are made up and written in shards as `extract` writes them: labels and event types of a long tail,
half of the votes of each label on a few event types, the rest anywhere, and for every shard the pairs that
met. Then the whole command's work is measured in a process of its own: reading the shards, counting, writing
the votes, applying the rule and writing the graph; and once more from the votes alone. Run:
`.venv/bin/python -m benchmarks.scale.fusing`
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from eventcargo.edges import EDGES, EXPOSED, POSITIVES, SUPPORT, EdgeFolder, EdgeTable
from eventcargo.fusion import FuseConfig, fuse_run
from eventcargo.io import write_graph

from benchmarks.record import peak_gigabytes, provenance, save

SEED = 0
EVENTS, LABELS, CAUSES = 29_100, 474, 8
SHARD, VOTES = 2_048, 20
"""Sequences of a shard, and votes of a label in a sequence."""
POLARITIES = ("present", "absent")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=10_000_000)
    parser.add_argument("--shards", type=int, default=25)
    parser.add_argument("--only", type=Path, default=None, help="measure this run here and print it")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measure(options.only)))
        return
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder)
        sizes = write_shards(run / "edges", options.votes, options.shards)
        rows = {name: apart(run) for name in ("from edges", "from votes")}
    result = {**provenance(SEED), "event_types": EVENTS, "labels": LABELS, **sizes, **rows}
    print(f"written to {save('fusion_size', result, options.out)}")


def write_shards(folder: Path, votes: int, shards: int) -> dict[str, int]:
    """Write shards of made-up edges; how many rows they have."""
    rng = np.random.default_rng(SEED)
    shares = 1 / np.arange(1, LABELS + 1)
    causes = rng.integers(EVENTS, size=(LABELS, CAUSES))
    plan = {
        "shards": shards,
        "labels": [f"L{n:03}" for n in range(LABELS)],
        "data": "made up",
        "model": "none",
    }
    out, rows = EdgeFolder.create(folder, plan, resume=False), {"votes": 0, "exposed": 0, "shards": shards}
    for number in range(shards):
        parts = [part(rng, number, polarity, votes // shards // 2, shares, causes) for polarity in POLARITIES]
        table = EdgeTable.join(parts)
        out.write(number, table)
        rows = {
            **rows,
            "votes": rows["votes"] + len(table.edges),
            "exposed": rows["exposed"] + len(table.exposed),
        }
    return rows


def part(rng: Any, number: int, polarity: str, votes: int, shares: Any, causes: Any) -> EdgeTable:
    """Edges of one polarity in a shard, each of a sequence, a label and an event type of its own."""
    kind = {"test": "total", "polarity": polarity}
    of_pair = rng.choice(LABELS, votes // VOTES, p=shares / shares.sum())  # a label tested in a sequence
    pair = rng.integers(len(of_pair), size=votes)
    label, sequence = of_pair[pair], pair % SHARD
    anywhere = (EVENTS * rng.random(votes) ** 2).astype(np.int64)
    event = np.where(rng.random(votes) < 0.5, causes[label, rng.integers(CAUSES, size=votes)], anywhere)
    names = {
        "sequence": pl.Series([f"{polarity}{SHARD * number + n:07}" for n in range(SHARD)])[sequence],
        "label": pl.Series([f"L{n:03}" for n in range(LABELS)])[label],
        "event": pl.Series([f"E{n:05}" for n in range(EVENTS)])[event],
    }
    numbers = {
        name: rng.random(votes).astype(np.float32) for name in ("strength", "effect", "before", "entropy")
    }
    made = pl.DataFrame({**names, **numbers}).unique(["sequence", "label", "event"], keep="first")
    made = made.with_columns(
        position=pl.lit(0, pl.Int32),
        effect_sd=pl.lit(0.0, pl.Float32),
        others=pl.lit([], pl.List(pl.String)),
        **{k: pl.lit(v) for k, v in kind.items()},
    )
    exposed = made.group_by("label", "event").agg((pl.len() + 1).cast(pl.Int64).alias("sequences"))
    tested = made.group_by("label").agg(pl.col("sequence").n_unique().alias("sequences"))
    exposed = exposed.join(tested, on="label", suffix="_most").with_columns(
        pl.min_horizontal("sequences", "sequences_most")
    )
    positives = tested.select("label", positives="sequences", sequences=pl.lit(SHARD))
    return EdgeTable(
        made.select(pl.col(name).cast(kind) for name, kind in EDGES.items()),
        tested.with_columns(**{k: pl.lit(v) for k, v in kind.items()}).select(
            pl.col(name).cast(kind) for name, kind in SUPPORT.items()
        ),
        exposed.with_columns(**{k: pl.lit(v) for k, v in kind.items()}).select(
            pl.col(name).cast(kind) for name, kind in EXPOSED.items()
        ),
        positives.select(pl.col(name).cast(kind) for name, kind in POSITIVES.items()),
    )


def apart(run: Path) -> dict[str, Any]:
    """Figures of fusing a run, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale.fusing", "--only", str(run)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    row: dict[str, Any] = json.loads(printed.splitlines()[-1])
    print(row, flush=True)
    return row


def measure(run: Path) -> dict[str, Any]:
    """Seconds and peak memory of fusing a run."""
    began, worked = time.perf_counter(), time.process_time()
    graph = fuse_run(run, FuseConfig())
    write_graph(graph, run / "graph.parquet")
    seconds = time.perf_counter() - began
    return {
        "seconds": seconds,
        "cpu_seconds": time.process_time() - worked,
        "peak_gigabytes": peak_gigabytes(),
        "edges": len(graph),
    }


if __name__ == "__main__":
    main()
