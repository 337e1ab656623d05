"""Score a shard: the edges of a block of sequences, by one or more tests.

Sequences are worked on in blocks that depend on nothing but their order, so that neither the size of shards
nor the number of workers changes a result.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.batches import Batch, Batches, packed
from eventcargo.edges import EdgeTable
from eventcargo.events import EventDataset
from eventcargo.models.density import DensityModel
from eventcargo.oneshot.cases import Cases
from eventcargo.oneshot.edge_collector import POLARITIES, EdgeCollector
from eventcargo.oneshot.scores import EventScores, OneshotTest
from eventcargo.oneshot.thresholds import EdgeThreshold
from eventcargo.oneshot.total import Types

Flags = NDArray[np.bool_]

BLOCK = 256
"""Sequences that are sorted by length and made into batches together."""

TOKENS = 4_096
"""Positions of a batch."""


@dataclass(frozen=True)
class ConfiguredTest:
    """A test with its cut, and which polarities it looks at."""

    test: OneshotTest
    threshold: EdgeThreshold
    polarities: tuple[str, ...] = POLARITIES
    allowed: Flags | None = None  # (labels, V): pairs that may be edges; None: all


def sequence_seeds(data: EventDataset, seed: int) -> NDArray[np.int64]:
    """A number for each sequence that follows from its id and the seed alone.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence(name, (), (), ()) for name in "ab"])
    >>> sequence_seeds(data, 0)[1] == sequence_seeds(data.select(["b"]), 0)[0]
    np.True_
    """
    ids = (f"{seed}/{sequence_id}".encode() for sequence_id in data.sequence_ids.to_pylist())
    return np.array([zlib.crc32(name) for name in ids], np.int64)


def score_shard(
    model: DensityModel,
    data: EventDataset,
    cases: Cases,
    configured_tests: Sequence[ConfiguredTest],
    seeds: NDArray[np.int64],
) -> EdgeTable:
    """The edges of the sequences of a data set in which labels were selected for testing."""
    collector = EdgeCollector(model, data)
    for start in range(0, len(data), BLOCK):
        block = np.arange(start, min(start + BLOCK, len(data)))
        batches = Batches(data.select(block), model.vocabulary, model.max_length)
        wanted = {name: getattr(cases, name)[block].toarray() > 0 for name in POLARITIES}
        types = Types.of(batches.take(np.arange(len(block))))
        for configured_test in configured_tests:
            asked = np.zeros_like(wanted["present"])
            for polarity in configured_test.polarities:
                asked |= wanted[polarity]
                collector.note_tested(
                    configured_test.test.name, polarity, wanted[polarity], types, configured_test.allowed
                )
            asked &= _open(types, asked.shape, configured_test.allowed)
            for rows, batch in _batches(batches, asked.any(axis=1)):
                scores = configured_test.test.score(model, batch, asked[rows], seeds[block[rows]])
                kept = _permitted(
                    scores.take(configured_test.threshold.keep(scores)), batch, configured_test.allowed
                )
                collector.note_edges(configured_test.test.name, block[rows], batch, kept)
    return collector.table()


def _open(types: Types, shape: tuple[int, ...], allowed: Flags | None) -> Flags:
    """Where a sequence holds an event type that may be an edge of a label: (sequences, labels)."""
    if allowed is None:
        return np.ones(shape, bool)
    found = np.zeros(shape, bool)
    rows, starts = np.unique(types.rows, return_index=True)
    found[rows] = np.logical_or.reduceat(allowed[:, types.ids], starts, axis=1).T
    return found


def _permitted(kept: EventScores, batch: Batch, allowed: Flags | None) -> EventScores:
    """Without the pairs that may be no edges: to a relative cut they are background like all others."""
    if allowed is None:
        return kept
    return kept.take(allowed[kept.labels, batch.ids[kept.rows, kept.positions]])


def _batches(batches: Batches, which: Flags) -> Iterator[tuple[NDArray[np.int64], Batch]]:
    """Batches of similar lengths of some sequences."""
    rows = np.flatnonzero(which)
    order = rows[np.argsort(batches.lengths[rows], kind="stable")]
    for part in packed(order, batches.lengths, TOKENS):
        yield part, batches.take(part)
