"""Batches: sequences as padded arrays for models. Padding is made here and nowhere else.

Position 0 is BOS, then come the events, the last real position is EOS, and PAD fills the right. The output of
a model at position i depends on ids 0 to i, so at EOS on the whole sequence. Times are relative to the first
event in the batch; values are raw, NaN if not recorded. BOS has the time and values of the first event, EOS
those of the last.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, EventCargoWarning, argument, counted
from eventcargo.events import EventDataset, Ragged
from eventcargo.vocabulary import BOS, EOS, MARKS, PAD, UNK, Vocabulary


@dataclass(frozen=True)
class Batch:
    """Padded sequences: B sequences, L positions, Y labels, C value columns (possibly 0)."""

    ids: NDArray[np.int64]  # (B, L)
    times: NDArray[np.float32]  # (B, L)
    lengths: NDArray[np.int64]  # (B,) real positions, BOS and EOS included
    labels: NDArray[np.float32]  # (B, Y)
    values: NDArray[np.float32] = field(default_factory=lambda: _no_values(0, 0))  # (B, L, C)
    known: NDArray[np.bool_] | None = None  # (B, Y) which labels are known; None: all

    def __post_init__(self) -> None:
        if self.values.shape[-1] == 0:  # not given: as wide as the others, so that every batch can be sliced
            object.__setattr__(self, "values", _no_values(*self.ids.shape))

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Which positions are real: (B, L)."""
        return np.arange(self.ids.shape[1]) < self.lengths[:, None]

    @property
    def at_end(self) -> NDArray[np.bool_]:
        """The EOS positions, where a model sees the whole sequence: (B, L)."""
        return np.arange(self.ids.shape[1]) == self.lengths[:, None] - 1

    @property
    def unlabelled(self) -> "Batch":
        """The same sequences without their labels."""
        return replace(self, labels=np.zeros((len(self.ids), 0), np.float32), known=None)

    def rows(self, which: "NDArray[np.int64] | slice", width: int | None = None) -> "Batch":
        """Some sequences, repeats allowed, in their first `width` positions or in all; slices make views."""
        ids = self.ids[which, :width]
        lengths = np.minimum(self.lengths[which], ids.shape[1])
        known = None if self.known is None else self.known[which]
        values = self.values[which, :width]
        return Batch(ids, self.times[which, :width], lengths, self.labels[which], values, known)

    def hide(self, where: NDArray[np.bool_]) -> "Batch":
        """The same sequences with the events at `where` (B, L) unknown; they keep their place and time."""
        return replace(self, ids=np.where(where, UNK, self.ids))


