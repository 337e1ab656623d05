"""Cases: which sequences are tested for which labels.

A label is tested in the sequences that carry it, and in some that do not: an event that holds a label down
shows only there. Most sequences without a label tell nothing of it, so for each label those are taken in
which, at most one event type being hidden, it is most expected; as many as a multiple of its
support, so that the cost stays in proportion. Labels that cost a forward pass for each event type are tested
in a limited number of sequences of either kind, because a frequency needs no more.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.errors import ConfigError
from eventcargo.events import EventDataset
from eventcargo.models.density import DensityModel, walk
from eventcargo.oneshot.total import linear_labels, reach

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Progress = Callable[[int, int], None]
"""Called with (sequences done, sequences in all)."""


@dataclass(frozen=True)
class CasesConfig:
    """How many sequences are tested."""

    absent: float = 1.0
    """sequences without a label tested for it, as a multiple of those that carry it"""
    min_absent: int = 50
    """and so many at least"""
    max_cases: int = 500
    """sequences of either kind for a label whose event types each cost a forward pass; 0: no limit"""

    def __post_init__(self) -> None:
        for name in ("absent", "min_absent", "max_cases"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ConfigError(f"{name}={getattr(self, name)}: use 0 or more")


@dataclass(frozen=True)
class Cases:
    """Pairs of a sequence and a label to be tested, by whether the sequence carries the label."""

    present: sp.csr_array  # (sequences, labels), 1 where tested
    absent: sp.csr_array

    def rows(self, which: Ints) -> "Cases":
        """The cases of some sequences."""
        return Cases(self.present[which], self.absent[which])


def select_cases(
    model: DensityModel,
    data: EventDataset,
    config: CasesConfig,
    seeds: Ints,
    progress: Progress | None = None,
    *,
    allowed: Flags | None = None,
) -> Cases:
    """What is to be tested; `seeds`, one for each sequence, decide where only some of them are.

    `allowed`, (labels, V), says which event types may be hidden for which label.
    """
    costly = ~linear_labels(model) & (config.max_cases > 0)
    carried = data.label_matrix()
    wanted = np.ceil(config.absent * data.support)
    wanted = np.maximum(wanted, config.min_absent * (config.absent > 0)).astype(np.int64)
    wanted[costly] = np.minimum(wanted[costly], config.max_cases)
    present = _limited(carried, np.where(costly, config.max_cases, len(data)), seeds)
    return Cases(present, _nearest(model, data, wanted, carried, progress, allowed))


def _limited(carried: sp.csr_array, max_cases: Ints, seeds: Ints) -> sp.csr_array:
    """For each label at most so many of the sequences that carry it, those of the smallest seeds."""
    rows, labels = carried.nonzero()
    order = np.lexsort((rows, seeds[rows], labels))
    starts = np.searchsorted(labels[order], np.arange(carried.shape[1]))
    rank = np.arange(len(order)) - starts[labels[order]]
    kept = order[rank < max_cases[labels[order]]]
    return _marked(rows[kept], labels[kept], carried.shape)


def _nearest(
    model: DensityModel,
    data: EventDataset,
    wanted: Ints,
    carried: sp.csr_array,
    progress: Progress | None,
    allowed: Flags | None,
) -> sp.csr_array:
    """For each label so many sequences without it, those in which it is most within reach."""
    best = [_Nearest(int(count)) for count in wanted]
    for rows, batch in walk(model, data) if wanted.any() else ():
        reached = reach(model, batch, allowed)
        reached[carried[rows].toarray() > 0] = -np.inf
        for label, nearest in enumerate(best):
            nearest.add(rows, reached[:, label])
        if progress is not None:
            progress(int(rows[-1]) + 1, len(data))
    parts = [nearest.rows() for nearest in best]
    labels = np.repeat(np.arange(len(best)), [len(part) for part in parts])
    return _marked(np.concatenate([np.zeros(0, np.int64), *parts]), labels, carried.shape)


def _marked(rows: Ints, labels: Ints, shape: tuple[int, int]) -> sp.csr_array:
    return sp.csr_array((np.ones(len(rows), np.int8), (rows, labels)), shape=shape)


class _Nearest:
    """The sequences of the highest values so far; of equal ones, those that came first."""

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
