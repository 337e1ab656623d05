"""Evidence: which edges the pooled evidence of all sequences shows, whatever single sequences say.

The evidence of an edge is a log-likelihood ratio of sequences that the weights have not seen. Under
independence its exponential has an expectation of about 1, so exp(-evidence) serves as a p-value (Markov's
inequality, as in universal inference; Wasserman, Ramdas & Balakrishnan 2020). Event types without a weight in
the model have no evidence, but they were tried as well: false discoveries are controlled over all pairs of a
label and an event type. Edges that single sequences vote for are few, and controlled among themselves.
"""

import math

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtr

from eventcargo.edges import GRAINS, SQUARE_GRAINS

PAIR = ["label", "event"]


def in_nats(pooled: pl.DataFrame) -> pl.DataFrame:
    """A row for each pair: evidence in nats, its standard error, its weight in tests, and the mean effect.

    In tests, the evidence of sequences in groups weighs as that of as many independent sequences.
    """
    squares, of_groups = (pl.col(name) / SQUARE_GRAINS for name in ("squares", "group_squares"))
    design_effect = pl.max_horizontal(of_groups / squares, 1.0)
    evidence = pl.col("evidence") / GRAINS
    return pooled.select(
        *PAIR,
        evidence=evidence,
        evidence_sd=of_groups.sqrt(),
        weight=evidence / design_effect,
        mean_effect=pl.col("effect") / GRAINS / pl.col("sequences"),
    )


def discovered(nats: pl.DataFrame, voted: pl.DataFrame, n_pairs: int, alpha: float) -> pl.DataFrame:
    """The pairs that are discoveries, among all or among those with sure votes, and their `threshold`."""
    marked = nats.join(
        voted.select(PAIR).with_columns(is_voted=True), on=PAIR, how="left", maintain_order="left"
    )
    marked = marked.with_columns(pl.col("is_voted").fill_null(False))
    of_all = evidence_threshold(nats["weight"].to_numpy(), alpha, n_pairs)
    of_voted = evidence_threshold(marked.filter("is_voted")["weight"].to_numpy(), alpha, len(voted))
    threshold = pl.when("is_voted").then(min(of_voted, of_all)).otherwise(of_all)
    return marked.with_columns(threshold=threshold).filter(pl.col("weight") >= pl.col("threshold"))


def evidence_threshold(evidence: NDArray[np.float64], alpha: float, n_tests: int) -> float:
    """The smallest evidence that is a discovery, by the Benjamini-Hochberg procedure on exp(-evidence).

    >>> round(evidence_threshold(np.array([20.0, 9.5, 1.0]), 0.05, n_tests=1000), 2)  # log(1000 / 0.05 / 2)
    9.21
    """
    rank = np.arange(1, len(evidence) + 1)
    least = np.log(max(n_tests, 1) / alpha / rank)
    passing = np.flatnonzero(np.sort(evidence)[::-1] >= least)
    return float(least[passing[-1]]) if len(passing) else math.log(max(n_tests, 1) / alpha)


def evidence_stability(edges: pl.DataFrame) -> NDArray[np.float64]:
    """The share of resampled data in which the evidence would still reach its threshold."""
    names = ("evidence", "evidence_sd", "threshold")
    evidence, error, threshold = (edges[name].to_numpy() for name in names)
    stability: NDArray[np.float64] = ndtr((evidence - threshold) / np.maximum(error, 1e-9))
    return stability
