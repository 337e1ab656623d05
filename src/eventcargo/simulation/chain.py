"""The regime `chain`: an event u raises the probability of x, which causes the label; u does not cause it.

Given whether x occurs, the label is independent of u and of everything else. If both occur, u comes first.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.config import setting
from eventcargo.simulation.arrangement import (
    UNUSED,
    DenseConfig,
    Roles,
    draw_sequence_lengths,
    flatten,
    in_order,
    shuffled_places,
)
from eventcargo.simulation.background import draw_times
from eventcargo.simulation.rules import flip
from eventcargo.simulation.simulated import Cause, Columns, Simulated, assemble, event_names


@dataclass(frozen=True)
class ChainConfig(DenseConfig):
    """Settings of the regime `chain`."""

    start: float = setting(0.4, ge=0, le=1)
    """probability of u"""
    passes_on: float = setting(0.8, ge=0, le=1)
    """probability of x if u occurs"""
    alone: float = setting(0.15, ge=0, le=1)
    """probability of x if u does not occur"""
    causes: float = setting(0.9, ge=0, le=1)
    """probability of the label if x occurs"""
    leak: float = setting(0.05, ge=0, le=1)
    """probability of the label if x does not occur"""


def simulate_chain(config: ChainConfig, seed: int = 0) -> Simulated:
    """Simulate sequences with one chain for each label.

    >>> simulate_chain(ChainConfig(sequences=10, labels=1)).rules
    {'L000': 'E00011, itself raised by E00002'}
    """
    rng = np.random.default_rng(seed)
    cast = Roles.draw(rng, config)
    shape = (config.sequences, config.labels)
    has_u = rng.random(shape) < config.start
    has_x = rng.random(shape) < np.where(has_u, config.passes_on, config.alone)
    holds = rng.random(shape) < np.where(has_x, config.causes, config.leak)
    n_fillers = draw_sequence_lengths(rng, config) - cast.causes.size
    lengths, events = flatten(_arrange(rng, cast, has_u, has_x, cast.draw_fillers(rng, n_fillers)))
    times = draw_times(rng, lengths)
    carried = flip(rng, np.asarray(holds), config.label_noise, config.label_noise)
    names = event_names(config.event_types)
    truth = [Cause({x: 1}, f"{names[x]}, itself raised by {names[u]}") for u, x in cast.causes.tolist()]
    return assemble("chain", config, seed, Columns(lengths, events, times, carried), truth)


def _arrange(
    rng: np.random.Generator,
    cast: Roles,
    has_u: NDArray[np.bool_],
    has_x: NDArray[np.bool_],
    fillers: NDArray[np.int32],
) -> NDArray[np.int32]:
    """All events in random order, u before x."""
    u = np.where(has_u, cast.causes[:, 0], UNUSED)
    x = np.where(has_x, cast.causes[:, 1], UNUSED)
    table = np.concatenate([u, x, fillers], axis=1).astype(np.int32)
    places = shuffled_places(rng, table.shape)
    labels = has_u.shape[1]
    of_u, of_x = places[:, :labels].copy(), places[:, labels : 2 * labels].copy()
    places[:, :labels], places[:, labels : 2 * labels] = np.minimum(of_u, of_x), np.maximum(of_u, of_x)
    return in_order(table, places)[0]
