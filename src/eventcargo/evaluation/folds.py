"""Scores over folds: the mean and the spread of every average.

As in the paper, the method runs on each fold by itself, not on the rest: a fold is a smaller population, and
the spread says how much the graph depends on the choice of sequences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from eventcargo.errors import ConfigError
from eventcargo.evaluation.scores import AVERAGES, MEASURES, Scores


@dataclass(frozen=True)
class FoldSummary:
    """The scores of every fold and a `table` with the columns average, measure, mean, sd.

    `sd` is the sample standard deviation (n - 1 in the denominator), null for a single fold. An average that
    is unknown in a fold is null.
    """

    folds: tuple[Scores, ...]
    table: pl.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dictionaries, ready for JSON."""
        return {
            "n_folds": len(self.folds),
            "summary": self.table.to_dicts(),
            "folds": [scores.to_dict() for scores in self.folds],
        }


def summarise_folds(folds: Sequence[Scores]) -> FoldSummary:
    """Mean and standard deviation of every average over the folds.

    >>> from eventcargo.evaluation.boundaries import evaluate
    >>> from eventcargo.graphs import LabelGraph
    >>> truth = LabelGraph.from_boundaries({"brake": ["P01"]}, support={"brake": 3})
    >>> scores = [evaluate(LabelGraph.from_boundaries({"brake": found}), truth) for found in (["P01"], [])]
    >>> summarise_folds(scores).table.row(0)
    ('micro', 'precision', 0.5, 0.707...)
    """
    if not folds:
        raise ConfigError("0 folds to summarise; give the scores of at least one fold")
    rows = [(name, measure, *_spread(folds, name, measure)) for name in AVERAGES for measure in MEASURES]
    schema = {"average": pl.String, "measure": pl.String, "mean": pl.Float64, "sd": pl.Float64}
    return FoldSummary(tuple(folds), pl.DataFrame(rows, schema, orient="row"))


def _spread(folds: Sequence[Scores], name: str, measure: str) -> tuple[float | None, float | None]:
    averages = [scores.average(name) for scores in folds]
    values = [getattr(average, measure) for average in averages if average is not None]
    if len(values) < len(folds):
        return None, None
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None
