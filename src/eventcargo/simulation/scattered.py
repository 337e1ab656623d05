"""Planted events amid background events whose number and types are independent of everything else.

The regimes `noisy_or`, `log_odds`, `family` and `mixed` share these settings and parts.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.config import Settings, check_at_least, setting
from eventcargo.errors import ConfigError, argument
from eventcargo.simulation.background import Topics
from eventcargo.simulation.planting import Planted

MIN_COMMON = 20
"""Smallest number of event types that are left for the background."""


@dataclass(frozen=True)
class ScatteredConfig(Settings):
    """Settings of the regimes that plant single events amid background."""

    sequences: int = setting(3_000, ge=1)
    """number of sequences"""
    event_types: int = setting(400, ge=1)
    """number of event types; all that are not planted are background"""
    labels: int = setting(12, ge=1)
    """number of labels"""
    background_min: int = setting(15, ge=1)
    """fewest background events of a sequence"""
    background_max: int = setting(50, ge=1)
    """most background events of a sequence"""
    topics: int = setting(10, ge=1)
    """number of background topics"""
    zipf: float = setting(1.0, ge=0, le=5)
    """exponent of the background's Zipf distribution"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self, "background_max", self.background_min)


def check_span(config: Settings, name: str) -> None:
    """Refuse a span whose upper end is below its lower end."""
    low, high = getattr(config, f"{name}_min"), getattr(config, f"{name}_max")
    if high < low:
        raise ConfigError(f"{argument(f'{name}_max', high)}: use at least {argument(f'{name}_min', low)}")


def draw_owners(rng: np.random.Generator, labels: int, fewest: int, most: int) -> NDArray[np.int64]:
    """The label of each cause: every label has `fewest` to `most` causes."""
    return np.repeat(np.arange(labels), rng.integers(fewest, most, labels, endpoint=True))


def noisy_or(
    rng: np.random.Generator,
    present: NDArray[np.bool_],
    strengths: NDArray[np.float64],
    owners: NDArray[np.int64],
    leak: float,
) -> NDArray[np.bool_]:
    """The labels, (sequences, labels): each cause that is present may produce its label, as may the leak."""
    spared = 1 - present * strengths
    labels = range(int(owners.max()) + 1)
    missed = np.stack([spared[:, owners == label].prod(1) for label in labels], axis=1)
    return np.asarray(rng.random(missed.shape) >= (1 - leak) * missed)


def amid_background(
    rng: np.random.Generator,
    config: ScatteredConfig,
    types: NDArray[np.int32],
    present: NDArray[np.bool_],
    places: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Lengths and all events in order: `types` where `present`, at their `places`, amid background."""
    rows, columns = np.nonzero(present)
    planted = Planted(rows.astype(np.int32), types[columns], places[rows, columns])
    lengths, occurrences = fill_up(rng, config, planted, types)
    return lengths, occurrences.events


def fill_up(
    rng: np.random.Generator, config: ScatteredConfig, planted: Planted, types: NDArray[np.int32]
) -> tuple[NDArray[np.int64], Planted]:
    """Lengths and all events in order: the planted events amid background of all types but `types`."""
    n = config.sequences
    common = np.setdiff1d(np.arange(config.event_types, dtype=np.int32), types)
    counts = rng.integers(config.background_min, config.background_max, n, endpoint=True)
    sequences = np.repeat(np.arange(n, dtype=np.int32), counts)
    filling = Topics(rng, common, config.topics, config.zipf).draw(rng, n, sequences)
    everything = Planted.join([planted, Planted(sequences, filling, rng.random(len(sequences)))])
    order = np.lexsort((everything.places, everything.sequences))
    return np.bincount(everything.sequences, minlength=n), everything.take(order)
