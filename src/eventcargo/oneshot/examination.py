"""Examination: the edges of a block of sequences, by one or more tests.

Sequences are worked on in blocks that depend on nothing but their order, so that neither the size of shards
nor the number of workers changes a result.
"""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.batches import MARKS, Batch, Batches, packed
from eventcargo.edges import CHANCES, EDGES, SUPPORT, EdgeTable
from eventcargo.events import EventDataset
from eventcargo.models.density import DensityModel
from eventcargo.oneshot.cuts import Cut
from eventcargo.oneshot.scores import OneshotTest, Scores
from eventcargo.oneshot.total import Types

Flags = NDArray[np.bool_]

BLOCK = 256
"""Sequences that are sorted by length and made into batches together."""

TOKENS = 4_096
"""Positions of a batch."""

POLARITIES = ("absent", "present")


@dataclass(frozen=True)
class Examiner:
    """A test with its cut, and which polarities it looks at."""

    test: OneshotTest
    cut: Cut
    polarities: tuple[str, ...] = POLARITIES


def sequence_seeds(data: EventDataset, seed: int) -> NDArray[np.int64]:
    """A number for each sequence that follows from its id and the seed alone.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence(name, (), (), ()) for name in "ab"])
    >>> sequence_seeds(data, 0)[1] == sequence_seeds(data.select(["b"]), 0)[0]
    np.True_
    """
    ids = (f"{seed}/{sequence_id}".encode() for sequence_id in data.sequence_ids.to_pylist())
    return np.array([zlib.crc32(name) for name in ids], np.int64)


def examine(
    model: DensityModel,
    data: EventDataset,
    absent: sp.csr_array,
    examiners: list[Examiner],
    seed: int = 0,
) -> EdgeTable:
    """The edges of all sequences of a data set; `absent` are the labels tested though not carried."""
    seeds = sequence_seeds(data, seed)
    parts = []
    for start in range(0, len(data), BLOCK):
        block = np.arange(start, min(start + BLOCK, len(data)))
        parts.append(_examine_block(model, data.select(block), absent[block], examiners, seeds[block]))
    return EdgeTable.join(parts)


def _examine_block(
    model: DensityModel,
    data: EventDataset,
    absent: sp.csr_array,
    examiners: list[Examiner],
    seeds: NDArray[np.int64],
) -> EdgeTable:
    carried, near = data.label_matrix().toarray() > 0, absent.toarray() > 0
    wanted = {"present": carried, "absent": near & ~carried}
    names = _Names(model, data)
    tables, edges = [], []
    for examiner in examiners:
        asked = np.zeros_like(carried)
        for polarity in examiner.polarities:
            asked |= wanted[polarity]
            tables.append(names.looked_at(examiner.test.name, polarity, wanted[polarity]))
        for rows, batch in _batches(model, data, asked.any(axis=1)):
            scores = examiner.test.score(model, batch, asked[rows], seeds[rows])
            kept = scores.take(examiner.cut.keep(scores))
            edges.append(names.edges(examiner.test.name, rows, batch, kept, carried))
    found = pl.concat([pl.DataFrame(schema=EDGES), *edges]).sort("sequence", "label", "test", "position")
    joined = EdgeTable.join(tables)
    return EdgeTable(found, joined.support, joined.chances)


def _batches(
    model: DensityModel, data: EventDataset, which: Flags
) -> Iterator[tuple[NDArray[np.int64], Batch]]:
    """Batches of similar lengths of some sequences."""
    batches = Batches(data, model.vocabulary, model.max_length)
    rows = np.flatnonzero(which)
    order = rows[np.argsort(batches.lengths[rows], kind="stable")]
    for part in packed(order, batches.lengths, TOKENS):
        yield part, batches.take(part)


class _Names:
    """From numbers of a block to the names of an edge table."""

    def __init__(self, model: DensityModel, data: EventDataset) -> None:
        self._labels = np.array(model.label_names, object)
        self._events = np.array(model.vocabulary.decode(range(len(model.vocabulary))), object)
        self._ids, self._n_events = np.array(data.sequence_ids.to_pylist(), object), data.lengths
        shown = Batches(data, model.vocabulary, model.max_length).take(np.arange(len(data)))
        types = Types.of(shown)
        ones = np.ones(len(types.rows), np.int64)
        self._holds = sp.csr_array((ones, (types.rows, types.ids)), shape=(len(data), len(self._events)))

    def looked_at(self, test: str, polarity: str, wanted: Flags) -> EdgeTable:
        """No edges, but in how many sequences labels were tested and event types could be found."""
        tested = wanted.sum(axis=0)
        labels = np.flatnonzero(tested)
        chances = sp.coo_array(sp.csr_array(wanted.T.astype(np.int64)) @ self._holds)
        kind = {"test": test, "polarity": polarity}
        return EdgeTable(
            pl.DataFrame(schema=EDGES),
            _table(SUPPORT, kind, label=self._labels[labels], sequences=tested[labels]),
            _table(
                CHANCES,
                kind,
                label=self._labels[chances.coords[0]],
                event=self._events[chances.coords[1]],
                sequences=chances.data,
            ),
        )

    def edges(
        self, test: str, rows: NDArray[np.int64], batch: Batch, kept: Scores, carried: Flags
    ) -> pl.DataFrame:
        """Kept scores of a batch as edges; positions are counted in the whole sequence, from 0."""
        of_block = rows[kept.rows]
        cut = self._n_events[of_block] - (batch.lengths[kept.rows] - MARKS)
        return _table(
            EDGES,
            {"test": test},
            sequence=self._ids[of_block],
            label=self._labels[kept.labels],
            event=self._events[batch.ids[kept.rows, kept.positions]],
            position=kept.positions - 1 + cut,
            strength=kept.strength,
            spread=kept.spread,
            effect=kept.effect,
            polarity=np.array(POLARITIES, object)[carried[of_block, kept.labels].astype(np.int64)],
        )


def _table(schema: Mapping[str, pl.DataType], same: Mapping[str, str], **columns: Any) -> pl.DataFrame:
    """A table of some columns and of some that have the same value in all rows."""
    size = len(next(iter(columns.values())))
    full = {**columns, **{name: [value] * size for name, value in same.items()}}
    return pl.DataFrame(
        {name: pl.Series(name, full[name], strict=False).cast(kind) for name, kind in schema.items()},
        schema=dict(schema),
    )
