"""The regime `confounded`: a hidden cause raises a recorded event and the label; nothing recorded shows it.

Here the assumption that all common causes are recorded fails, on purpose: the decoy stays dependent on the
label whatever is held fixed. The truth holds the recorded cause alone.
"""

from dataclasses import dataclass

import numpy as np

from eventcargo.simulate.arrangement import (
    UNUSED,
    Cast,
    DenseConfig,
    draw_sequence_lengths,
    flatten,
    in_order,
    shuffled_places,
)
from eventcargo.simulate.background import draw_times
from eventcargo.simulate.limits import check_share
from eventcargo.simulate.rules import flip
from eventcargo.simulate.simulated import Cause, Columns, Simulated, assemble, event_names


@dataclass(frozen=True)
class ConfoundedConfig(DenseConfig):
    """Settings of the regime `confounded`."""

    cause_share: float = 0.3
    """chance that the recorded cause occurs"""
    hidden_share: float = 0.3
    """chance of the hidden cause"""
    decoy: float = 0.7
    """chance of the decoy under the hidden cause"""
    decoy_alone: float = 0.1
    """chance of the decoy otherwise"""
    strength: float = 0.8
    """chance that the recorded cause brings the label about"""
    hidden_strength: float = 0.6
    """chance that the hidden cause brings the label about"""
    leak: float = 0.02
    """chance of the label without any cause"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("cause_share", "hidden_share", "decoy", "decoy_alone"):
            check_share(self, name)
        for name in ("strength", "hidden_strength", "leak"):
            check_share(self, name)


def simulate_confounded(config: ConfoundedConfig, seed: int = 0) -> Simulated:
    """Sequences with a hidden common cause for each label.

    >>> simulate_confounded(ConfoundedConfig(sequences=10, labels=1)).rules
    {'L000': 'E00002 | hidden cause, which also raises E00011'}
    """
    rng = np.random.default_rng(seed)
    cast = Cast.draw(rng, config)
    shape = (config.sequences, config.labels)
    has_cause, hidden = rng.random(shape) < config.cause_share, rng.random(shape) < config.hidden_share
    has_decoy = rng.random(shape) < np.where(hidden, config.decoy, config.decoy_alone)
    spared = (1 - config.strength * has_cause) * (1 - config.hidden_strength * hidden) * (1 - config.leak)
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
    return assemble("confounded", config, seed, Columns(lengths, events, times, carried), truth)
