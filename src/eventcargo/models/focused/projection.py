"""Projection: what is left of a sequence if only the events of a label's candidates are kept.

Each kept event has its slot (the number of its event type among the candidates), its place and its time in
the whole sequence, so that distances are those of the sequence, not of what is left. The last entry stands
for the end. Hiding an event type empties its entries; all others stay as they are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.batches import Batch

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

EMPTY = -1
"""The slot of padding and of hidden events."""

N_BEFORE = 3
"""Earlier occurrences of its own event type to which an event knows its distance."""


@dataclass(frozen=True)
class Projection:
    """Projected sequences: P sequences, T entries; the end has the slot `n_slots`."""

    slots: Ints  # (P, T)
    places: Floats  # (P, T)
    times: Floats  # (P, T)
    before: Floats  # (P, T, 3 * N_BEFORE): log distance, log time, and whether there is one

    @property
    def width(self) -> int:
        return self.slots.shape[1]

    def rows(self, which: Ints) -> "Projection":
        """Some sequences, as wide as the longest of them."""
        slots = self.slots[which]
        width = int(np.flatnonzero((slots != EMPTY).any(axis=0)).max(initial=0)) + 1
        return Projection(
            slots[:, :width],
            self.places[which, :width],
            self.times[which, :width],
            self.before[which, :width],
        )

    def hide(self, hidden: Ints) -> "Projection":
        """The same with the slots of each sequence, (P, any number), emptied."""
        slots = np.where((self.slots[:, :, None] == hidden[:, None, :]).any(axis=2), EMPTY, self.slots)
        return Projection(slots, self.places, self.times, self.before)

    def exchange(self, slot: int, other: Ints) -> "Projection":
        """The same with the events of a slot in each sequence replaced by those of another, `other` (P,).

        They come at the same share of the sequence's places and of its time.
        """
        n_slots, (ends, lasts) = int(self.slots.max()), self._ends()
        rows, entries = np.nonzero((self.slots != EMPTY) & (self.slots != n_slots) & (self.slots != slot))
        given, from_entries = np.nonzero(self.slots[other] == slot)
        takes = other[given], from_entries
        share, time_share = ends[given] / ends[takes[0]], lasts[given] / np.maximum(lasts[takes[0]], 1e-9)
        places = np.concatenate([self.places[rows, entries], self.places[takes] * share])
        times = np.concatenate([self.times[rows, entries], self.times[takes] * time_share])
        slots = np.concatenate([self.slots[rows, entries], np.full(len(given), slot)])
        rows = np.concatenate([rows, given])
        order = np.lexsort((slots, places, rows))
        flat = rows[order], slots[order], places[order], times[order]
        return _padded(*flat, ends, lasts, n_slots, max_events=len(rows))

    def _ends(self) -> tuple[Floats, Floats]:
        """Place and time of the end of each sequence."""
        each, last = np.arange(len(self.slots)), (self.slots == self.slots.max()).argmax(axis=1)
        return self.places[each, last], self.times[each, last]

    def widened(self, width: int) -> "Projection":
        """The same with empty entries up to a width."""
        more = ((0, 0), (0, width - self.width))
        return Projection(
            np.pad(self.slots, more, constant_values=EMPTY),
            np.pad(self.places, more),
            np.pad(self.times, more),
            np.pad(self.before, (*more, (0, 0))),
        )


def project(
    batch: Batch, slot_of: Ints, n_slots: int, max_events: int, ends: Ints | None = None
) -> Projection:
    """The sequences of a batch, up to `ends` (default: all), projected on the event types with a slot.

    `slot_of` has the slot of every id, `EMPTY` for all but the candidates. Of more than `max_events` kept
    events the last count.

    >>> ids, times = np.array([[1, 4, 6, 5, 4, 2]]), np.arange(6, dtype=np.float32)[None]
    >>> batch = Batch(ids, times, np.array([6]), np.zeros((1, 0), np.float32))
    >>> found = project(batch, np.array([-1, -1, -1, -1, 0, 1, -1]), n_slots=2, max_events=8)
    >>> found.slots.tolist(), found.places.tolist()
    ([[0, 1, 0, 2]], [[1.0, 3.0, 4.0, 5.0]])
    """
    ends = batch.lengths - 1 if ends is None else ends
    at = np.arange(batch.ids.shape[1])
    slots = np.where((at > 0) & (at < ends[:, None]), slot_of[batch.ids], EMPTY)
    rows, places = np.nonzero(slots != EMPTY)
    flat = rows, slots[rows, places], places, batch.times[rows, places]
    return _padded(*flat, ends, batch.times[np.arange(len(ends)), ends], n_slots, max_events)


def _padded(
    rows: Ints,
    slots: Ints,
    places: Ints | Floats,
    times: Floats,
    ends: Ints | Floats,
    lasts: Floats,
    n_slots: int,
    max_events: int,
) -> Projection:
    """Events in the order of rows and places, the last `max_events` of each row, and the end of each row."""
    counts = np.bincount(rows, minlength=len(ends))
    entries = (
        np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows] - np.maximum(counts - max_events, 0)[rows]
    )
    kept = entries >= 0
    n_kept = np.minimum(counts, max_events)
    shape = (len(ends), int(n_kept.max(initial=0)) + 1)
    result = Projection(
        np.full(shape, EMPTY, np.int64),
        np.zeros(shape, np.float32),
        np.zeros(shape, np.float32),
        np.zeros((*shape, 3 * N_BEFORE), np.float32),
    )
    to = rows[kept], entries[kept]
    result.slots[to], result.places[to], result.times[to] = slots[kept], places[kept], times[kept]
    result.before[to] = _before(rows, slots, places, times)[kept]
    each = np.arange(len(ends))
    result.slots[each, n_kept], result.places[each, n_kept] = n_slots, ends
    result.times[each, n_kept] = lasts
    return result


def _before(rows: Ints, slots: Ints, places: Ints | Floats, times: Floats) -> Floats:
    """Distance in events and in time to the last few occurrences of the same slot: (events, 3 * N_BEFORE)."""
    order = np.lexsort((places, slots, rows))
    codes = rows[order] * (int(slots.max(initial=0)) + 1) + slots[order]
    result = np.zeros((len(rows), 3 * N_BEFORE), np.float32)
    for back in range(1, min(N_BEFORE, len(rows) - 1) + 1):
        same = codes[back:] == codes[:-back]
        later, earlier = order[back:][same], order[:-back][same]
        result[later, 3 * back - 3] = np.log1p(places[later] - places[earlier])
        result[later, 3 * back - 2] = np.log1p(np.maximum(times[later] - times[earlier], 0))
        result[later, 3 * back - 1] = 1.0
    return result
