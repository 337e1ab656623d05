"""Small dense data: a table of events (sequences, columns), a place for each, and the order that follows.

The regimes in which presence says nothing draw the labels first and what occurs in each sequence next,
without looking at the labels; only then are events put in an order that fits the labels.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import ConfigError
from eventcargo.simulate.background import zipf_weights
from eventcargo.simulate.limits import check_count, check_share

UNUSED = -1
"""An entry of the table where nothing happens."""

FILLER_ZIPF = 0.7


@dataclass(frozen=True)
class DenseConfig:
    """Settings of every regime with few event types."""

    sequences: int = 4_000
    """number of sequences"""
    event_types: int = 30
    """number of event types, causes included"""
    labels: int = 4
    """number of labels"""
    label_noise: float = 0.0
    """share of labels flipped, from true to false and from false to true"""
    length_min: int = 20
    """fewest events of a sequence"""
    length_max: int = 40
    """most events of a sequence"""

    types_per_label: ClassVar[int] = 2
    events_per_label: ClassVar[int] = 2

    def __post_init__(self) -> None:
        check_count(self, "sequences", 1)
        check_count(self, "labels", 1)
        check_count(self, "event_types", self.labels * self.types_per_label + 2)
        check_share(self, "label_noise", 0.0, 0.5)
        self._check_lengths(self.labels * self.events_per_label + 1)

    def _check_lengths(self, least: int) -> None:
        check_count(self, "length_min", 1)
        if self.length_min < least:
            raise ConfigError(
                f"length_min={self.length_min}: {self.labels} labels need {least} events a sequence or more; "
                "use longer sequences or fewer labels"
            )
        check_count(self, "length_max", self.length_min)


@dataclass(frozen=True)
class ArrangedConfig(DenseConfig):
    """Settings of the regimes in which presence says nothing."""

    label_share: float = 0.4
    """share of sequences that carry a label, before noise"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self, "label_share", 0.05, 0.95)


@dataclass(frozen=True)
class Cast:
    """Which event types are causes, (labels, types per label), and which are fillers."""

    causes: NDArray[np.int32]
    fillers: NDArray[np.int32]

    @classmethod
    def draw(cls, rng: np.random.Generator, config: DenseConfig) -> "Cast":
        types = rng.permutation(config.event_types).astype(np.int32)
        n_causes = config.labels * config.types_per_label
        return cls(types[:n_causes].reshape(config.labels, config.types_per_label), types[n_causes:])

    def draw_fillers(self, rng: np.random.Generator, counts: NDArray[np.int64]) -> NDArray[np.int32]:
        """A table with `counts` fillers in each row, unused entries after them."""
        width = int(counts.max(initial=0))
        weights = zipf_weights(len(self.fillers), FILLER_ZIPF)
        table = rng.choice(self.fillers, (len(counts), width), p=weights)
        table[np.arange(width) >= counts[:, None]] = UNUSED
        return np.asarray(table, np.int32)


def draw_sequence_lengths(rng: np.random.Generator, config: DenseConfig) -> NDArray[np.int64]:
    """Any length allowed, with equal chance."""
    return rng.integers(config.length_min, config.length_max, config.sequences, endpoint=True)


def draw_labels(rng: np.random.Generator, config: ArrangedConfig) -> NDArray[np.bool_]:
    """Labels drawn independently: (sequences, labels)."""
    return np.asarray(rng.random((config.sequences, config.labels)) < config.label_share)


def shuffled_places(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Each row holds 0, 1, 2, ... in random order; fractions added to them cannot overtake a neighbour."""
    return rng.permuted(np.tile(np.arange(shape[1], dtype=np.float64), (shape[0], 1)), axis=1)


def in_order(
    table: NDArray[np.int32], places: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The table with each row sorted by place, unused entries last, and the order that sorts it."""
    order = np.argsort(np.where(table == UNUSED, np.inf, places), axis=1, kind="stable")
    return np.take_along_axis(table, order, 1), order


def flatten(ordered: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Lengths, and the events one sequence after the other."""
    used = ordered != UNUSED
    return used.sum(1), ordered[used]
