"""The regime `timing`: a label holds iff events a and b are less than `limit` apart in time.

Both occur once in every sequence, in either order, with zero to two other events between them, independently
of the label. The sign of both is 0: neither promotes or inhibits by itself.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eventcargo.config import setting
from eventcargo.simulation.arrangement import (
    UNUSED,
    ArrangedConfig,
    Roles,
    draw_labels,
    draw_sequence_lengths,
    flatten,
    in_order,
    shuffled_places,
)
from eventcargo.simulation.background import accumulate
from eventcargo.simulation.rules import flip
from eventcargo.simulation.simulated import Cause, Columns, Simulated, assemble, event_names

SHORT, LONG = (0.05, 0.9), (1.1, 3.0)
"""Ranges of the time between the two events, in multiples of the limit: if the label holds, if not."""


@dataclass(frozen=True)
class TimingConfig(ArrangedConfig):
    """Settings of the regime `timing`."""

    limit: float = setting(1.0, ge=0.1, le=1e6)
    """the label holds if its two causes are less than this apart in time"""

    events_per_label: ClassVar[int] = 4


def simulate_timing(config: TimingConfig, seed: int = 0) -> Simulated:
    """Simulate sequences in which the time between two events decides.

    >>> simulate_timing(TimingConfig(sequences=10, labels=1)).rules
    {'L000': 'E00002 and E00011 less than 1 apart in time'}
    """
    rng = np.random.default_rng(seed)
    cast = Roles.draw(rng, config)
    holds = draw_labels(rng, config)
    blocks = _blocks(rng, cast, config)
    n_outside = draw_sequence_lengths(rng, config) - (blocks != UNUSED).sum((1, 2))
    joined = blocks.reshape(config.sequences, -1)
    table = np.concatenate([joined, cast.draw_fillers(rng, n_outside)], axis=1)
    ordered, order = in_order(table, _places(rng, table.shape, config.labels))
    gaps = config.limit * rng.lognormal(-1.0, 1.0, table.shape)
    gaps[:, : joined.shape[1]] = _block_gaps(rng, config, blocks, holds, gaps[:, : joined.shape[1]])
    lengths, events = flatten(ordered)
    times = accumulate(np.take_along_axis(gaps, order, 1)[ordered != UNUSED], lengths)
    carried = flip(rng, holds, config.label_noise, config.label_noise)
    names = event_names(config.event_types)
    truth = [
        Cause({a: 0, b: 0}, f"{names[a]} and {names[b]} less than {config.limit:g} apart in time")
        for a, b in cast.causes.tolist()
    ]
    return assemble("timing", config, seed, Columns(lengths, events, times, carried), truth)


def _blocks(rng: np.random.Generator, cast: Roles, config: TimingConfig) -> NDArray[np.int32]:
    """One block for each label: a or b, up to two fillers, then the other: (sequences, labels, 4)."""
    shape = (config.sequences, config.labels)
    inside = cast.draw_fillers(rng, rng.integers(0, 2, config.sequences * config.labels, endpoint=True))
    blocks = np.full((*shape, 4), UNUSED, np.int32)
    blocks[:, :, 1 : 1 + inside.shape[1]] = inside.reshape(*shape, inside.shape[1])
    a_first = rng.random(shape) < 0.5
    a, b = cast.causes[:, 0], cast.causes[:, 1]
    blocks[:, :, 0], blocks[:, :, 3] = np.where(a_first, a, b), np.where(a_first, b, a)
    return blocks


def _places(rng: np.random.Generator, shape: tuple[int, ...], labels: int) -> NDArray[np.float64]:
    """Random places that keep the events of a block together."""
    places = shuffled_places(rng, shape)
    start = places[:, 0 : 4 * labels : 4]
    for step in (1, 2, 3):
        places[:, step : 4 * labels : 4] = start + step / 4
    return places


def _block_gaps(
    rng: np.random.Generator,
    config: TimingConfig,
    blocks: NDArray[np.int32],
    holds: NDArray[np.bool_],
    gaps: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The gaps; the time inside each block fits its label and is split at random over the block's events."""
    inside = gaps.reshape(blocks.shape).copy()
    elapsed = config.limit * np.where(
        holds, rng.uniform(*SHORT, holds.shape), rng.uniform(*LONG, holds.shape)
    )
    shares = rng.exponential(1.0, (*holds.shape, 3)) * (blocks[:, :, 1:] != UNUSED)
    inside[:, :, 1:] = elapsed[:, :, None] * shares / shares.sum(2, keepdims=True)
    return inside.reshape(gaps.shape)
