"""Curves: how a label's probability grows within an example sequence, event by event."""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eventcargo.report.report_input import ReportInput

MAX_EVENTS = 30_000
"""Most events that the model reads for curves: a few seconds of one core. First examples come first."""

Curves = dict[tuple[str, str], NDArray[np.float64]]
"""For a label and a sequence, P(label | events so far) before any event, after each (NaN for those that the
model does not read), and at the end: (2 + events,)."""


def curves(content: ReportInput, chosen: pl.DataFrame) -> Curves:
    """The curves of chosen rows of label and sequence, as far as there is a model and `MAX_EVENTS` reach."""
    if content.probabilities is None or not len(chosen):
        return {}
    rank = pl.int_range(pl.len()).over("label", "polarity")
    names = chosen.sort(rank, maintain_order=True)["sequence"].unique(maintain_order=True).to_list()
    sequences = content.data.select(names)
    read = np.cumsum(sequences.lengths) <= MAX_EVENTS
    sequences, names = (
        sequences.select(np.flatnonzero(read)),
        [name for name, is_read in zip(names, read, strict=True) if is_read],
    )
    if not names:
        return {}
    wanted: dict[str, list[str]] = {}
    for label, sequence in chosen.select("label", "sequence").iter_rows():
        wanted.setdefault(sequence, []).append(label)
    column = {label: at for at, label in enumerate(content.data.label_names)}
    result: Curves = {}
    every = zip(names, sequences.lengths.tolist(), content.probabilities(sequences), strict=False)
    for name, length, (places, so_far) in every:
        for label in wanted[name]:
            if label in column:
                result[label, name] = _whole(length, places, so_far[:, column[label]])
    return result


def _whole(length: int, places: NDArray[np.int64], so_far: NDArray[Any]) -> NDArray[np.float64]:
    """A curve over all events of a sequence of which the model reads those at `places`."""
    curve = np.full(length + 2, np.nan)
    curve[0], curve[-1] = so_far[0], so_far[-1]
    curve[places + 1] = so_far[1:-1]
    return curve
