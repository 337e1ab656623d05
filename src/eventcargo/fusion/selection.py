"""Selection: the edges that a rule keeps, each with its interval and its stability.

Rows are those of `Poll.table` with a column `required`: edges that are kept whatever the rule says.
"""

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import betainc

from eventcargo.errors import DataError
from eventcargo.fusion.caig import exceeds
from eventcargo.fusion.intervals import LEVEL, jeffreys
from eventcargo.fusion.stability import Border, lower_end_border, share_border, stability

Floats = NDArray[np.float64]

PAIR = ["label", "event"]
TAIL = (1 - LEVEL) / 2
"""Chance that the true share is below the interval of `LEVEL`."""

LEAST_VOTES = 2
"""Votes that make an edge sure at least: the interval of one of one begins far above 0."""


def by_frequency(rows: pl.DataFrame, thresholds: Mapping[str, float]) -> pl.DataFrame:
    """The edges whose frequency is at least the threshold of their label."""
    found = _with_thresholds(rows, thresholds)
    kept = found.filter((pl.col("frequency") >= pl.col("threshold")) | pl.col("required"))
    border = share_border(kept["threshold"].to_numpy())
    return _described(kept, _stability(kept, border, _any_misses))


def by_information(rows: pl.DataFrame, costs: Mapping[str, float]) -> pl.DataFrame:
    """The edges whose mutual information is above the cost of their label; their stability is not known."""
    check_information(rows)
    worth = exceeds(rows["label"].to_list(), rows["information"].to_numpy(), costs)
    kept = _with_thresholds(rows, costs).filter(pl.Series(worth) | pl.col("required"))
    return _described(kept, pl.repeat(None, len(kept), dtype=pl.Float64, eager=True))


def check_information(rows: pl.DataFrame) -> None:
    """Refuse edges of which the mutual information is not known."""
    unknown = rows["information"].null_count()
    if unknown:
        raise DataError(
            f"the information of {unknown:,} of {len(rows):,} edges is not known; extract the edges again, "
            "or choose a rule by frequency"
        )


def by_confidence(rows: pl.DataFrame, least: float, opportunity: float) -> pl.DataFrame:
    """The edges that are surely found often enough where the label is present, or where it is absent.

    Surely: Jeffreys' interval of votes / support begins at `least` or above, and that of votes / chances at
    `opportunity`, and there are two votes. So the rarer the label, the larger the share that is needed.
    Frequency and interval are those of the polarity where the lower end is higher; strength, effect and sign
    are of the votes of both.
    """
    likely = (pl.col("votes") >= least * pl.col("support")) & (
        pl.col("votes") >= opportunity * pl.col("chances")
    )
    found = _of_pairs(rows, likely | pl.col("required"))  # the test below is slow
    votes, support, chances = (found[name].to_numpy() for name in ("votes", "support", "chances"))
    passes = (votes >= LEAST_VOTES) & _begins_at(votes, support, least)
    passes &= _begins_at(votes, chances, opportunity)
    found = found.with_columns(passes=pl.Series(passes), threshold=pl.lit(least))
    found = _of_pairs(found, pl.col("passes") | pl.col("required"))
    borders = [lower_end_border(share, TAIL, LEAST_VOTES) for share in (least, opportunity)]
    return _pooled(_described(found, _stability(found, *borders)))


def _of_pairs(rows: pl.DataFrame, good: pl.Expr) -> pl.DataFrame:
    """The rows of the edges that have a good one."""
    return rows.join(rows.filter(good).select(PAIR).unique(), on=PAIR, how="semi", maintain_order="left")


def _begins_at(found: Floats, tried: Floats, least: float) -> NDArray[np.bool_]:
    """Whether Jeffreys' interval begins at `least` or above."""
    return betainc(found + 0.5, tried - found + 0.5, least) <= TAIL


def _pooled(rows: pl.DataFrame) -> pl.DataFrame:
    """One row for each edge from the rows of its polarities."""
    votes = pl.col("votes")
    means = [((pl.col(name) * votes).sum() / votes.sum()).alias(name) for name in ("strength", "effect")]
    best = rows.sort(
        *PAIR,
        "passes",
        "ci_low",
        "polarity",
        descending=[False, False, True, True, True],
        maintain_order=True,
    )
    return best.group_by(PAIR, maintain_order=True).agg(
        pl.col("frequency", "threshold", "ci_low", "ci_high", "required").first(),
        *means,
        pl.col("votes", "promoting").sum(),
        stability=1 - (1 - pl.col("stability")).product(),
    )


def _with_thresholds(rows: pl.DataFrame, thresholds: Mapping[str, float]) -> pl.DataFrame:
    missing = sorted(set(rows["label"].unique()) - set(thresholds))
    if missing:
        raise DataError(f"{len(missing):,} labels have no threshold, the first: {missing[0]!r}")
    least = pl.DataFrame(
        {"label": list(thresholds), "threshold": list(thresholds.values())},
        schema={"label": pl.String, "threshold": pl.Float64},
    )
    return rows.join(least, on="label", how="left", maintain_order="left")


def _any_misses(votes: Floats, rows: NDArray[np.int64]) -> Floats:  # noqa: ARG001 (a border)
    return np.full(votes.shape, np.inf)


def _stability(rows: pl.DataFrame, of_tested: Border, of_met: Border) -> pl.Series:
    votes, met, tested = (rows[name].to_numpy() for name in ("votes", "chances", "support"))
    return pl.Series(stability(votes, met, tested, of_tested, of_met))


def _described(rows: pl.DataFrame, stable: pl.Series) -> pl.DataFrame:
    """Rows with the interval of their frequency and their stability; a required edge is always kept."""
    low, high = jeffreys(rows["votes"].to_numpy(), rows["support"].to_numpy())
    told = rows.with_columns(ci_low=pl.Series(low), ci_high=pl.Series(high), stability=stable)
    return told.with_columns(stability=pl.when("required").then(1.0).otherwise("stability"))
