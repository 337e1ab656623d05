"""The regime `recency`: a label holds iff its event, once in every sequence, is among the last events."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eventcargo.config import check_at_least, setting
from eventcargo.errors import ConfigError, argument, counted
from eventcargo.simulation.arrangement import (
    ArrangedConfig,
    Roles,
    draw_labels,
    draw_sequence_lengths,
    flatten,
)
from eventcargo.simulation.background import draw_times
from eventcargo.simulation.rules import flip
from eventcargo.simulation.simulated import Cause, Columns, Simulated, assemble, event_names


@dataclass(frozen=True)
class RecencyConfig(ArrangedConfig):
    """Settings of the regime `recency`."""

    last: int = setting(8, ge=1)
    """the label holds if its cause is among this many last events"""

    types_per_label: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self, "last", self.labels)
        if self.length_min < self.last + self.labels:
            raise ConfigError(
                f"{argument('length_min', self.length_min)}: use at least "
                f"{self.last + self.labels}, for the last "
                f"{counted(self.last, 'event')} and {counted(self.labels, 'cause')} before them"
            )


def simulate_recency(config: RecencyConfig, seed: int = 0) -> Simulated:
    """Simulate sequences in which the position of an event decides.

    >>> simulate_recency(RecencyConfig(sequences=10, labels=1)).rules
    {'L000': 'E00002 among the last 8 events'}
    """
    rng = np.random.default_rng(seed)
    cast = Roles.draw(rng, config)
    holds = draw_labels(rng, config)
    wanted = draw_sequence_lengths(rng, config)
    table = cast.draw_fillers(rng, wanted)
    # here the columns of the table count from the end of the sequence
    distance = np.arange(table.shape[1])
    late = _slots(rng, np.tile(distance < config.last, (len(table), 1)), config.labels)
    early = _slots(rng, (distance >= config.last) & (distance < wanted[:, None]), config.labels)
    np.put_along_axis(table, np.where(holds, late, early), cast.causes[None, :, 0], 1)
    lengths, events = flatten(table[:, ::-1])
    times = draw_times(rng, lengths)
    carried = flip(rng, holds, config.label_noise, config.label_noise)
    names = event_names(config.event_types)
    truth = [
        Cause({a: 1}, f"{names[a]} among the last {config.last} events") for a in cast.causes[:, 0].tolist()
    ]
    return assemble("recency", config, seed, Columns(lengths, events, times, carried), truth)


def _slots(rng: np.random.Generator, allowed: NDArray[np.bool_], count: int) -> NDArray[np.int64]:
    """`count` different allowed columns of each row, drawn at random."""
    keys = np.where(allowed, rng.random(allowed.shape), np.inf)
    return np.argsort(keys, axis=1, kind="stable")[:, :count]
