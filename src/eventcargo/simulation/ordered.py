"""The regime `ordered`: a label holds iff event a comes before event b; both occur once in every sequence.

The sign of both is 0: neither promotes or inhibits by itself.
"""

from dataclasses import dataclass

import numpy as np

from eventcargo.simulation.arrangement import (
    ArrangedConfig,
    Roles,
    draw_labels,
    draw_sequence_lengths,
    flatten,
    in_order,
    shuffled_places,
)
from eventcargo.simulation.background import draw_times
from eventcargo.simulation.rules import flip
from eventcargo.simulation.simulated import Cause, Columns, Simulated, assemble, event_names


@dataclass(frozen=True)
class OrderedConfig(ArrangedConfig):
    """Settings of the regime `ordered`."""


def simulate_ordered(config: OrderedConfig, seed: int = 0) -> Simulated:
    """Simulate sequences in which the order of two events decides.

    >>> simulate_ordered(OrderedConfig(sequences=10, labels=1)).rules
    {'L000': 'E00002 before E00011'}
    """
    rng = np.random.default_rng(seed)
    cast = Roles.draw(rng, config)
    holds = draw_labels(rng, config)
    fillers = cast.draw_fillers(rng, draw_sequence_lengths(rng, config) - cast.causes.size)
    causes = np.broadcast_to(cast.causes.reshape(-1), (config.sequences, cast.causes.size))
    table = np.concatenate([causes, fillers], axis=1)
    places = shuffled_places(rng, table.shape)
    first, second = places[:, 0 : causes.shape[1] : 2], places[:, 1 : causes.shape[1] : 2]
    early, late = np.minimum(first, second), np.maximum(first, second)
    first[:], second[:] = np.where(holds, early, late), np.where(holds, late, early)
    lengths, events = flatten(in_order(table, places)[0])
    times = draw_times(rng, lengths)
    carried = flip(rng, holds, config.label_noise, config.label_noise)
    names = event_names(config.event_types)
    truth = [Cause({a: 0, b: 0}, f"{names[a]} before {names[b]}") for a, b in cast.causes.tolist()]
    return assemble("ordered", config, seed, Columns(lengths, events, times, carried), truth)
