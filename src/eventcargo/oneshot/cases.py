"""Cases: the pairs of a sequence and a label that phase 1 tests.

A label is tested in the sequences that carry it and in some that do not, because an event that prevents the
label shows only there. Most sequences without a label say nothing about it, so the test takes those in which
the label comes closest to being predicted when at most one event type is hidden. Their number is a multiple
of the label's support, which keeps the cost in proportion. A label that costs one forward pass per event type
is tested in at most `max_cases` sequences of either kind: estimating a frequency needs no more.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.deadline import NEVER, Deadline
from eventcargo.edges import POLARITIES
from eventcargo.errors import EventCargoWarning, counted
from eventcargo.events import EventDataset
from eventcargo.files import atomic_file
from eventcargo.models.density import DensityModel, walk
from eventcargo.oneshot.config import CasesConfig
from eventcargo.oneshot.total import reach
from eventcargo.progress import OnProgress

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Cases:
    """Pairs of a sequence and a label to test, split by whether the sequence carries the label."""

    present: sp.csr_array  # (sequences, labels), 1 where tested
    absent: sp.csr_array

    def rows(self, which: Ints) -> "Cases":
        """The cases of the selected sequences."""
        return Cases(self.present[which], self.absent[which])


def write_cases(path: Path, cases: Cases) -> None:
    """Write cases as a table of rows, labels and polarities."""
    pairs = {name: getattr(cases, name).nonzero() for name in POLARITIES}
    table = pl.concat(
        pl.DataFrame({"row": rows.astype(np.int64), "label": labels.astype(np.int64)}).with_columns(
            polarity=pl.lit(name)
        )
        for name, (rows, labels) in pairs.items()
    )
    with atomic_file(path) as target:
        table.write_parquet(target)


def read_cases(path: Path, shape: tuple[int, int]) -> Cases:
    """The cases of a table, for this many sequences and labels."""
    table = pl.read_parquet(path)
    parts = {name: table.filter(polarity=name) for name in POLARITIES}
    return Cases(
        **{
            name: _marked(part["row"].to_numpy(), part["label"].to_numpy(), shape)
            for name, part in parts.items()
        }
    )


def select_cases(
    model: DensityModel,
    data: EventDataset,
    config: CasesConfig,
    seeds: Ints,
    progress: OnProgress | None = None,
    *,
    allowed: Flags | None = None,
    deadline: Deadline = NEVER,
) -> Cases:
    """The cases to test.

    Of a label with more positives than `max_cases`, those with the smallest `seeds` (one per sequence) are
    tested. `allowed`, (labels, V), marks the event types that may be hidden for each label. Sequences not
    reached before the deadline are no cases without a label; a warning says how many.
    """
    costly = ~model.linear_labels & (config.max_cases > 0)
    carried = data.label_matrix()
    wanted = np.ceil(config.absent * data.support)
    wanted = np.maximum(wanted, config.min_absent * (config.absent > 0)).astype(np.int64)
    wanted[costly] = np.minimum(wanted[costly], config.max_cases)
    present = _limited(carried, np.where(costly, config.max_cases, len(data)), seeds)
    return Cases(present, _nearest(model, data, wanted, carried, progress, allowed, deadline))


def _limited(carried: sp.csr_array, max_cases: Ints, seeds: Ints) -> sp.csr_array:
    """At most `max_cases` positives of each label, those with the smallest seeds."""
    rows, labels = carried.nonzero()
    order = np.lexsort((rows, seeds[rows], labels))
    starts = np.searchsorted(labels[order], np.arange(carried.shape[1]))
    rank = np.arange(len(order)) - starts[labels[order]]
    chosen = order[rank < max_cases[labels[order]]]
    return _marked(rows[chosen], labels[chosen], carried.shape)


def _nearest(
    model: DensityModel,
    data: EventDataset,
    wanted: Ints,
    carried: sp.csr_array,
    progress: OnProgress | None,
    allowed: Flags | None,
    deadline: Deadline,
) -> sp.csr_array:
    """For each label the `wanted` sequences without it in which it comes closest to being predicted."""
    best = [_Nearest(int(count)) for count in wanted]
    for rows, batch in walk(model, data) if wanted.any() else ():
        if deadline.is_over:
            left = f"{len(data) - int(rows[0]):,} of {counted(len(data), 'sequence')}"
            words = f"for lack of time, {left} were not looked at for cases without a label; allow more"
            warnings.warn(words, EventCargoWarning, stacklevel=5)
            break
        reached = reach(model, batch, allowed)
        reached[carried[rows].toarray() > 0] = -np.inf
        if batch.known is not None:
            reached[~batch.known] = -np.inf
        for label, nearest in enumerate(best):
            nearest.add(rows, reached[:, label])
        if progress is not None:
            progress("selecting", int(rows[-1]) + 1, len(data), "sequences")
    by_label = [nearest.rows() for nearest in best]
    labels = np.repeat(np.arange(len(best)), [len(rows) for rows in by_label])
    return _marked(np.concatenate([np.zeros(0, np.int64), *by_label]), labels, carried.shape)


def _marked(rows: Ints, labels: Ints, shape: tuple[int, int]) -> sp.csr_array:
    return sp.csr_array((np.ones(len(rows), np.int8), (rows, labels)), shape=shape)


class _Nearest:
    """The sequences with the highest values so far; ties go to the first ones."""

    def __init__(self, max_cases: int) -> None:
        self._most, self._least = max_cases, -np.inf if max_cases else np.inf
        self._rows, self._values = np.zeros(0, np.int64), np.zeros(0)

    def add(self, rows: Ints, values: NDArray[np.float64]) -> None:
        higher = values > self._least
        self._rows = np.concatenate([self._rows, rows[higher]])
        self._values = np.concatenate([self._values, values[higher]])
        if len(self._rows) > 2 * self._most + 1000:
            self._shorten()

    def _shorten(self) -> None:
        order = np.lexsort((self._rows, -self._values))[: self._most]
        self._rows, self._values = self._rows[order], self._values[order]
        if len(order) == self._most and self._most:
            self._least = self._values[-1]

    def rows(self) -> Ints:
        self._shorten()
        return np.sort(self._rows)
