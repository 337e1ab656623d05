"""find_leaks: every event type that may be a record of a label, found before any other work.

One sparse product (event types x sequences) @ (sequences x labels), in blocks of labels, counts all pairs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.binary_matrix import BinaryMatrix
from eventcargo.events import EventDataset
from eventcargo.leaks.counts import (
    ACCIDENT,
    is_closing,
    is_double,
    last_by_accident,
    together_by_accident,
)
from eventcargo.leaks.leak import Leak, Sign
from eventcargo.leaks.names import contained_names, equal_names
from eventcargo.ragged import blocks, positions_by_number

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

AT_ONCE = 64
"""Labels counted at once."""

LIKELY = 0.8
"""Pairs in which fewer of the sequences with the event type carry the label are not looked at."""

MAINLY = 0.5
"""Smallest such share of an event type whose name contains the label's."""


def find_leaks(data: EventDataset) -> list[Leak]:
    """Event types that may be records of labels, by label, event type.

    >>> from eventcargo.events import EventSequence
    >>> kinds = [(("x", "bad record"), ("bad",)), (("x", "y"), ())] * 12
    >>> data = EventDataset.from_sequences(
    ...     [EventSequence(f"{i:02}", events, (0.0, 1.0), labels)
    ...      for i, (events, labels) in enumerate(kinds)])
    >>> [(leak.event, leak.signs) for leak in find_leaks(data)]
    [('bad record', ('double', 'closing', 'words'))]
    """
    found = [leak for study in data.studies() for leak in _leaks(study, len(data.label_names))]
    return found if data.known is None else sorted(found, key=lambda leak: (leak.label, leak.event))


def _leaks(data: EventDataset, n_labels: int) -> list[Leak]:
    """The leaks of a study of some of the `n_labels` labels."""
    if not len(data) or not data.label_names:
        return []
    counts = _Counts(data, n_labels)
    signs: dict[tuple[int, int], list[Sign]] = {}
    for pair in equal_names(data.event_names, data.label_names):
        signs.setdefault(pair, []).append("name")
    doubles, closings = counts.doubles_and_closings()
    for pair in doubles:
        signs.setdefault(pair, []).append("double")
    for pair in closings:
        signs.setdefault(pair, []).append("closing")
    for pair in contained_names(data.event_names, data.label_names):
        both, with_event, *_ = counts.of(*pair)
        if both and both >= MAINLY * with_event:
            signs.setdefault(pair, []).append("words")
    return [
        Leak(data.label_names[label], data.event_names[event], tuple(found), *counts.of(event, label))
        for (event, label), found in sorted(signs.items(), key=lambda item: item[0][::-1])
    ]


@dataclass(frozen=True)
class _Pairs:
    """Event types and labels with the counts of sequences of each pair."""

    events: Ints
    labels: Ints
    both: Ints
    last: Ints

    def take(self, which: Flags) -> "_Pairs":
        return _Pairs(self.events[which], self.labels[which], self.both[which], self.last[which])

    def numbers(self, which: Flags) -> list[tuple[int, int]]:
        """The numbers of the event types and labels of some pairs."""
        return list(zip(self.events[which].tolist(), self.labels[which].tolist(), strict=True))


