"""The regime `follows`: a label holds iff event b comes right after event a somewhere in the sequence.

Every sequence has both twice, once side by side (a b if the label holds, b a if not) and once apart, so that
neither presence nor closeness reveals the label. The sign of both is 0: neither promotes by itself.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

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
class FollowsConfig(ArrangedConfig):
    """Settings of the regime `follows`."""

    events_per_label: ClassVar[int] = 4


def simulate_follows(config: FollowsConfig, seed: int = 0) -> Simulated:
    """Simulate sequences in which one event right after another decides.

    >>> simulate_follows(FollowsConfig(sequences=10, labels=1)).rules
    {'L000': 'E00011 right after E00002'}
    """
    rng = np.random.default_rng(seed)
    cast = Roles.draw(rng, config)
    holds = draw_labels(rng, config)
    n_fixed = config.labels * config.events_per_label
    fillers = cast.draw_fillers(rng, draw_sequence_lengths(rng, config) - n_fixed)
    table = np.concatenate([_cause_columns(cast, holds), fillers], axis=1)
    lengths, events = flatten(_arrange(rng, table, cast, holds))
    times = draw_times(rng, lengths)
    carried = flip(rng, holds, config.label_noise, config.label_noise)
    names = event_names(config.event_types)
    truth = [Cause({a: 0, b: 0}, f"{names[b]} right after {names[a]}") for a, b in cast.causes.tolist()]
    return assemble("follows", config, seed, Columns(lengths, events, times, carried), truth)


def _cause_columns(cast: Roles, holds: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Four columns for each label: the adjacent pair, then a and b apart."""
    a, b = cast.causes[:, 0], cast.causes[:, 1]
    columns = np.empty((*holds.shape, 4), np.int32)
    columns[:, :, 0], columns[:, :, 1] = np.where(holds, a, b), np.where(holds, b, a)
    columns[:, :, 2], columns[:, :, 3] = a, b
    return columns.reshape(len(holds), -1)


def _arrange(
    rng: np.random.Generator, table: NDArray[np.int32], cast: Roles, holds: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Rows in an order that fits the labels; a row in which b follows a by accident is drawn again.

    Drawing again changes only the order, so the events of a row still say nothing about its labels.
    """
    ordered = np.empty_like(table)
    pending = np.arange(len(table))
    while len(pending):
        places = shuffled_places(rng, table[pending].shape)
        side = slice(0, 4 * holds.shape[1], 4)
        places[:, 1 : side.stop : 4] = places[:, side] + 0.5
        ordered[pending] = in_order(table[pending], places)[0]
        wrong = (follows(ordered[pending], cast.causes) != holds[pending]).any(1)
        pending = pending[wrong]
    return ordered


def follows(ordered: NDArray[np.int32], causes: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether the second cause comes right after the first somewhere: (sequences, labels)."""
    holds = [((ordered[:, :-1] == a) & (ordered[:, 1:] == b)).any(1) for a, b in causes]
    return np.stack(holds, axis=1)
