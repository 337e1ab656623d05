"""Cutting: the events of each sequence, from its look-back to its index time, part by part."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.cohort.attributes import Attributes
from eventcargo.cohort.durations import Lookback
from eventcargo.cohort.expansion import CompiledExpansion
from eventcargo.cohort.index_times import IndexTimes
from eventcargo.cohort.segments import by_owner, search
from eventcargo.cohort.spool import Rows
from eventcargo.events import Ragged


@dataclass(frozen=True)
class Piece:
    """Sequences of one part: event types, times and numbers, ragged by `lengths`."""

    events: NDArray[np.int32]
    times: NDArray[np.float64]
    values: NDArray[np.float64]
    lengths: NDArray[np.int64]


@dataclass(frozen=True)
class Cutter:
    """Cuts sequences out of sorted rows."""

    index: IndexTimes
    of_subjects: Ragged
    lookback: Lookback
    gap: float
    expansion: CompiledExpansion
    attributes: Attributes
    n_values: int
    """numbers that stay with their events"""
    is_measured: bool
    """whether the last number of a row is compared with thresholds"""

    def expand(self, rows: Rows) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Event types with their families and thresholds, and the place of every row among them."""
        numbers = rows["values"][:, -1] if self.is_measured else np.zeros(len(rows))
        return self.expansion.apply(rows, numbers)

    def cut(
        self, rows: Rows, codes: NDArray[np.int32], offsets: NDArray[np.int64], counts: Counter[str]
    ) -> tuple[NDArray[np.int64], Piece]:
        """The moments of the subjects in expanded `rows`, and their sequences; counts events left out."""
        first, last = int(rows["subject"][0]), int(rows["subject"][-1])
        moments = np.arange(self.of_subjects.starts[first], self.of_subjects.stops[last])
        subjects, times = self.index.subjects[moments], self.index.times[moments]
        of_rows = by_owner(rows["subject"] - first, last - first + 1)
        raw = self._bounds(rows["time"], of_rows.take(subjects.astype(np.int64) - first), times)
        self._count_left_out(rows, raw, subjects, times, counts)
        source = np.repeat(np.arange(len(rows)), np.diff(offsets))
        used = Ragged(offsets[raw.starts], offsets[raw.stops])
        return moments, self._gathered(rows, codes, source, used, subjects)

    def _bounds(self, times: NDArray[np.float64], own: Ragged, ends: NDArray[np.float64]) -> Ragged:
        """The rows between look-back and index time of each moment, whose subject's rows are `own`."""
        stops = search(times, own, ends - self.gap, inclusive=self.index.inclusive)
        if self.lookback.events is not None:
            return Ragged(np.maximum(own.starts, stops - self.lookback.events), stops)
        if np.isinf(self.lookback.time):
            return Ragged(own.starts, stops)
        starts = search(times, own, ends - self.lookback.time)
        return Ragged(np.minimum(starts, stops), stops)

    def _count_left_out(
        self,
        rows: Rows,
        used: Ragged,
        subjects: NDArray[np.int32],
        ends: NDArray[np.float64],
        counts: Counter[str],
    ) -> None:
        """Count the rows in no sequence by the reason."""
        change = np.bincount(used.starts, minlength=len(rows) + 1) - np.bincount(
            used.stops, minlength=len(rows) + 1
        )
        left = rows[np.cumsum(change)[:-1] == 0]
        counts["used"] += len(rows) - len(left)
        if not len(left):
            return
        first = int(rows["subject"][0])
        own = by_owner(subjects - first, int(rows["subject"][-1]) - first + 1).take(
            left["subject"].astype(np.int64) - first
        )
        following = search(ends, own, left["time"])
        has_next = following < own.stops
        at = np.where(has_next, ends[np.minimum(following, len(ends) - 1)], np.inf)
        same = has_next & (at == left["time"])
        in_gap = has_next & ~same & (left["time"] >= at - self.gap)
        counts["same_instant"] += int(same.sum())
        counts["in_gap"] += int(in_gap.sum())
        counts["before_lookback"] += int((has_next & ~same & ~in_gap).sum())
        counts["after_index"] += int((~has_next).sum())

    def _gathered(
        self,
        rows: Rows,
        codes: NDArray[np.int32],
        source: NDArray[np.int64],
        used: Ragged,
        subjects: NDArray[np.int32],
    ) -> Piece:
        """The events of sequences, after the attributes of the subject at the time of the first event."""
        own = self.attributes.rows.take(subjects.astype(np.int64))
        n_attributes = np.where(used.lengths > 0, own.lengths, 0)
        own = Ragged(own.starts, own.starts + n_attributes)
        lengths = n_attributes + used.lengths
        taken, values = used.gather(source), rows["values"][:, : self.n_values]
        if not len(self.attributes.codes):
            return Piece(used.gather(codes), rows["time"][taken], values[taken], lengths)
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        is_attribute = np.zeros(start[-1], bool)
        is_attribute[Ragged(start[:-1], start[:-1] + n_attributes).gather(np.arange(start[-1]))] = True
        events, times = np.empty(start[-1], np.int32), np.empty(start[-1])
        numbers = np.full((start[-1], self.n_values), np.nan)
        events[is_attribute] = own.gather(self.attributes.codes)
        events[~is_attribute], times[~is_attribute], numbers[~is_attribute] = (
            used.gather(codes),
            rows["time"][taken],
            values[taken],
        )
        begins = np.zeros(len(lengths))
        has_events = used.lengths > 0
        begins[has_events] = times[start[:-1][has_events] + n_attributes[has_events]]
        times[is_attribute] = np.repeat(begins, n_attributes)
        return Piece(events, times, numbers, lengths)


def without_duplicates(rows: Rows) -> Rows:
    """Sorted rows without those that equal an earlier one in all fields."""
    same = (np.diff(rows["subject"]) == 0) & (np.diff(rows["time"]) == 0)
    tied = np.flatnonzero(np.concatenate([same, [False]]) | np.concatenate([[False], same]))
    if not len(tied):
        return rows
    some = rows[tied]
    numbers = np.nan_to_num(some["values"], nan=np.inf)
    order = np.lexsort((*numbers.T, some["code"], some["time"], some["subject"]))
    ordered, numbers = some[order], numbers[order]
    repeats = np.zeros(len(order), bool)
    repeats[1:] = (numbers[1:] == numbers[:-1]).all(1)
    for name in ("code", "time", "subject"):
        repeats[1:] &= ordered[name][1:] == ordered[name][:-1]
    keep = np.ones(len(rows), bool)
    keep[tied[order[repeats]]] = False
    return rows[keep]
