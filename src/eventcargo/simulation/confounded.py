"""The regime `confounded`: an unrecorded cause raises both a recorded event, the decoy, and the label.

This violates, on purpose, the assumption that all common causes are recorded: the decoy stays dependent
on the label whatever is held fixed. The truth contains only the recorded cause.
"""

from dataclasses import dataclass

import numpy as np

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
from eventcargo.simulation.prevention import leave_out, prevented_types
from eventcargo.simulation.rules import flip
from eventcargo.simulation.simulated import Cause, Columns, Simulated, assemble, event_names


@dataclass(frozen=True)
class ConfoundedConfig(DenseConfig):
    """Settings of the regime `confounded`."""

    cause_share: float = setting(0.3, ge=0, le=1)
    """probability of the recorded cause"""
    hidden_share: float = setting(0.3, ge=0, le=1)
    """probability of the hidden cause"""
    decoy: float = setting(0.7, ge=0, le=1)
    """probability of the decoy with the hidden cause"""
    decoy_alone: float = setting(0.1, ge=0, le=1)
    """probability of the decoy without the hidden cause"""
    strength: float = setting(0.8, ge=0, le=1)
    """probability that the recorded cause produces the label"""
    hidden_strength: float = setting(0.6, ge=0, le=1)
    """probability that the hidden cause produces the label"""
    leak: float = setting(0.02, ge=0, le=1)
    """probability of the label without any cause"""
    without: tuple[str, ...] = ()
    """event type that is prevented, with all that it would have caused; repeat for more"""


def simulate_confounded(config: ConfoundedConfig, seed: int = 0) -> Simulated:
    """Simulate sequences with a hidden common cause for each label.

    >>> simulate_confounded(ConfoundedConfig(sequences=10, labels=1)).rules
    {'L000': 'E00002 | hidden cause, which also raises E00011'}
    """
    rng, absent = np.random.default_rng(seed), prevented_types(config.without, config.event_types)
    cast = Roles.draw(rng, config)
    shape = (config.sequences, config.labels)
    has_cause, hidden = rng.random(shape) < config.cause_share, rng.random(shape) < config.hidden_share
    has_decoy = rng.random(shape) < np.where(hidden, config.decoy, config.decoy_alone)
    acting = has_cause & ~np.isin(cast.causes[:, 0], absent)
    spared = (1 - config.strength * acting) * (1 - config.hidden_strength * hidden) * (1 - config.leak)
    holds = rng.random(shape) >= spared
    present = [np.where(has_cause, cast.causes[:, 0], UNUSED), np.where(has_decoy, cast.causes[:, 1], UNUSED)]
    fillers = cast.draw_fillers(rng, draw_sequence_lengths(rng, config) - cast.causes.size)
    table = np.concatenate([*present, fillers], axis=1).astype(np.int32)
    lengths, events = flatten(in_order(table, shuffled_places(rng, table.shape))[0])
    times = draw_times(rng, lengths)
    carried = flip(rng, np.asarray(holds), config.label_noise, config.label_noise)
    names = event_names(config.event_types)
    truth = [
        Cause({x: 1}, f"{names[x]} | hidden cause, which also raises {names[decoy]}")
        for x, decoy in cast.causes.tolist()
    ]
    columns = leave_out(Columns(lengths, events, times, carried), absent)
    return assemble("confounded", config, seed, columns, truth)
