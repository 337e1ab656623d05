"""Small dense data: a table of events (sequences, columns), and a place for each event that sorts its row.

In the regimes where presence carries no information, labels are drawn first, then the events of each sequence
independently of its labels; finally the events are put in an order that fits the labels.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eventcargo.config import Settings, check_at_least, setting
from eventcargo.errors import ConfigError, argument, counted
from eventcargo.simulation.background import zipf_weights

UNUSED = -1
"""An empty entry of the table."""

FILLER_ZIPF = 0.7


@dataclass(frozen=True)
class DenseConfig(Settings):
    """Settings of all regimes with few event types."""

    sequences: int = setting(4_000, ge=1)
    """number of sequences"""
    event_types: int = setting(30, ge=1)
    """number of event types, causes included"""
    labels: int = setting(4, ge=1)
    """number of labels"""
    label_noise: float = setting(0.0, ge=0, le=0.5)
    """share of labels flipped, in both directions"""
    length_min: int = setting(20, ge=1)
    """shortest sequence, in events"""
    length_max: int = setting(40, ge=1)
    """longest sequence, in events"""

    types_per_label: ClassVar[int] = 2
    events_per_label: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self, "event_types", self.labels * self.types_per_label + 2)
        self._check_lengths(self.labels * self.events_per_label + 1)

    def _check_lengths(self, least: int) -> None:
        if self.length_min < least:
            raise ConfigError(
                f"{argument('length_min', self.length_min)}: use at least {least} for "
                f"{counted(self.labels, 'label')}, "
                "or fewer labels"
            )
        check_at_least(self, "length_max", self.length_min)


@dataclass(frozen=True)
class ArrangedConfig(DenseConfig):
    """Settings of the regimes where presence carries no information."""

    label_share: float = setting(0.4, ge=0.05, le=0.95)
    """share of sequences that carry a label, before noise"""


@dataclass(frozen=True)
class Roles:
    """Which event types are causes, (labels, types per label), and which are fillers."""

    causes: NDArray[np.int32]
    fillers: NDArray[np.int32]

    @classmethod
    def draw(cls, rng: np.random.Generator, config: DenseConfig) -> "Roles":
        types = rng.permutation(config.event_types).astype(np.int32)
        n_causes = config.labels * config.types_per_label
        return cls(types[:n_causes].reshape(config.labels, config.types_per_label), types[n_causes:])

    def draw_fillers(self, rng: np.random.Generator, counts: NDArray[np.int64]) -> NDArray[np.int32]:
        """A table with `counts` fillers in each row, followed by unused entries."""
        width = int(counts.max(initial=0))
        weights = zipf_weights(len(self.fillers), FILLER_ZIPF)
        table = rng.choice(self.fillers, (len(counts), width), p=weights)
        table[np.arange(width) >= counts[:, None]] = UNUSED
        return np.asarray(table, np.int32)


def draw_sequence_lengths(rng: np.random.Generator, config: DenseConfig) -> NDArray[np.int64]:
    """Lengths drawn uniformly from the allowed range."""
    return rng.integers(config.length_min, config.length_max, config.sequences, endpoint=True)


def draw_labels(rng: np.random.Generator, config: ArrangedConfig) -> NDArray[np.bool_]:
    """Independent labels: (sequences, labels)."""
    return np.asarray(rng.random((config.sequences, config.labels)) < config.label_share)


def shuffled_places(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Rows of 0, 1, 2, ... in random order; adding a fraction to a place never overtakes the next one."""
    return rng.permuted(np.tile(np.arange(shape[1], dtype=np.float64), (shape[0], 1)), axis=1)


def in_order(
    table: NDArray[np.int32], places: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The table with each row sorted by place, unused entries last, and the sorting order."""
    order = np.argsort(np.where(table == UNUSED, np.inf, places), axis=1, kind="stable")
    return np.take_along_axis(table, order, 1), order


def flatten(ordered: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Lengths, and the concatenated events of all sequences."""
    used = ordered != UNUSED
    return used.sum(1), ordered[used]
