"""Votes with the error rates of sec:agg_imperfect_ci_tests: what each rule keeps, and what theory says.

Labels of a long-tailed support have true edges that a sequence finds with chance 1 - beta, and spurious ones
with chance alpha; their mutual information is drawn from the two Beta components that the rule `fpr` assumes.
Recall, and the share of spurious edges kept, are compared with their exact expectation. Nothing is trained
and no data are needed. Run: `.venv/bin/python -m benchmarks.accuracy.fusion_oracle`
"""

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binom

from eventcargo.fusion import FuseConfig, Votes, VoteStore, adaptive
from eventcargo.fusion.counting import GRAINS
from eventcargo.fusion.fuse import fuse
from eventcargo.fusion.votes import COUNTS, N_EXPOSED, TESTED
from eventcargo.statistics.intervals import jeffreys

from benchmarks.record import provenance, save

Floats = NDArray[np.float64]

SEED = 0
LABELS, TRUE, SPURIOUS, SEQUENCES = 200, 5, 100, 20_000
ALPHA_SHAPE, BETA_SHAPE = 6.0, 30.0
"""Shapes of the Beta components of true and spurious edges."""

RATES = [(0.0, 1.0), (0.01, 0.9), (0.02, 0.8), (0.05, 0.8), (0.1, 0.8), (0.02, 0.5), (0.02, 0.2), (0.1, 0.2)]
"""alpha and 1 - beta."""

