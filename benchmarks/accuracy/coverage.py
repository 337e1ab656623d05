"""How often the stated 95 % interval of an edge's frequency holds the true one, and what stability foretells.

Data sets of 64 to 512 sequences are drawn from the regime `exact` (validation seed 100), many of each
size, and each is examined with exact probabilities and fused by itself, as a user does it. The true frequency
of an edge is that of all data sets of a size together. The interval of every edge is compared with it, and
again those of the edges that are kept, which are a choice of what came out high. Beside it stands how often
an edge of a stated stability is kept in the next data set, too. Run:
`.venv/bin/python -m benchmarks.accuracy.coverage`
"""

import argparse
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from eventcargo.fusion import VoteStore
from eventcargo.fusion.fuse import fuse
from eventcargo.models import Oracle
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.extract import extract
from eventcargo.simulation.exact import ExactConfig, ExactProcess
from eventcargo.statistics.intervals import jeffreys

from benchmarks.record import provenance, save

SEED = 100
SIZES = {64: 100, 128: 50, 256: 50, 512: 50}
"""Sequences of a data set, and how many are drawn."""

PAIR = ["label", "event"]
KEY = [*PAIR, "polarity"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    process = ExactProcess.from_config(ExactConfig(), seed=SEED)
    rows = [measure(process, size, parts) for size, parts in SIZES.items()]
    print(f"written to {save('coverage', {**provenance(SEED), 'rows': rows}, options.out)}")


def drawn(process: ExactProcess, size: int, parts: int) -> list[VoteStore]:
    """The votes of so many data sets."""
    model, polls = Oracle(process), []
    for part in range(parts):
        data = process.sample(size, seed=SEED * 10_000 + part).data
        with tempfile.TemporaryDirectory() as folder:
            polls.append(
                VoteStore.of_folder(
                    extract(model, data, Path(folder) / "edges", ExtractConfig(workers=1, max_cases=0))
                )
            )
    return polls


def measure(process: ExactProcess, size: int, parts: int) -> dict[str, Any]:
    """Coverage and stability in data sets of one size."""
    polls = drawn(process, size, parts)
    graphs, whole = [fuse(store) for store in polls], VoteStore.join(polls)
    found = [intervals(store, whole) for store in polls]
    every = pl.concat(found)
    kept = pl.concat(_kept(rows, graph.edges) for rows, graph in zip(found, graphs, strict=True))
    row = {
        "sequences": size,
        "data sets": parts,
        "edges": {"intervals": len(every), "covered": _covered(every), "by edge": _spread(every)},
        "kept edges": {"intervals": len(kept), "covered": _covered(kept)},
        "stability": _foretold(graphs),
    }
    print(row, flush=True)
    return row


def intervals(store: VoteStore, whole: VoteStore) -> pl.DataFrame:
    """Intervals of all edges that truly have a frequency of at least 1 %, found in this data set or not."""
    true = whole.table("total").filter(pl.col("frequency") >= 0.01).select(*KEY, true="frequency")
    tested = pl.concat(
        votes.tested.with_columns(polarity=pl.lit(polarity)) for (_, polarity), votes in store.votes.items()
    )
    found = true.join(tested, on=["label", "polarity"]).join(
        store.table("total").select(*KEY, "votes"), on=KEY, how="left"
    )
    low, high = jeffreys(found["votes"].fill_null(0).to_numpy(), found["support"].to_numpy())
    return found.with_columns(ci_low=pl.Series(low), ci_high=pl.Series(high))


def _kept(rows: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """The intervals of kept edges, of the polarity where they begin higher."""
    of_edges = rows.join(edges.select(PAIR), on=PAIR, how="semi")
    return of_edges.sort("ci_low", descending=True).unique(PAIR, keep="first", maintain_order=True)


def _covered(rows: pl.DataFrame) -> float:
    inside = (rows["ci_low"] <= rows["true"]) & (rows["true"] <= rows["ci_high"])
    return float(inside.mean())  # type: ignore[arg-type]


def _spread(rows: pl.DataFrame) -> list[float]:
    """Least, median and largest coverage of single edges."""
    inside = (pl.col("ci_low") <= pl.col("true")) & (pl.col("true") <= pl.col("ci_high"))
    shares = rows.group_by(KEY).agg(inside.mean().alias("share"))["share"].to_numpy()
    return np.quantile(shares, [0, 0.5, 1]).tolist()


def _foretold(graphs: list[Any]) -> list[dict[str, Any]]:
    """Of edges by their stated stability, how often the next part keeps them, too."""
    pairs = []
    for graph, after in zip(graphs, graphs[1:] + graphs[:1], strict=True):
        again = after.edges.select(*PAIR, again=pl.lit(True))
        pairs.append(graph.edges.select(*PAIR, "stability").join(again, on=PAIR, how="left"))
    table = pl.concat(pairs).with_columns(pl.col("again").fill_null(False))
    bounds = (0.0, 0.6, 0.8, 0.95, 0.99, 1.0 + 1e-9)
    rows = []
    for low, high in pairwise(bounds):
        part = table.filter((pl.col("stability") >= low) & (pl.col("stability") < high))
        if len(part):
            rows.append(
                {
                    "from": low,
                    "to": min(high, 1.0),
                    "edges": len(part),
                    "stated": float(part["stability"].mean()),  # type: ignore[arg-type]
                    "kept by the next part": float(part["again"].mean()),  # type: ignore[arg-type]
                }
            )
    return rows


if __name__ == "__main__":
    main()