class _Counts:
    """Counts of sequences by pairs of event type and label."""

    def __init__(self, data: EventDataset, n_labels: int) -> None:
        self._data = data
        self._n_tests = len(data.event_names) * n_labels
        self._presence, self._carried = data.incidence, data.positives()
        self._by_label = data.label_matrix().tocsc()
        self._with_event, self._with_label = self._presence.totals, data.support

    def of(self, event: int, label: int) -> tuple[int, int, int, int, int]:
        """Sequences with both, with the event type, with the label, all, and those that it ends."""
        rows = self._shared(event, label)
        last = int(np.isin(rows, self._closing.transposed.row(event)).sum())
        totals = int(self._with_event[event]), int(self._with_label[label]), len(self._data)
        return len(rows), *totals, last

    def doubles_and_closings(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The pairs that practically never occur apart, and those whose event type ends the sequence."""
        doubles, closings = list[tuple[int, int]](), list[tuple[int, int]]()
        for pairs in self._likely():
            with_event, with_label = self._with_event[pairs.events], self._with_label[pairs.labels]
            apart = self._beyond_accident_last(pairs)
            last = np.where(apart, pairs.last, 0)
            doubles += pairs.numbers(is_double(pairs.both, with_event, with_label, last))
            closings += pairs.numbers(is_closing(pairs.both, with_event, last))
        return doubles, closings

    def _likely(self) -> Iterator[_Pairs]:
        """Pairs in which most sequences with the event type carry the label, by more than accident."""
        for start in range(0, self._by_label.shape[1], AT_ONCE):
            labels = self._by_label[:, start : start + AT_ONCE].tocsr()
            pairs = _counted(self._presence.together(labels), self._closing.together(labels), start)
            pairs = pairs.take(pairs.both >= LIKELY * self._with_event[pairs.events])
            accident = together_by_accident(
                pairs.both, self._with_event[pairs.events], self._with_label[pairs.labels], len(self._data)
            )
            yield pairs.take(accident * self._n_tests <= ACCIDENT)

    def _beyond_accident_last(self, pairs: _Pairs) -> Flags:
        """Whether the event types end their sequences more often than by accident."""
        flags = pairs.last * 2 > pairs.both
        for at in np.flatnonzero(flags):
            chance = self._chance(int(pairs.events[at]), int(pairs.labels[at]))
            accident = last_by_accident(pairs.last[at], pairs.both[at], chance)
            flags[at] = accident * self._n_tests <= ACCIDENT
        return flags

    def _chance(self, event: int, label: int) -> float:
        """The share of the instants of the sequences with both at which the event type occurs."""
        rows = self._shared(event, label)
        starts, positions = self._positions
        of_event = (
            np.searchsorted(self._offsets, positions[starts[event] : starts[event + 1]], side="right") - 1
        )
        occurrences = np.bincount(of_event, minlength=len(self._data))[rows]
        return float(np.minimum(occurrences / self._instants[rows], 1.0).mean())

    def _shared(self, event: int, label: int) -> Ints:
        """The sequences with both."""
        holders = self._presence.transposed.row(event)
        return np.intersect1d(holders, self._carried[label]).astype(np.int64)

    @cached_property
    def _offsets(self) -> Ints:
        return self._data.rows.offsets

    @cached_property
    def _positions(self) -> tuple[Ints, NDArray[np.integer]]:
        """Where each event type stands among all events, one after the other, and where each one starts."""
        return positions_by_number(self._data.flat()[1], len(self._data.event_names))

    def _parts(self) -> Iterator[tuple[Ints, NDArray[np.int32], Floats]]:
        """Offsets, events and times of parts of the sequences, one part after the other."""
        _, events, times = self._data.flat()
        for first, end in blocks(self._offsets):
            offsets = self._offsets[first : end + 1]
            inside = slice(offsets[0], offsets[-1])
            yield offsets - offsets[0], events[inside], times[inside]

    @cached_property
    def _closing(self) -> BinaryMatrix:
        """Which event types occur at the last instant of which sequence, in sequences of several instants."""
        width = len(self._data.event_names)
        return BinaryMatrix.joined((_closing(*part, width) for part in self._parts()), width)

    @cached_property
    def _instants(self) -> Ints:
        """The number of distinct times of every sequence, at least 1."""
        return np.concatenate([_n_instants(offsets, times) for offsets, _, times in self._parts()])


def _closing(offsets: Ints, events: NDArray[np.int32], times: Floats, width: int) -> sp.csr_array:
    rows = _rows(offsets)
    first, final = times[offsets[rows]], times[offsets[rows + 1] - 1]
    at_end = (times == final) & (first < final)
    ones = np.ones(int(at_end.sum()), np.int32)
    closing = sp.csr_array((ones, (rows[at_end], events[at_end])), shape=(len(offsets) - 1, width))
    closing.sum_duplicates()
    closing.data[:] = 1
    return closing


def _n_instants(offsets: Ints, times: Floats) -> Ints:
    rows, starts = _rows(offsets), np.ones(len(times), bool)
    starts[1:] = (times[1:] != times[:-1]) | (rows[1:] != rows[:-1])
    return np.maximum(np.bincount(rows[starts], minlength=len(offsets) - 1), 1).astype(np.int64)


def _rows(offsets: Ints) -> Ints:
    """The sequence of every event."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def _counted(both: sp.csr_array, last: sp.csr_array, start: int) -> _Pairs:
    """The pairs that occur together; their labels are numbered from `start`."""
    for matrix in (both, last):
        matrix.sort_indices()
    cells, ends = both.tocoo(), last.tocoo()
    keys, end_keys = (one.row.astype(np.int64) * both.shape[1] + one.col for one in (cells, ends))
    at = np.minimum(np.searchsorted(end_keys, keys), max(len(end_keys) - 1, 0))
    is_end = end_keys[at] == keys if len(end_keys) else np.zeros(len(keys), bool)
    counts = np.where(is_end, ends.data[at] if len(end_keys) else 0, 0)
    columns = cells.row, cells.col + start, cells.data, counts
    return _Pairs(*(column.astype(np.int64) for column in columns))
