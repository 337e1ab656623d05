"""Scoring a shard: the edges of its sequences, by one or more tests.

Sequences are processed in blocks that depend only on their order and groups, so neither the shard size nor
the number of workers changes the result. No block splits a group, so that votes can be summed by group.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.batches import Batch, Batches, packed
from eventcargo.deadline import NEVER, Deadline
from eventcargo.edges import POLARITIES, EdgeTable
from eventcargo.events import EventDataset
from eventcargo.models.density import DensityModel
from eventcargo.oneshot.cases import Cases
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.edge_collector import EdgeCollector
from eventcargo.oneshot.pooled import PooledEvidence
from eventcargo.oneshot.prefix import PrefixTest
from eventcargo.oneshot.scores import EventScores, OneshotTest
from eventcargo.oneshot.thresholds import PAPER_THRESHOLD, EdgeThreshold, RelativeThreshold, StaticThreshold
from eventcargo.oneshot.total import TotalTest, Types

Flags = NDArray[np.bool_]

BLOCK = 256
"""Sequences that are sorted by length and batched together."""

TOKENS = 4_096
"""Positions per batch."""


@dataclass(frozen=True)
class ConfiguredTest:
    """A test with its threshold and the polarities it covers."""

    test: OneshotTest
    threshold: EdgeThreshold
    polarities: tuple[str, ...] = POLARITIES
    allowed: Flags | None = None  # (labels, V): pairs that may be edges; None: all


def configured_tests(
    config: ExtractConfig, pooled: float | None = None, allowed: Flags | None = None
) -> list[ConfiguredTest]:
    """The tests with their thresholds; the prefix test covers only sequences with the label.

    `allowed`, (labels, V), marks the pairs of a label and an event type that may be edges.
    """
    threshold = _prefix_threshold(config, pooled)
    made = {
        "total": ConfiguredTest(
            TotalTest(allowed, config.threshold), StaticThreshold(config.threshold), allowed=allowed
        ),
        "prefix": ConfiguredTest(PrefixTest(config.prefix, threshold), threshold, ("present",), allowed),
    }
    return [made[name] for name in config.tests]


def _prefix_threshold(config: ExtractConfig, pooled: float | None) -> EdgeThreshold:
    if config.paper:
        return PAPER_THRESHOLD
    if config.threshold_kind == "pooled" and pooled is not None:
        return StaticThreshold(pooled)
    if config.threshold_kind == "static":
        return StaticThreshold(config.threshold)
    return RelativeThreshold(config.z_threshold)


def sequence_seeds(data: EventDataset, seed: int) -> NDArray[np.int64]:
    """One seed per sequence, derived from its id and `seed` alone.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence(name, (), (), ()) for name in "ab"])
    >>> sequence_seeds(data, 0)[1] == sequence_seeds(data.select(["b"]), 0)[0]
    np.True_
    """
    seeds = (zlib.crc32(f"{seed}/{sequence_id}".encode()) for sequence_id in data.ids())
    return np.fromiter(seeds, np.int64, len(data))


def blocks(data: EventDataset) -> list[NDArray[np.int64]]:
    """The sequences of each block: `BLOCK`, and more only to end with a whole group.

    Groups come in order of their first sequence. A shard of some blocks has these blocks again.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence(f"{i:03}", (), (), ()) for i in range(600)])
    >>> [len(block) for block in blocks(data)], [len(block) for block in blocks(data.in_groups([7] * 600))]
    ([256, 256, 88], [600])
    """
    order = np.argsort(data.group_numbers, kind="stable")
    ends = np.cumsum(np.bincount(data.group_numbers))  # of groups, in this order
    cuts, last = list[int](), 0
    while last + BLOCK < len(data):
        last = int(ends[np.searchsorted(ends, last + BLOCK)])
        cuts.append(last)
    return [block for block in np.split(order, cuts) if len(block)]


def score_shard(
    model: DensityModel,
    data: EventDataset,
    cases: Cases,
    tests: Sequence[ConfiguredTest],
    seeds: NDArray[np.int64],
    deadline: Deadline = NEVER,
) -> EdgeTable:
    """The edges of the sequences of a data set, for the selected cases.

    Raises `OutOfTime` if the deadline comes before the end.
    """
    collector = EdgeCollector(model, data)
    pooled = PooledEvidence(model, data, _allowed(tests)) if _total(tests) else None
    for block in blocks(data):
        batches = Batches(data.select(block), model.vocabulary, model.max_length)
        wanted = {name: getattr(cases, name)[block].toarray() > 0 for name in POLARITIES}
        types = Types.of(batches.take(np.arange(len(block))))
        if pooled is not None:
            deadline.check()
            pooled.add(block, batches)
        for configured_test in tests:
            asked = np.zeros_like(wanted["present"])
            for polarity in configured_test.polarities:
                asked |= wanted[polarity]
                collector.note_tested(
                    configured_test.test.name,
                    polarity,
                    block,
                    wanted[polarity],
                    types,
                    configured_test.allowed,
                )
            asked &= _open(types, asked.shape, configured_test.allowed)
            for rows, batch in _batches(batches, asked.any(axis=1)):
                deadline.check()
                scores = configured_test.test.score(model, batch, asked[rows], seeds[block[rows]])
                edges = _permitted(
                    scores.take(configured_test.threshold.keep(scores)), batch, configured_test.allowed
                )
                collector.note_edges(configured_test.test.name, block[rows], batch, edges)
    return collector.table(pooled)


def _total(tests: Sequence[ConfiguredTest]) -> bool:
    """Whether all of a sequence is conditioned on, as the pooled evidence does."""
    return any(isinstance(each.test, TotalTest) for each in tests)


def _allowed(tests: Sequence[ConfiguredTest]) -> Flags | None:
    return tests[0].allowed


def _open(types: Types, shape: tuple[int, ...], allowed: Flags | None) -> Flags:
    """Whether a sequence holds an event type that is allowed for a label: (sequences, labels)."""
    if allowed is None:
        return np.ones(shape, bool)
    is_open = np.zeros(shape, bool)
    rows, starts = np.unique(types.rows, return_index=True)
    is_open[rows] = np.logical_or.reduceat(allowed[:, types.ids], starts, axis=1).T
    return is_open


def _permitted(edges: EventScores, batch: Batch, allowed: Flags | None) -> EventScores:
    """The edges that are allowed; for a relative threshold the other pairs remain background."""
    if allowed is None:
        return edges
    return edges.take(allowed[edges.labels, batch.ids[edges.rows, edges.positions]])


def _batches(batches: Batches, which: Flags) -> Iterator[tuple[NDArray[np.int64], Batch]]:
    """Batches of the selected sequences, grouped by similar length."""
    rows = np.flatnonzero(which)
    order = rows[np.argsort(batches.lengths[rows], kind="stable")]
    for similar in packed(order, batches.lengths, TOKENS):
        yield similar, batches.take(similar)
