"""Contingency tables of a target against every event type at once, given a condition set.

The engine of all classical baselines. Each of their steps needs the number of sequences with each event type
in each stratum of the condition set, with and without the target. One sparse product
(strata x target) @ presence gives it for all event types, and for many targets together. The cost is
proportional to the rows that matter: strata in which the target is constant carry no information and are
skipped, and the large stratum "no event of the condition set" follows from the totals by subtraction.

Sequences may come in groups that are not independent (`design_effect`). Then each stratum also has its number
of groups, and `design_effects` gives the correction of the tests.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.binary_matrix import BinaryMatrix, ones
from eventcargo.statistics.design_effect import Groups, ScoreDesignEffect

Rows = NDArray[np.int32]
"""Sorted numbers of the sequences in which a target (a label or an event type) is present."""

BLOCK_CELLS = 1 << 18
"""Cells of dense tables held at once for one target: bounds memory and fits the cache."""

BITS = 32
"""Columns of a condition that one code holds; further columns are added in words of the same size."""

FEW_CANDIDATES = 64
"""Up to this many candidates, columns are gathered one by one instead of by a product."""


@dataclass(frozen=True)
class Strata:
    """The sequences of one (target, condition) pair, sorted into groups 2 * stratum + target.

    Only strata in which the target takes both values are numbered; `group` is -1 elsewhere.
    """

    group: NDArray[np.int32]  # (sequences,)
    sizes: NDArray[np.int64]  # (strata, 2)
    units: NDArray[np.int64]  # (strata,): sequences, or groups of sequences
    subtract: bool
    """Stratum 0 is "no event of the condition set" and is counted by subtraction."""

    @property
    def n_strata(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True)
class Tables:
    """For each candidate the number of sequences with it, by stratum and target value."""

    candidates: NDArray[np.int64]  # (candidates,)
    present: NDArray[np.int64]  # (strata, 2, candidates)
    sizes: NDArray[np.int64]  # (strata, 2)
    units: NDArray[np.int64]  # (strata,): sequences, or groups of sequences


class Contingency:
    """Counts over a presence matrix (sequences, event types) with entries 0 or 1.

    >>> presence = sp.csr_array(np.array([[1, 0], [1, 1], [0, 1], [1, 1]]))
    >>> engine = Contingency(presence)
    >>> table = next(engine.tables(engine.rows(1), ()))   # event type 1 as the target
    >>> table.present[0].tolist()                         # event type 0: absent target, present target
    [[1, 0], [2, 3]]
    """

    def __init__(
        self, presence: sp.csr_array | BinaryMatrix, n_blank: int = 0, groups: Groups = None
    ) -> None:
        """`n_blank` further sequences have no column and no target; they are counted, not stored.

        `groups` has the group of each sequence, None: each is its own; with groups there is none blank.
        """
        assert groups is None or (len(groups) == presence.shape[0] and not n_blank)
        self.groups = None if groups is None else np.unique(groups, return_inverse=True)[1]
        self.presence = presence if isinstance(presence, BinaryMatrix) else BinaryMatrix.of(presence)
        self._n_rows, self.n_columns = self.presence.shape
        self._n_blank = n_blank
        self.n_sequences = self._n_rows + n_blank

    @property
    def totals(self) -> NDArray[np.int64]:
        """The number of sequences with each event type."""
        return self.presence.totals

    def rows(self, column: int) -> Rows:
        """The sequences in which an event type is present."""
        return self.presence.transposed.row(column)

    def local(self, target: Rows, columns: NDArray[np.int64]) -> tuple["Contingency", Rows]:
        """The same counts for a few columns, renumbered 0, 1, ..., and the target's rows in them.

        Sequences without any of these are all alike: they become blank, and the rest is often small. With
        groups they stay, because they are alike only to counts.
        """
        own = [self.rows(column) for column in columns]
        if self.groups is not None:
            return Contingency(BinaryMatrix.of_columns(own, self._n_rows), groups=self.groups), target
        rows = np.unique(np.concatenate([target, *own]))
        presence = BinaryMatrix.of_columns([np.searchsorted(rows, each) for each in own], len(rows))
        engine = Contingency(presence, n_blank=self.n_sequences - len(rows))
        return engine, np.searchsorted(rows, target).astype(np.int32)

    def tables(
        self, target: Rows, condition: Sequence[int], candidates: NDArray[np.int64] | None = None
    ) -> Iterator[Tables]:
        """Tables of the target against the candidates (default: all), in blocks of bounded size."""
        strata = self._strata(target, condition)
        if candidates is not None and len(candidates) <= FEW_CANDIDATES:
            yield from self._gather(strata, candidates)
        else:
            yield from self._blocks(strata, self._product([strata]), candidates)

    def tables_of_many(self, questions: Sequence[tuple[Rows, Sequence[int]]]) -> Iterator[Iterator[Tables]]:
        """Tables of several (target, condition) pairs against all columns, from one product."""
        all_strata = [self._strata(target, condition) for target, condition in questions]
        product = self._product(all_strata)
        at = 0
        for strata in all_strata:
            height = _n_groups(strata)
            yield self._blocks(strata, product[at : at + height], None)
            at += height

    def _strata(self, target: Rows, condition: Sequence[int]) -> Strata:
        code = self._codes(condition)
        touched = np.flatnonzero(code)
        occupied, stratum_of = np.unique(code[touched], return_inverse=True)
        stratum = np.zeros(self._n_rows, np.int64)
        stratum[touched] = stratum_of + 1
        group = 2 * stratum
        group[target] += 1
        sizes = np.bincount(group, minlength=2 * len(occupied) + 2).reshape(-1, 2)
        sizes[0, 0] += self._n_blank
        varies = (sizes[:, 0] > 0) & (sizes[:, 1] > 0)
        number = np.where(varies, np.cumsum(varies) - 1, -1)
        renumbered = np.where(varies[stratum], 2 * number[stratum] + (group & 1), -1)
        units = sizes.sum(axis=1) if self.groups is None else _n_distinct(stratum, self.groups, len(sizes))
        return Strata(renumbered.astype(np.int32), sizes[varies], units[varies], subtract=bool(varies[0]))

    def design_effects(
        self, target: Rows, condition: Sequence[int], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The design effect of the target's association with each column; 1 without groups."""
        if self.groups is None:
            return np.ones(len(columns))
        strata = self._strata(target, condition)
        inside = np.flatnonzero(strata.group >= 0)
        place = np.full(self._n_rows, -1, np.int64)
        place[inside] = np.arange(len(inside))
        group = strata.group[inside].astype(np.int64)
        effect = ScoreDesignEffect.of(group % 2 == 1, group // 2, self.groups[inside])
        rows = (place[self.rows(int(column))] for column in columns)
        return np.array([effect.of_rows(own[own >= 0]) for own in rows])

    def _codes(self, condition: Sequence[int]) -> NDArray[np.int64]:
        """A code per sequence: equal if the same columns of the condition are present, 0 if none is."""
        code = np.zeros(self._n_rows, np.int64)
        for start in range(0, len(condition), BITS):
            if start:  # all bits are used: renumber the codes, 0 stays 0
                code = np.unique(np.append(code, 0), return_inverse=True)[1][:-1] << BITS
            for bit, column in enumerate(condition[start : start + BITS]):
                code[self.rows(column)] |= 1 << bit
        return code

    def _product(self, all_strata: Sequence[Strata]) -> sp.csr_array:
        """Counts of every column in every group of every pair: (groups, columns), sparse."""
        product = sp.csr_array((sum(map(_n_groups, all_strata)), self.n_columns), dtype=np.int32)
        for first, end in self.presence.blocks():
            indicator = sp.vstack([_indicator(strata, first, end) for strata in all_strata], format="csr")
            own = indicator @ self.presence.part(first, end)
            product = product + own if first else own
        return product

    def _blocks(
        self, strata: Strata, product: sp.csr_array, candidates: NDArray[np.int64] | None
    ) -> Iterator[Tables]:
        columns = np.arange(self.n_columns) if candidates is None else candidates
        by_column = product.tocsc()
        width = max(1, BLOCK_CELLS // (2 * strata.n_strata + 2))
        for at in range(0, len(columns), width):
            chosen = columns[at : at + width]
            block = by_column[:, at : at + width] if candidates is None else by_column[:, chosen]
            counts = block.toarray().astype(np.int64)
            if strata.subtract:
                counts[0] = self.totals[chosen] - counts[1:].sum(axis=0)
                counts = counts[:-1]
            present = counts.reshape(strata.n_strata, 2, len(chosen))
            yield Tables(chosen, present, strata.sizes, strata.units)

    def _gather(self, strata: Strata, candidates: NDArray[np.int64]) -> Iterator[Tables]:
        """The same tables for a few candidates, from their own columns."""
        n_groups = 2 * strata.n_strata
        present = np.empty((n_groups, len(candidates)), np.int64)
        for at, column in enumerate(candidates):
            counts = np.bincount(strata.group[self.rows(column)] + 1, minlength=n_groups + 1)
            present[:, at] = counts[1:]
        by_stratum = present.reshape(strata.n_strata, 2, len(candidates))
        yield Tables(candidates, by_stratum, strata.sizes, strata.units)


def _indicator(strata: Strata, first: int, end: int) -> sp.csr_array:
    """Which of some consecutive sequences are in each group: (groups, sequences).

    Where it is counted by subtraction, group 0 (stratum 0, target absent) is the remainder. Sequences outside
    the numbered strata then form an extra last group, so that the remainder follows.
    """
    group = strata.group[first:end]
    if strata.subtract:
        group = np.where(group < 0, 2 * strata.n_strata, group)
    members = np.flatnonzero(group) if strata.subtract else np.flatnonzero(group >= 0)
    order = np.argsort(group[members], kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(group[members], minlength=_n_groups(strata)))])
    parts = ones(len(members), np.dtype(np.int32)), members[order].astype(np.int32), starts.astype(np.int32)
    return sp.csr_array(parts, shape=(_n_groups(strata), end - first))


def _n_distinct(stratum: NDArray[np.int64], group: NDArray[np.int64], n_strata: int) -> NDArray[np.int64]:
    """Number of distinct groups in each stratum."""
    width = int(group.max(initial=0)) + 1
    return np.bincount(np.unique(stratum * width + group) // width, minlength=n_strata)


def _n_groups(strata: Strata) -> int:
    return 2 * strata.n_strata + int(strata.subtract)
