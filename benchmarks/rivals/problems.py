"""What rivals share: one problem for each label on the presence of event types, and the graph of answers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo import EventDataset, LabelGraph

Weights = Mapping[int, float]
"""The columns found for a label with their weights: a larger one is stronger, one below 0 inhibits."""


@dataclass(frozen=True)
class Problem:
    """Which event types does it depend on whether a sequence carries the label?"""

    label: str
    events: NDArray[np.str_]  # names of the columns
    presence: sp.csc_array  # (sequences, event types), 0 or 1
    answer: NDArray[np.float64]  # (sequences,), 0 or 1

    @property
    def positives(self) -> int:
        """Number of sequences that carry the label, or that do not, if these are fewer."""
        return int(min(self.answer.sum(), len(self.answer) - self.answer.sum()))

    def signs(self) -> NDArray[np.float64]:
        """1 for columns that are more frequent with the label than without, else -1."""
        together = self.presence.T @ (self.answer - self.answer.mean())
        return np.where(together < 0, -1.0, 1.0)


def problems(data: EventDataset, rarest: int = 1) -> Iterator[Problem]:
    """The problem of each label that some sequences carry and others do not.

    Its columns are the event types that occur in at least `rarest` sequences and are missing in as many.
    """
    for study in data.studies():
        presence = study.presence().astype(np.float64).tocsc()
        counts = presence.sum(axis=0)
        varies = np.flatnonzero((counts >= rarest) & (counts <= len(study) - rarest))
        presence, events = presence[:, varies], np.array(study.event_names)[varies]
        for label, rows in zip(study.label_names, study.positives(), strict=True):
            answer = np.zeros(len(study))
            answer[rows] = 1.0
            if 0 < len(rows) < len(study) and len(varies):
                yield Problem(label, events, presence, answer)


def graph_of(data: EventDataset, found: Mapping[str, Mapping[str, float]]) -> LabelGraph:
    """A graph of the event types found for each label, with their weights; no other label has any."""
    rows = [
        (label, event, int(np.sign(weight)), abs(weight))
        for label, weights in found.items()
        for event, weight in weights.items()
    ]
    schema = {"label": pl.String, "event": pl.String, "sign": pl.Int8, "strength": pl.Float64}
    return LabelGraph.from_edges(pl.DataFrame(rows, schema=schema, orient="row"), data.label_support)


def named(problem: Problem, weights: Weights) -> dict[str, float]:
    """The weights by event type."""
    return {str(problem.events[column]): float(weight) for column, weight in weights.items()}