RULES = {
    "union": FuseConfig(criterion="union"),
    "static .05": FuseConfig(criterion="static", tau=0.05),
    "static .25": FuseConfig(criterion="static", tau=0.25),
    "static .5": FuseConfig(criterion="static", tau=0.5),
    "static .8": FuseConfig(criterion="static", tau=0.8),
    "adaptive": FuseConfig(criterion="adaptive"),
    "fpr .05": FuseConfig(criterion="fpr", fpr=0.05),
    "bes": FuseConfig(criterion="bes"),
    "caig": FuseConfig(criterion="caig"),
    "confident": FuseConfig(criterion="confident"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    rows = [row for rates in RATES for row in measure(*rates, options.seeds)]
    for row in rows:
        print({name: round(value, 3) if isinstance(value, float) else value for name, value in row.items()})
    odd = max(
        abs(row[name] - row[f"{name} by theory"])
        for row in rows
        for name in ("recall", "let through")
        if row[f"{name} by theory"] is not None
    )
    result = {**provenance(SEED), "labels": LABELS, "largest difference from theory": odd, "rows": rows}
    path = save("fusion_oracle", result, options.out)
    print(f"largest difference from theory {odd:.3f}; written to {path}")


def measure(alpha: float, sensitivity: float, seeds: int) -> list[dict[str, Any]]:
    """Figures of all rules at one pair of error rates, means over seeds."""
    found: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in RULES}
    for seed in range(seeds):
        store, support = drawn(np.random.default_rng([SEED, seed]), alpha, sensitivity)
        for name, config in RULES.items():
            found[name].append(_shares(fuse(store, config).edges))
    theory = {name: _theory(config, support, alpha, sensitivity) for name, config in RULES.items()}
    names = ("recall", "let through", "precision", "f1")
    return [
        {
            "alpha": alpha,
            "sensitivity": sensitivity,
            "rule": rule,
            **dict(zip(names, np.mean(found[rule], axis=0).tolist(), strict=True)),
            "recall by theory": theory[rule][0],
            "let through by theory": theory[rule][1],
        }
        for rule in RULES
    ]


def drawn(rng: np.random.Generator, alpha: float, sensitivity: float) -> tuple[VoteStore, dict[str, int]]:
    """The votes of one draw, and the support of every label.

    The label's probability before an event is its base rate, so that all of the information is strength.
    """
    support = {f"L{n:03}": round(5 * 400 ** (n / (LABELS - 1))) for n in range(LABELS)}  # 5 to 2,000
    tested = np.repeat(list(support.values()), TRUE + SPURIOUS)
    real = np.tile(np.arange(TRUE + SPURIOUS) < TRUE, LABELS)
    votes = rng.binomial(tested, np.where(real, sensitivity, alpha))
    beta = np.where(real, rng.beta(ALPHA_SHAPE, 1, len(real)), rng.beta(1, BETA_SHAPE, len(real)))
    rate = tested / SEQUENCES
    means = {
        "strength": -np.log1p(-beta) / 2,
        "effect": beta,
        "before": rate,
        "entropy": -rate * np.log(rate) - (1 - rate) * np.log1p(-rate),
    }
    columns = {
        "label": np.repeat(list(support), TRUE + SPURIOUS),
        "event": np.tile([f"{'T' if n < TRUE else 'U'}{n:03}" for n in range(TRUE + SPURIOUS)], LABELS),
        **dict.fromkeys(("votes", "promoting", "informed"), votes),
        **{name: np.round(mean * GRAINS).astype(np.int64) * votes for name, mean in means.items()},
    }
    pairs = pl.DataFrame(columns, schema=COUNTS).with_columns(n_exposed=pl.Series(tested))
    found = pairs.filter(pl.col("votes") > 0)
    per_label = pl.DataFrame({"label": list(support), "support": list(support.values())}, schema=TESTED)
    votes_of = Votes("total", "present", found.drop("n_exposed"), found.select(*N_EXPOSED), per_label)
    positives = per_label.select("label", positives="support", sequences=pl.lit(SEQUENCES, pl.Int64))
    return VoteStore({("total", "present"): votes_of}, positives), support


def _shares(edges: pl.DataFrame) -> tuple[float, float, float, float]:
    """Recall, share of the spurious edges kept, precision, and mean F1 of the labels."""
    true = edges["event"].str.starts_with("T")
    counts = edges.with_columns(true=true).group_by("label").agg(pl.col("true").sum(), n=pl.len())
    f1 = (2 * counts["true"] / (counts["n"] + TRUE)).sum() / LABELS
    n_true = int(true.sum())
    spurious = (len(edges) - n_true) / (LABELS * SPURIOUS)
    return n_true / (LABELS * TRUE), spurious, n_true / max(len(edges), 1), float(f1)


def _theory(
    config: FuseConfig, support: dict[str, int], alpha: float, sensitivity: float
) -> tuple[float | None, float | None]:
    """Expected recall and expected share of the spurious edges kept; None where the rule says nothing."""
    tested = np.array(list(support.values()))
    least = {
        "union": lambda: np.zeros(len(tested)),
        "static": lambda: np.full(len(tested), config.tau),
        "adaptive": lambda: np.array(list(adaptive(support).values())),
    }
    if config.criterion in least:
        needed = np.maximum(np.ceil(least[config.criterion]() * tested - 1e-9), 1)
        return _tail(needed, tested, sensitivity), _tail(needed, tested, alpha)
    if config.criterion == "confident":
        needed = np.array([_needed(n, max(config.min_frequency, config.min_opportunity)) for n in tested])
        return _tail(needed, tested, sensitivity), _tail(needed, tested, alpha)
    voted = [_tail(np.ones(len(tested)), tested, rate) for rate in (sensitivity, alpha)]
    if config.criterion == "bes":
        return voted[0], voted[1]
    if config.criterion == "fpr":
        if not alpha:  # the mixture assumes that there are spurious edges
            return None, None
        return voted[0] * _above_fpr(config.fpr), voted[1] * config.fpr
    costs = config.penalty * np.log(SEQUENCES / tested + 1)
    squared = -np.expm1(-2 * costs)
    some = [1 - (1 - rate) ** tested for rate in (sensitivity, alpha)]
    shares = 1 - squared**ALPHA_SHAPE, (1 - squared) ** BETA_SHAPE
    return float((some[0] * shares[0]).mean()), float((some[1] * shares[1]).mean())


def _tail(needed: Floats, tested: Floats, rate: float) -> float:
    """The mean chance of at least so many votes."""
    return float(binom.sf(needed - 1, tested, rate).mean())


def _needed(tested: int, least: float) -> float:
    """The fewest votes that are sure."""
    votes = np.arange(2, tested + 1)
    sure = np.flatnonzero(jeffreys(votes, tested)[0] >= least)
    return float(votes[sure[0]]) if len(sure) else math.inf


def _above_fpr(fpr: float) -> float:
    """The share of true edges above the cutoff that a share `fpr` of the spurious ones exceeds."""
    cutoff = 1 - fpr ** (1 / BETA_SHAPE)
    return float(1 - cutoff**ALPHA_SHAPE)


if __name__ == "__main__":
    main()
