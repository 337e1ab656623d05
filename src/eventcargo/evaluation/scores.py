"""Scores: precision, recall and F1 of every label, and their micro, macro and weighted averages.

Both protocols (whole boundaries, single sequences) end here. `with_ratios` alone decides how empty sets
score, for labels, for single sequences and for pooled counts.
"""

from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from eventcargo.errors import counted

MEASURES = ("precision", "recall", "f1")
AVERAGES = ("micro", "macro", "weighted")
COUNTS = ("n_true", "n_found", "n_hit")


@dataclass(frozen=True)
class Average:
    """Precision, recall and F1, averaged in one way; F1 is itself averaged, not computed from the others."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Scores:
    """How well boundaries were found.

    `per_label` has the columns label, support, n_true, n_found, n_hit, precision, recall, f1, sorted by
    label. `micro` pools the counts, `macro` is the mean over labels, `weighted` the mean weighted by support.
    If the support is unknown, `weighted` is None and `weighted_note` says why.
    """

    per_label: pl.DataFrame
    micro: Average
    macro: Average
    weighted: Average | None
    weighted_note: str | None = None

    def average(self, name: str) -> Average | None:
        """The average called "micro", "macro" or "weighted"."""
        return {"micro": self.micro, "macro": self.macro, "weighted": self.weighted}[name]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dictionaries, ready for JSON."""
        return {
            "n_labels": len(self.per_label),
            **{name: _plain(self.average(name)) for name in AVERAGES},
            "weighted_note": self.weighted_note,
            "per_label": self.per_label.to_dicts(),
        }


def _plain(average: Average | None) -> dict[str, float] | None:
    return None if average is None else asdict(average)


def with_ratios(counts: pl.DataFrame) -> pl.DataFrame:
    """`counts` with precision, recall and f1 = 2 n_hit / (n_true + n_found) added to n_true, n_found, n_hit.

    Empty sets: nothing true and nothing found is right (1, 1, 1). Nothing found although something is true
    has precision 0, so silence earns nothing. Something found although nothing is true has precision and F1 0
    and recall 1: nothing was missed, and another wrong edge never changes recall.
    """
    true, found, hit = (pl.col(name) for name in COUNTS)
    nothing_true = (true == 0).cast(pl.Float64)
    return counts.with_columns(
        precision=pl.when(found > 0).then(hit / found).otherwise(nothing_true),
        recall=pl.when(true > 0).then(hit / true).otherwise(1.0),
        f1=pl.when(true + found > 0).then(2 * hit / (true + found)).otherwise(1.0),
    )


def mean_of(table: pl.DataFrame, weights: pl.Series | None = None) -> Average:
    """The mean of the three measures over the rows of `table`."""
    if weights is None:
        values = table.select(pl.col(MEASURES).mean())
    else:
        values = table.select((pl.col(MEASURES) * weights).sum() / weights.sum())
    return Average(*values.row(0))


def pooled(counts: pl.DataFrame) -> Average:
    """The three measures of the counts summed over all rows."""
    total = with_ratios(counts.select(pl.col(COUNTS).sum()))
    return Average(*total.select(MEASURES).row(0))


def score_labels(counts: pl.DataFrame) -> Scores:
    """Scores from one row per label with label, support, n_true, n_found, n_hit."""
    per_label = with_ratios(counts.select("label", "support", *COUNTS)).sort("label")
    note = _why_not_weighted(per_label["support"])
    weighted = None if note else mean_of(per_label, per_label["support"])
    return Scores(per_label, pooled(per_label), mean_of(per_label), weighted, note)


def _why_not_weighted(support: pl.Series) -> str | None:
    if support.null_count():
        return (
            f"the support of {support.null_count():,} of {counted(len(support), 'label')} is unknown; "
            "use count_support(truth, data)"
        )
    if support.sum() == 0:
        return f"the support is 0 for all of {counted(len(support), 'label')}"
    return None
