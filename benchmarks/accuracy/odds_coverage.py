"""How often the stated 95 % interval of an edge's odds ratio holds the true one.

Data sets of the regime `log_odds`, in which each cause multiplies the odds of its label by a known factor, of
1,000 to 8,000 sequences. With the true boundaries given, the interval of every edge is compared with the
truth; so are those of the true edges that IAMB finds, which are a choice of what came out strong, each given
the boundary that was found. Test seeds 0 to 4, validation seeds 100 to 104. Beside it stands what the odds
ratios of a large fleet cost, in seconds of one core. Run:
`.venv/bin/python -m benchmarks.accuracy.odds_coverage`
"""

import argparse
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from eventcargo import LabelGraph, find_boundaries
from eventcargo.graphs import weight_of
from eventcargo.simulation import Simulated, simulate
from eventcargo.verification.odds_ratios import odds_ratios

from benchmarks.record import provenance, save

SEEDS = {"test": range(5), "validation": range(100, 105)}
SIZES = (1_000, 3_000, 8_000)
"""Sequences of a data set; the last is the regime's own."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    rows = [measure(seeds, size) for seeds in SEEDS for size in SIZES]
    seed = [one for seeds in SEEDS.values() for one in seeds]
    result = {**provenance(seed), "rows": rows, "cost": cost()}
    print(f"written to {save('odds_coverage', result, options.out)}")


def measure(seeds: str, size: int) -> dict[str, Any]:
    """Coverage in data sets of one size."""
    true, found = list[pl.DataFrame](), list[pl.DataFrame]()
    for seed in SEEDS[seeds]:
        simulated = simulate("log_odds", sequences=size, seed=seed)
        true.append(intervals(simulated.truth, simulated))
        found.append(intervals(find_boundaries(simulated.data), simulated))
    row = {
        "seeds": seeds,
        "sequences": size,
        "true boundaries": summary(pl.concat(true)),
        "true edges of boundaries found by IAMB": summary(pl.concat(found)),
    }
    print(row, flush=True)
    return row


def cost() -> dict[str, Any]:
    """Time for the true boundaries of a large fleet, without groups and with groups of five sequences."""
    fleet = simulate("fleet", sequences=50_000, event_types=29_100, labels=474)
    grouped = fleet.data.in_groups(np.arange(len(fleet.data)) // 5)
    row: dict[str, Any] = {
        "sequences": len(fleet.data),
        "labels": len(fleet.truth.labels),
        "edges": len(fleet.truth),
    }
    for name, data in (("seconds", fleet.data), ("seconds with groups", grouped)):
        began = time.process_time()
        odds_ratios(fleet.truth, data)
        row[name] = round(time.process_time() - began, 1)
    print(row)
    return row


def true_odds(simulated: Simulated) -> pl.DataFrame:
    """The factor of every cause, from the rules in words."""
    rows = [
        (label, event, float(factor))
        for label, rule in simulated.rules.items()
        for event, factor in re.findall(r"(E\d+) x ([\d.e+-]+)", rule)
    ]
    table = pl.DataFrame(
        rows, schema={"label": pl.String, "event": pl.String, "true": pl.Float64}, orient="row"
    )
    assert len(table) == len(simulated.truth), f"{len(table)} factors of {len(simulated.truth)} causes"
    return table


def intervals(graph: LabelGraph, simulated: Simulated) -> pl.DataFrame:
    """The true edges of a graph with odds ratio, interval and truth."""
    edges = odds_ratios(graph, simulated.data).edges
    return edges.select("label", "event", "odds_ratio", "odds_low", "odds_high").join(
        true_odds(simulated), on=["label", "event"], maintain_order="left"
    )


def summary(edges: pl.DataFrame) -> dict[str, Any]:
    """How many intervals hold the truth, how many lie above or below it, and how wide they are."""
    known = edges.drop_nulls("odds_ratio")
    true, low, high = (known[name].to_numpy() for name in ("true", "odds_low", "odds_high"))
    error = np.log(known["odds_ratio"].to_numpy() / true)
    weights = [weight_of(*ends) for ends in known.select("odds_low", "odds_high").iter_rows()]
    return {
        "edges": len(edges),
        "without an odds ratio": len(edges) - len(known),
        "covered": _share((low <= true) & (true <= high)),
        "above the truth": _share(low > true),
        "below the truth": _share(high < true),
        "median factor from end to end": round(float(np.median(high / low)), 2),
        "mean error of the log odds ratio": round(float(error.mean()), 3),
        "weights": {weight: weights.count(weight) for weight in ("strong", "moderate", "weak")},
    }


def _share(inside: np.ndarray[Any, np.dtype[np.bool_]]) -> float:
    return round(float(inside.mean()), 4)


if __name__ == "__main__":
    main()
