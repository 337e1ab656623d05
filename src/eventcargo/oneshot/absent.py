"""Which sequences without a label are tested for it: those in which it came nearest to happening.

An event that holds a label down shows only where the label is absent. Most such sequences tell nothing, so
for each label those are taken in which, at most one event type being hidden, the label is most expected; as
many as a multiple of the label's support, so that the cost stays in proportion.
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.events import EventDataset
from eventcargo.models.density import DensityModel, walk
from eventcargo.oneshot.total import TotalTest

Ints = NDArray[np.int64]
Progress = Callable[[int, int], None]
"""Called with (sequences done, sequences in all)."""


def choose_absent(
    model: DensityModel, data: EventDataset, ratio: float, least: int, progress: Progress | None = None
) -> sp.csr_array:
    """Sequences to test for labels they do not carry: (sequences, labels), stored ones only.

    For each label `ratio` times its support, `least` at least, as far as there are.
    """
    wanted = np.maximum(np.ceil(ratio * data.support), least).astype(np.int64)
    best = [_Nearest(int(count)) for count in wanted]
    test, carried = TotalTest(), data.label_matrix()
    for rows, batch in walk(model, data):
        reach = test.reach(model, batch)
        reach[carried[rows].toarray() > 0] = -np.inf
        for label, nearest in enumerate(best):
            nearest.add(rows, reach[:, label])
        if progress is not None:
            progress(int(rows[-1]) + 1, len(data))
    parts = [nearest.rows() for nearest in best]
    labels = np.repeat(np.arange(len(best)), [len(part) for part in parts])
    chosen = np.concatenate([np.zeros(0, np.int64), *parts])
    return sp.csr_array((np.ones(len(chosen), bool), (chosen, labels)), shape=(len(data), len(best)))


class _Nearest:
    """The sequences of the highest values so far; of equal ones, those that came first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows, self._values = np.zeros(0, np.int64), np.zeros(0)
        self._least = -np.inf

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
        return np.sort(self._rows[np.isfinite(self._values)])
