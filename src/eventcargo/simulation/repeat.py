"""The regime `repeat`: a label holds iff its event, present in every sequence, occurs `times` times or more.

If it occurs less often, other events of the sequence are repeated instead, so that the length of a sequence
and the presence of events say nothing about the label.
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
from eventcargo.simulation.background import draw_times
from eventcargo.simulation.rules import flip
from eventcargo.simulation.simulated import Cause, Columns, Simulated, assemble, event_names


@dataclass(frozen=True)
class RepeatConfig(ArrangedConfig):
    """Settings of the regime `repeat`."""

    times: int = setting(3, ge=2)
    """occurrences of the cause that make its label hold"""

    types_per_label: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_lengths(self.labels * self.most + 1)

    @property
    def most(self) -> int:
        """Largest number of occurrences of a cause."""
        return self.times + 1


def simulate_repeat(config: RepeatConfig, seed: int = 0) -> Simulated:
    """Simulate sequences in which the number of occurrences decides.

    >>> simulate_repeat(RepeatConfig(sequences=10, labels=1)).rules
    {'L000': 'E00002 at least 3 times'}
    """
    rng = np.random.default_rng(seed)
    cast = Roles.draw(rng, config)
    holds = draw_labels(rng, config)
    n_fillers = draw_sequence_lengths(rng, config) - config.labels * config.most
    fillers = cast.draw_fillers(rng, n_fillers)
    table = np.concatenate([_cause_columns(rng, config, cast, holds, fillers), fillers], axis=1)
    lengths, events = flatten(in_order(table, shuffled_places(rng, table.shape))[0])
    times = draw_times(rng, lengths)
    carried = flip(rng, holds, config.label_noise, config.label_noise)
    names = event_names(config.event_types)
    truth = [Cause({a: 1}, f"{names[a]} at least {config.times} times") for a in cast.causes[:, 0].tolist()]
    return assemble("repeat", config, seed, Columns(lengths, events, times, carried), truth)


def _cause_columns(
    rng: np.random.Generator,
    config: RepeatConfig,
    cast: Roles,
    holds: NDArray[np.bool_],
    fillers: NDArray[np.int32],
) -> NDArray[np.int32]:
    """`most` columns for each label: its cause as often as the label requires, then copies of fillers."""
    often = rng.integers(config.times, config.most, holds.shape, endpoint=True)
    seldom = rng.integers(1, config.times, holds.shape)
    counts = np.where(holds, often, seldom)[:, :, None]
    shape = (*holds.shape, config.most)
    n_fillers = (fillers != UNUSED).sum(1)
    copied = rng.integers(n_fillers[:, None], size=(len(holds), holds.shape[1] * config.most))
    copies = np.take_along_axis(fillers, copied, 1).reshape(shape)
    columns = np.where(np.arange(config.most) < counts, cast.causes[None, :, :], copies)
    return np.asarray(columns.reshape(len(holds), -1), np.int32)
