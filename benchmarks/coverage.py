"""How often the stated 95 % interval of an edge's frequency holds the true one, and what stability foretells.

A large population of the regime `exact` is examined once with exact probabilities (validation seed 100). Its
shards, of 256 sequences each, are then fused in disjoint parts of one, two, four and eight: the interval of
every edge of a part is compared with the frequency in the whole population. Edges that a rule keeps are a
choice of those that came out high, so that these are told apart. Beside it stands how often an edge that one
part keeps with a stated stability is kept by the next part. Run: `.venv/bin/python benchmarks/coverage.py`
"""

import argparse
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from eventcargo.fusion import Poll, fuse, jeffreys
from eventcargo.models import Oracle
from eventcargo.oneshot.extract import extract
from eventcargo.oneshot.settings import ExtractConfig
from eventcargo.simulate.exact import ExactConfig, ExactProcess

from record import provenance, save

SEED, SHARD = 100, 256
PARTS = (1, 2, 4, 8)
PAIR = ["label", "event"]
KEY = [*PAIR, "polarity"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=int, default=200)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    process = ExactProcess.from_config(ExactConfig(), seed=SEED)
    with tempfile.TemporaryDirectory() as folder:
        data = process.sample(options.shards * SHARD, seed=SEED).data
        edges = extract(Oracle(process), data, Path(folder) / "edges", ExtractConfig(workers=1, shard=SHARD))
        shards = [Poll.of(edges.read(number)) for number in range(options.shards)]
        whole = Poll.of_folder(edges)
    rows = [measure(shards, whole, size) for size in PARTS]
    result = {**provenance(SEED), "shards": options.shards, "rows": rows}
    print(f"written to {save('coverage', result, options.out)}")


def measure(shards: list[Poll], whole: Poll, size: int) -> dict[str, Any]:
    """Coverage and stability in parts of so many shards."""
    polls = [Poll.join(shards[at : at + size]) for at in range(0, len(shards) - size + 1, size)]
    graphs = [fuse(poll) for poll in polls]
    every = pl.concat([_intervals(poll, whole) for poll in polls])
    kept = pl.concat([_kept(graph.edges, whole) for graph in graphs])
    row = {
        "sequences": size * SHARD,
        "parts": len(polls),
        "edges": {"intervals": len(every), "covered": _covered(every), "by edge": _spread(every)},
        "kept edges": {"intervals": len(kept), "covered": _covered(kept)},
        "stability": _foretold(graphs),
    }
    print(row, flush=True)
    return row


def _intervals(poll: Poll, whole: Poll) -> pl.DataFrame:
    """Intervals of all edges that the population has in at least 1 % of the tested sequences.

    An edge without a vote in this part has an interval, too: where the part has tested its label.
    """
    true = whole.table("total").filter(pl.col("frequency") >= 0.01).select(*KEY, true="frequency")
    tested = pl.concat(
        votes.tested.with_columns(polarity=pl.lit(polarity)) for (_, polarity), votes in poll.votes.items()
    )
    found = true.join(tested, on=["label", "polarity"]).join(
        poll.table("total").select(*KEY, "votes"), on=KEY, how="left"
    )
    low, high = jeffreys(found["votes"].fill_null(0).to_numpy(), found["support"].to_numpy())
    return found.with_columns(ci_low=pl.Series(low), ci_high=pl.Series(high))


def _kept(edges: pl.DataFrame, whole: Poll) -> pl.DataFrame:
    """Kept edges with the true frequency of the polarity whose interval they have.

    A graph does not say which polarity that was: the one whose true frequency is higher is taken.
    """
    true = whole.table("total").group_by(PAIR).agg(pl.col("frequency").max().alias("true"))
    return edges.select(*PAIR, "ci_low", "ci_high").join(true, on=PAIR)


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
