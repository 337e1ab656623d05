"""Labels first, then an order of the events that fits them: the regimes `state`, `switch` and `window`.

How often each event type of a label occurs is drawn independently of the label, so that presence, counts and
length say nothing about it. The events of a label are moved, among themselves and the fillers, until its rule
is as true as its label; the events of other labels stay where they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eventcargo.config import check_at_least, setting
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
from eventcargo.simulation.sequence_rules import SequenceRule, Sequences
from eventcargo.simulation.simulated import Columns, Simulated, assemble, event_names


@dataclass(frozen=True)
class RearrangedConfig(ArrangedConfig):
    """Settings of the regimes that put events in an order that fits the labels."""

    sequences: int = setting(8_000, ge=1)
    """number of sequences"""
    labels: int = setting(5, ge=1)
    """number of labels"""
    label_noise: float = setting(0.02, ge=0, le=0.5)
    """share of true labels dropped"""
    length_min: int = setting(36, ge=1)
    """shortest sequence, in events"""
    length_max: int = setting(60, ge=1)
    """longest sequence, in events"""
    occurrences_min: int = setting(1, ge=1)
    """fewest occurrences of each event type of a label in a sequence"""
    occurrences_max: int = setting(3, ge=1)
    """most occurrences of each event type of a label in a sequence"""

    events_per_label: ClassVar[int] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self, "occurrences_max", self.occurrences_min)
        self._check_lengths(self.labels * self.types_per_label * self.occurrences_max + self.spare)

    @property
    def spare(self) -> int:
        """Smallest number of fillers in a sequence."""
        return 1


def simulate_rearranged(
    regime: str, config: RearrangedConfig, seed: int, kind: str, limits: tuple[float, ...] = ()
) -> Simulated:
    """Simulate sequences in which each label has a rule of this kind."""
    rng = np.random.default_rng(seed)
    roles = Roles.draw(rng, config)
    rules = [SequenceRule(kind, tuple(own), limits) for own in roles.causes.tolist()]
    holds = draw_labels(rng, config)
    table = _draw_table(rng, config, roles)
    lengths, events = flatten(_arrange(rng, table, rules, roles.fillers, holds))
    times = draw_times(rng, lengths)
    carried = flip(rng, holds, config.label_noise, 0.0)
    names = event_names(config.event_types)
    truth = [rule.cause(names) for rule in rules]
    return assemble(regime, config, seed, Columns(lengths, events, times, carried), truth)


def _draw_table(rng: np.random.Generator, config: RearrangedConfig, roles: Roles) -> NDArray[np.int32]:
    """Events in random order; how often each occurs does not depend on any label."""
    causes = roles.causes.reshape(-1)
    shape = (config.sequences, len(causes))
    counts = rng.integers(config.occurrences_min, config.occurrences_max, shape, endpoint=True)
    is_used = np.arange(config.occurrences_max) < counts[:, :, None]
    planted = np.where(is_used, causes[None, :, None], UNUSED).reshape(config.sequences, -1)
    fillers = roles.draw_fillers(rng, draw_sequence_lengths(rng, config) - counts.sum(1))
    table = np.concatenate([planted, fillers], axis=1).astype(np.int32)
    return in_order(table, shuffled_places(rng, table.shape))[0]


def _arrange(
    rng: np.random.Generator,
    table: NDArray[np.int32],
    rules: Sequence[SequenceRule],
    fillers: NDArray[np.int32],
    holds: NDArray[np.bool_],
) -> NDArray[np.int32]:
    """The table with the events of each label moved until its rule holds where the label does."""
    for label, rule in enumerate(rules):
        movable = np.concatenate([fillers, rule.events])
        pending = np.arange(len(table))
        while len(pending):
            pending = pending[_evaluate(rule, table[pending]) != holds[pending, label]]
            table[pending] = _shuffle(rng, table[pending], np.isin(table[pending], movable))
    return table


def _evaluate(rule: SequenceRule, table: NDArray[np.int32]) -> NDArray[np.bool_]:
    lengths, events = flatten(table)
    return rule.holds(Sequences(lengths, events, np.zeros(len(events))))


def _shuffle(
    rng: np.random.Generator, table: NDArray[np.int32], movable: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """The table with the movable entries of each row in random order, all others where they are."""
    places = np.argsort(~movable, axis=1, kind="stable")
    origins = np.argsort(np.where(movable, rng.random(table.shape), 1.0), axis=1, kind="stable")
    shuffled = table.copy()
    np.put_along_axis(shuffled, places, np.take_along_axis(table, origins, 1), 1)
    return shuffled
