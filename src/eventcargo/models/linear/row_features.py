"""RowFeatures: which features of a family hold in which sequence.

The keys of the features lie on disk where they are many. They are counted and numbered in ranges, so that
neither the sequences nor the features need fit in memory.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.batches import Batch
from eventcargo.binary_matrix import BinaryMatrix, tally_numbers
from eventcargo.features import FAMILIES, Events, Moments, n_keys_of
from eventcargo.ragged import BLOCK, offsets_of
from eventcargo.scratch import Spool

Ints = NDArray[np.int64]

AT_ONCE = 1 << 25
"""Keys of rows, about, whose features are counted at once."""

SAMPLED = 1 << 20
"""Keys that are looked at to divide all of them into ranges."""

FEW_SLOTS = 1 << 20
"""Largest number of slots that is counted by a table instead of sorting."""

FEWEST_BITS, MOST_BITS = 20, 27
"""Range of the size, in bits, of the table of rough counts."""


@dataclass(frozen=True)
class RowFeatures:
    """The keys of the features that hold in each sequence, in the order of the batches."""

    starts: Ints  # (rows + 1,)
    keys: NDArray[np.integer]
    end: int  # a number above every key
    min_support: int

    @classmethod
    def of(
        cls, batches: Iterable[Batch], family: str, size: int, window: int, min_support: int
    ) -> "RowFeatures":
        """Those of whole sequences. The batches are read several times; `size` is that of the vocabulary.

        Features of fewer than `min_support` sequences are left out, most of them here already.
        """
        end = n_keys_of(family, size)
        rough = _RoughCounts(end, sum(map(_n_events, batches)) * window)
        for batch in batches:
            rough.add(FAMILIES[family](Events.from_batch(batch, size), window).keys)
        lengths = [np.zeros(0, np.int64)]
        keys = Spool(np.int32 if end <= np.iinfo(np.int32).max else np.int64)
        for batch in batches:
            moments = FAMILIES[family](Events.from_batch(batch, size), window)
            often = moments.take(rough.of(moments.keys) >= min_support)
            of_row, of_key = _distinct(often, len(batch.lengths))
            lengths.append(np.bincount(of_row, minlength=len(batch.lengths)))
            keys.add(of_key)
        return cls(offsets_of(np.concatenate(lengths)), keys.array(), end, min_support)

    def whole(self) -> tuple[BinaryMatrix, Ints]:
        """Which features hold in which sequence, and the sorted keys of the columns."""
        names = np.concatenate(list(self.names()))
        return self.matrix(names), names

    def names(self) -> Iterator[Ints]:
        """The keys of features of enough sequences, ascending, in parts."""
        for first, end in itertools.pairwise(self._ends()):
            distinct, support = self._support(first, end)
            yield distinct[support >= self.min_support]

    def _ends(self) -> list[int]:
        """Where ranges of keys begin and end that have about as many keys each."""
        n_ranges = -(-len(self.keys) // AT_ONCE)
        if n_ranges <= 1 or self.end <= FEW_SLOTS:
            return [0, self.end]
        some = np.sort(self.keys[:: -(-len(self.keys) // SAMPLED)])
        inner = some[np.arange(1, n_ranges) * len(some) // n_ranges]
        return [0, *np.unique(inner[inner > 0]).tolist(), self.end]

    def _support(self, first: int, end: int) -> tuple[Ints, Ints]:
        """The distinct keys from `first` on, before `end`, sorted, and how often each occurs."""
        if self.end <= FEW_SLOTS:
            counts = tally_numbers(self.keys, self.end)
            return np.flatnonzero(counts), counts[counts > 0]
        waiting = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        for at in range(0, len(self.keys), BLOCK):
            some = self.keys[at : at + BLOCK].astype(np.int64)
            waiting.append(np.unique(some[(some >= first) & (some < end)], return_counts=True))
            # Added up with those before once there are half as many: a key is added up a few times only.
            while len(waiting) > 1 and len(waiting[-2][0]) <= 2 * len(waiting[-1][0]):
                waiting[-2:] = [_added(waiting[-2:])]
        return _added(waiting)

    def matrix(self, names: Ints) -> BinaryMatrix:
        """Which features of these sorted keys hold in which sequence."""
        if not len(names):
            return BinaryMatrix(np.zeros_like(self.starts), np.zeros(0, np.int32), 0)
        if self.end <= FEW_SLOTS:
            place = np.full(self.end, -1, np.int32)
            place[names] = np.arange(len(names), dtype=np.int32)
            return BinaryMatrix.numbered(self.starts, self.keys, lambda some: place[some], len(names))

        def number(some: NDArray[np.integer]) -> NDArray[np.int32]:
            at = np.searchsorted(names, some)
            return np.where(names[np.minimum(at, len(names) - 1)] == some, at, -1).astype(np.int32)

        return BinaryMatrix.numbered(self.starts, self.keys, number, len(names))


def _n_events(batch: Batch) -> int:
    return int(batch.lengths.sum())


class _RoughCounts:
    """How often each key occurs at most: rare features are dropped before anything is sorted.

    Keys share a slot if there are more of them than slots.
    """

    def __init__(self, n_keys: int, n_moments: int) -> None:
        self._bits = int(np.clip(np.ceil(np.log2(max(n_moments, 2))), FEWEST_BITS, MOST_BITS))
        self._is_exact = n_keys <= 1 << self._bits
        self._counts = np.zeros(n_keys if self._is_exact else 1 << self._bits, np.uint16)

    def add(self, keys: Ints) -> None:
        slots, counts = _tallied(self._slots(keys), len(self._counts))
        room = np.iinfo(np.uint16).max - self._counts[slots]
        self._counts[slots] += np.minimum(counts, room).astype(np.uint16)

    def of(self, keys: Ints) -> NDArray[np.uint16]:
        return self._counts[self._slots(keys)]

    def _slots(self, keys: Ints) -> Ints:
        if self._is_exact:
            return keys
        mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        return (mixed >> np.uint64(64 - self._bits)).astype(np.int64)


def _tallied(numbers: Ints, n: int) -> tuple[Ints, Ints]:
    """The distinct numbers below n, sorted, and how often each occurs."""
    if n > FEW_SLOTS:
        return np.unique(numbers, return_counts=True)
    counts = np.bincount(numbers, minlength=n)
    distinct = np.flatnonzero(counts)
    return distinct, counts[distinct]


def _distinct(moments: Moments, n_rows: int) -> tuple[Ints, Ints]:
    """Every (row, key) once, sorted."""
    widest = int(moments.keys.max(initial=0)) + 1
    if n_rows * widest < np.iinfo(np.int64).max // 2:  # one sort of packed numbers is several times faster
        packed = np.sort(moments.rows * widest + moments.keys)
        packed = packed[np.concatenate([[True], packed[1:] != packed[:-1]])[: len(packed)]]
        return packed // widest, packed % widest
    first = moments.first()
    return first.rows, first.keys


def _added(counts: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Counts of sorted keys added up."""
    keys, sums = (np.concatenate(parts) for parts in zip(*counts, strict=True))
    order = np.argsort(keys, kind="stable")  # fast on keys that are nearly sorted
    keys, sums = keys[order], sums[order]
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
    return keys[first], np.add.reduceat(sums, first) if len(first) else sums
