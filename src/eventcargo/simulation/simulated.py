"""Simulated: the result of every regime, assembled from flat columns of numbers.

Names are zero-padded (E00017, L003, S000042), so that sorting by name is sorting by number and the data set
is in canonical order. Event types that never occur are left out, as in a table of events.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from eventcargo.events import EventDataset
    from eventcargo.graphs import LabelGraph


@dataclass(frozen=True)
class Simulated:
    """Data with known truth: `truth` holds the boundary of every label, `rules` its rule in words.

    The same `regime`, `settings` and `seed` give the same bytes again.
    """

    data: "EventDataset"
    truth: "LabelGraph"
    rules: Mapping[str, str]
    regime: str
    settings: Mapping[str, Any]
    seed: int


@dataclass(frozen=True)
class Columns:
    """Flat, concatenated columns of all sequences, and the labels that each sequence carries."""

    lengths: NDArray[np.int64]
    events: NDArray[np.int32]
    times: NDArray[np.float64]
    carried: NDArray[np.bool_]  # (sequences, labels)


@dataclass(frozen=True)
class Cause:
    """The truth about one label: the sign of each event type of its boundary, and its rule in words."""

    signs: Mapping[int, int]
    rule: str


def numbered(prefix: str, count: int, width: int) -> list[str]:
    """Names that sort like their numbers.

    >>> numbered("L", 2, 3)
    ['L000', 'L001']
    """
    width = max(width, len(str(count - 1)))
    return [f"{prefix}{number:0{width}d}" for number in range(count)]


def event_names(count: int) -> list[str]:
    """E00000, E00001, ..."""
    return numbered("E", count, 5)


def label_names(count: int) -> list[str]:
    """L000, L001, ..."""
    return numbered("L", count, 3)


def assemble(regime: str, config: Any, seed: int, columns: Columns, causes: Sequence[Cause]) -> Simulated:
    """Assemble a simulated data set with its truth; `config` needs the field `event_types`."""
    import polars as pl

    from eventcargo.graphs import LabelGraph

    names, labels = event_names(config.event_types), label_names(len(causes))
    data = _dataset(columns, names, labels)
    support = dict(zip(labels, data.support.tolist(), strict=True))
    rows = [
        (label, names[event], sign, support[label])
        for label, cause in zip(labels, causes, strict=True)
        for event, sign in sorted(cause.signs.items())
    ]
    schema = {"label": pl.String, "event": pl.String, "sign": pl.Int8, "support": pl.Int64}
    truth = LabelGraph.from_edges(pl.DataFrame(rows, schema=schema, orient="row"), support)
    rules = {label: cause.rule for label, cause in zip(labels, causes, strict=True)}
    return Simulated(data, truth, rules, regime, asdict(config), seed)


def _dataset(columns: Columns, names: Sequence[str], labels: Sequence[str]) -> "EventDataset":
    import pyarrow as pa

    from eventcargo.events import EventDataset, Ragged

    seen = np.bincount(columns.events, minlength=len(names)) > 0
    new_number = (np.cumsum(seen) - 1).astype(np.int32)
    positives, carried_labels = np.nonzero(columns.carried)
    label_counts = np.bincount(positives, minlength=len(columns.lengths))
    return EventDataset(
        sequence_ids=pa.array(numbered("S", len(columns.lengths), 6), pa.large_string()),
        events=new_number[columns.events],
        times=columns.times,
        rows=Ragged.from_offsets(offsets_of(columns.lengths)),
        labels=carried_labels.astype(np.int32),
        label_rows=Ragged.from_offsets(offsets_of(label_counts)),
        event_names=[name for name, is_seen in zip(names, seen, strict=True) if is_seen],
        label_names=labels,
    )


def offsets_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The start of each row, and the end of the last row."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
