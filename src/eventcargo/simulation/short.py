"""The regime `short`: sequences of a few events with small Boolean rules on presence."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eventcargo.simulation.arrangement import (
    UNUSED,
    DenseConfig,
    draw_sequence_lengths,
    flatten,
)
from eventcargo.simulation.background import draw_times
from eventcargo.simulation.rules import Conjunction, Presence, TrueRule, flip
from eventcargo.simulation.simulated import Columns, Simulated, assemble, event_names

SHAPES = (
    TrueRule((Conjunction((0, 1)),)),
    TrueRule((Conjunction((0,), (1,)),)),
    TrueRule((Conjunction((0,)), Conjunction((1,)))),
    TrueRule((Conjunction((0, 1)), Conjunction((2,)))),
    TrueRule((Conjunction((0, 1), (2,)),)),
    TrueRule((Conjunction((0,)), Conjunction((1,), (2,)))),
)
"""The rules of the labels, in turn; each label has its own event types."""

CAUSE_SHARE = 0.7
"""Share of all events that are causes of some label."""


@dataclass(frozen=True)
class ShortConfig(DenseConfig):
    """Settings of the regime `short`."""

    event_types: int = 40
    """number of event types, causes included; three are reserved for each label"""
    labels: int = 6
    """number of labels"""
    length_min: int = 3
    """shortest sequence, in events"""
    length_max: int = 14
    """longest sequence, in events"""

    types_per_label: ClassVar[int] = 3
    events_per_label: ClassVar[int] = 0


def simulate_short(config: ShortConfig, seed: int = 0) -> Simulated:
    """Simulate short sequences.

    >>> simulate_short(ShortConfig(sequences=10, labels=2)).rules
    {'L000': 'E00011 & E00027', 'L001': 'E00024 & !E00023'}
    """
    rng = np.random.default_rng(seed)
    types = rng.permutation(config.event_types).astype(np.int32)
    rules = _draw_rules(types, config.labels)
    wanted = draw_sequence_lengths(rng, config)
    table = rng.choice(types, (config.sequences, config.length_max), p=_weights(types, rules))
    table[np.arange(config.length_max) >= wanted[:, None]] = UNUSED
    lengths, events = flatten(table)
    times = draw_times(rng, lengths)
    sequences = np.repeat(np.arange(config.sequences, dtype=np.int32), lengths)
    wanted_types = [event for rule in rules for event in rule.signs]
    presence = Presence(sequences, events, config.sequences, wanted_types)
    holds = np.stack([presence.holds(rule) for rule in rules], axis=1)
    carried = flip(rng, holds, config.label_noise, config.label_noise)
    names = event_names(config.event_types)
    truth = [rule.cause(names) for rule in rules]
    return assemble("short", config, seed, Columns(lengths, events, times, carried), truth)


def _draw_rules(types: NDArray[np.int32], labels: int) -> list[TrueRule]:
    """The rule of each label: a shape over the next three event types."""
    return [
        SHAPES[label % len(SHAPES)].over(types[3 * label : 3 * label + 3].tolist()) for label in range(labels)
    ]


def _weights(types: NDArray[np.int32], rules: list[TrueRule]) -> NDArray[np.float64]:
    """Probabilities of the event types: causes share `CAUSE_SHARE` evenly, all others share the rest."""
    is_cause = np.isin(types, [event for rule in rules for event in rule.signs])
    return np.where(is_cause, CAUSE_SHARE / is_cause.sum(), (1 - CAUSE_SHARE) / (~is_cause).sum())
