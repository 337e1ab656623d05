"""Pooled evidence: what all sequences together say about a label and an event type, before anything is cut.

In each sequence, whether it carries the label or not, hiding an event type changes the probability of what
was observed. The evidence is log P(observed | sequence) - log P(observed | sequence with the type hidden), by
weights that were fitted without the sequence. Its sum is a log-likelihood ratio: a cause that moves each
sequence by a hundredth of a nat is certain after some thousand sequences.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit

from eventcargo.batches import Batch, Batches
from eventcargo.edges import GRAINS, POOLED, SQUARE_GRAINS
from eventcargo.events import EventDataset
from eventcargo.models.density import DensityModel, HidingChanges
from eventcargo.models.linear.folds import fold_numbers
from eventcargo.statistics.log_loss import log_losses

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

COLUMNS = [*POOLED][2:]


class PooledEvidence:
    """Sums over the sequences of a data set, block by block."""

    def __init__(self, model: DensityModel, data: EventDataset, allowed: Flags | None) -> None:
        self._model, self._allowed = model, allowed
        self._fold, self._group = fold_numbers(data), data.group_numbers
        self._size = len(model.vocabulary)
        self._codes, self._sums = np.zeros(0, np.int64), np.zeros((0, len(COLUMNS)), np.int64)

    def add(self, block: Ints, batches: Batches) -> None:
        """Add the sequences of a block, of which `batches` has the batches; no block splits a group."""
        parts = [
            part for fold in np.unique(self._fold[block]) for part in self._part(int(fold), block, batches)
        ]
        if parts:
            codes, groups, evidence, effect = (np.concatenate(each) for each in zip(*parts, strict=True))
            self._join(*_summed(codes, groups, evidence, effect))

    def _part(self, fold: int, block: Ints, batches: Batches) -> list[tuple[Ints, Ints, Ints, Ints]]:
        """Codes, groups, evidence and effects of the block's sequences of one fold."""
        rows = np.flatnonzero(self._fold[block] == fold)
        batch = batches.take(rows)
        changes = self._model.fold_changes(batch, fold)
        if changes is None:
            return []
        asked = self._asked(changes, batch)
        at, labels, ids = (column[asked] for column in (changes.rows, changes.labels, changes.ids))
        evidence, effect = _evidence(changes, asked, batch.labels[at, labels] > 0)
        return [(labels * self._size + ids, self._group[block[rows[at]]], evidence, effect)]

    def _asked(self, changes: HidingChanges, batch: Batch) -> Flags:
        """The changes of pairs that may be edges, where the label is known."""
        asked = np.ones(len(changes.rows), bool)
        if self._allowed is not None:
            asked &= self._allowed[changes.labels, changes.ids]
        if batch.known is not None:
            asked &= batch.known[changes.rows, changes.labels]
        return asked

    def _join(self, codes: Ints, sums: Ints) -> None:
        every = np.concatenate([self._codes, codes])
        self._codes, which = np.unique(every, return_inverse=True)
        joined = np.zeros((len(self._codes), len(COLUMNS)), np.int64)
        np.add.at(joined, which, np.concatenate([self._sums, sums]))
        self._sums = joined

    def table(self, labels: pl.Series, events: pl.Series) -> pl.DataFrame:
        """The sums by name."""
        names = {
            "label": labels[self._codes // self._size],
            "event": events[self._codes % self._size],
        }
        return pl.DataFrame(names | dict(zip(COLUMNS, self._sums.T, strict=True)), schema=POOLED)


def _evidence(changes: HidingChanges, asked: Flags, carried: Flags) -> tuple[Ints, Ints]:
    """Evidence and effect of each change, in grains."""
    rows, labels = changes.rows[asked], changes.labels[asked]
    slope, cap, whole = changes.slope[labels], changes.cap[labels], changes.logits[rows, labels]
    with_it = np.minimum(slope * whole, cap)
    without = np.minimum(slope * (whole - changes.taken[asked]), cap)
    evidence = log_losses(without, carried) - log_losses(with_it, carried)
    effect = expit(with_it) - expit(without)
    return np.rint(evidence * GRAINS).astype(np.int64), np.rint(effect * GRAINS).astype(np.int64)


def _summed(codes: Ints, groups: Ints, evidence: Ints, effect: Ints) -> tuple[Ints, Ints]:
    """The distinct codes, and the sums of each; whole numbers, so that no order changes them."""
    distinct, which = np.unique(codes, return_inverse=True)
    sums = np.zeros((len(distinct), len(COLUMNS)), np.int64)
    columns = (np.ones(len(codes), np.int64), evidence, effect, _squares(evidence))
    np.add.at(sums, which, np.stack([*columns, np.zeros(len(codes), np.int64)], axis=1))
    of_group, member = np.unique(np.stack([which, groups], axis=1), axis=0, return_inverse=True)
    together = np.zeros(len(of_group), np.int64)
    np.add.at(together, member, evidence)
    np.add.at(sums[:, -1], of_group[:, 0], _squares(together))
    return distinct, sums


def _squares(evidence: Ints) -> Ints:
    return np.rint((evidence / GRAINS) ** 2 * SQUARE_GRAINS).astype(np.int64)