class Batches:
    """Makes batches of a data set; event types outside the vocabulary become UNK.

    A sequence longer than `max_length` positions loses its first events, because labels are closer to the
    end; attributes at its start are true of all of it and stay. `report_cuts` warns of these sequences.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("a", ("x", "y"), (5.0, 7.0), ("bad",))])
    >>> batch = Batches(data, Vocabulary(("x", "y")), max_length=16).take(np.array([0]))
    >>> batch.ids.tolist(), batch.times.tolist()
    ([[1, 4, 5, 2]], [[0.0, 0.0, 2.0, 2.0]])
    """

    def __init__(self, data: EventDataset, vocabulary: Vocabulary, max_length: int) -> None:
        if max_length <= MARKS:
            raise ConfigError(
                f"{argument('max_length', max_length)} leaves no room for events; use {MARKS + 1} or more"
            )
        room = max_length - MARKS
        kept = kept_attributes(data, max_length)
        data = _trimmed(data, kept, room) if kept.any() else data
        self._data, self._lookup = data, vocabulary.lookup(data.event_names)
        self._rows = Ragged(np.maximum(data.rows.starts, data.rows.stops - room), data.rows.stops)
        self.lengths = self._rows.lengths + MARKS

    def take(self, rows: NDArray[np.int64]) -> Batch:
        """The batch of these sequences, as wide as the longest."""
        shown, lengths = self._rows.take(rows), self.lengths[rows]
        shape = (len(rows), int(lengths.max(initial=MARKS)))
        ids, times = np.full(shape, PAD, np.int64), np.zeros(shape, np.float32)
        is_event = np.arange(-1, shape[1] - 1) < shown.lengths[:, None]
        is_event[:, 0] = False
        ids[:, 0] = BOS
        ids[is_event] = self._lookup[shown.gather(self._data.events)]
        times[is_event] = _since_first(shown, self._data.times)
        each, end = np.arange(len(rows)), lengths - 1
        ids[each, end], times[each, end] = EOS, times[each, end - 1]
        known = None if self._data.known is None else self._data.known.take(rows).matrix(self._n_labels)
        return Batch(ids, times, lengths, self._labels(rows), self._values(shown, is_event), known)

    @property
    def _n_labels(self) -> int:
        return len(self._data.label_names)

    def _labels(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Which labels the sequences carry, as 0 and 1: (B, Y)."""
        carried = self._data.label_rows.take(rows)
        labels = np.zeros((len(rows), self._n_labels), np.float32)
        labels[np.repeat(np.arange(len(rows)), carried.lengths), carried.gather(self._data.labels)] = 1.0
        return labels

    def _values(self, shown: Ragged, is_event: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The raw values at every position: (B, L, C)."""
        if not self._data.value_names:
            return _no_values(*is_event.shape)
        values = np.zeros((*is_event.shape, len(self._data.value_names)), np.float32)
        values[is_event] = shown.gather(self._data.values)
        values[:, 0] = np.where(shown.lengths[:, None] > 0, values[:, 1], np.nan)
        each = np.arange(len(values))
        values[each, shown.lengths + 1] = values[each, shown.lengths]
        return values

    def in_order(self, tokens: int) -> Iterator[NDArray[np.int64]]:
        """Row numbers of batches in the order of the data, each of at most about `tokens` positions."""
        return packed(np.arange(len(self.lengths)), self.lengths, tokens)

    def shuffled(self, tokens: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        """Row numbers of batches of sequences of similar length, in random order: hardly any padding."""
        noisy = self.lengths * rng.uniform(0.95, 1.05, len(self.lengths))
        batches = list(packed(np.argsort(noisy, kind="stable"), self.lengths, tokens))
        return (batches[at] for at in rng.permutation(len(batches)))


def kept_attributes(data: EventDataset, max_length: int) -> NDArray[np.int64]:
    """How many attributes at the start of each sequence stay although it is cut: (sequences,)."""
    room, kept = max_length - MARKS, np.zeros(len(data), np.int64)
    rows = np.flatnonzero(data.lengths > room)
    if not len(rows) or not data.kinds.attributes:
        return kept
    is_attribute = data.kinds.numbered(data.event_names).is_attribute
    while len(rows):
        rows = rows[kept[rows] < room - 1]  # one other event is shown in any case
        rows = rows[is_attribute[data.events[data.rows.starts[rows] + kept[rows]]]]
        kept[rows] += 1
    return kept


def places_in_sequence(
    shown: NDArray[np.int64], n_kept: NDArray[np.int64], n_cut: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The places in their sequences of events that a batch shows, both counted from 0.

    >>> places_in_sequence(np.arange(4), n_kept=np.array([1]), n_cut=np.array([10])).tolist()
    [0, 11, 12, 13]
    """
    return np.where(shown < n_kept, shown, shown + n_cut)


def _trimmed(data: EventDataset, kept: NDArray[np.int64], room: int) -> EventDataset:
    """The data set as far as it is shown; attributes of cut sequences stand at the first event shown."""
    starts, stops = data.rows.starts, data.rows.stops
    tails = np.maximum(starts + kept, stops - (room - kept))
    ends = np.stack([starts + kept, stops], axis=1).ravel()
    shown = Ragged(np.stack([starts, tails], axis=1).ravel(), ends)
    trimmed = data.select(np.arange(len(data)))
    trimmed.events, trimmed.times, trimmed.values = (
        shown.gather(column) for column in (data.events, data.times, data.values)
    )
    trimmed.rows = Ragged.from_offsets(shown.offsets[::2])
    own = Ragged(trimmed.rows.starts, trimmed.rows.starts + kept)
    at = own.gather(np.arange(len(trimmed.times)))
    trimmed.times[at] = np.repeat(data.times[np.minimum(tails, len(data.times) - 1)], kept)
    return trimmed


def report_cuts(data: EventDataset, max_length: int, largest: int | None = None) -> None:
    """Warn of the sequences of a data set that do not fit into `max_length` positions; `largest` is the limit
    of the model itself.

    >>> report_cuts(EventDataset.from_sequences([]), max_length=16)
    """
    room = max_length - MARKS
    n_cut = int((data.lengths > room).sum())
    if n_cut:
        attributes = "attributes and " if data.kinds.attributes else ""
        advice = "the model reads no more" if largest == max_length else "raise max_length to use more"
        warnings.warn(
            f"{counted(n_cut, 'sequence')} of {len(data):,} longer than {counted(room, 'event')}: of each "
            f"only {attributes}the last {counted(room, 'event')} count; {advice}",
            EventCargoWarning,
            stacklevel=2,
        )


def _no_values(n_sequences: int, n_positions: int) -> NDArray[np.float32]:
    return np.zeros((n_sequences, n_positions, 0), np.float32)


def _since_first(rows: Ragged, times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Times of the rows, contiguous, relative to the first of each row."""
    gathered = rows.gather(times)
    return gathered - gathered[np.repeat(rows.offsets[:-1], rows.lengths)]


def packed(order: NDArray[np.int64], lengths: NDArray[np.int64], tokens: int) -> Iterator[NDArray[np.int64]]:
    """Consecutive parts of `order` with at most `tokens` padded positions, at least one sequence each.

    >>> [part.tolist() for part in packed(np.arange(4), np.array([2, 2, 3, 9]), tokens=6)]
    [[0, 1], [2], [3]]
    """
    start, widest = 0, 0
    for at, row in enumerate(order):
        widest = max(widest, int(lengths[row]))
        if at > start and widest * (at - start + 1) > tokens:
            yield order[start:at]
            start, widest = at, int(lengths[row])
    if start < len(order):
        yield order[start:]
