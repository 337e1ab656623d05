"""The regime `noisy_or`: many weak causes, each of which produces the label by itself now and then.

A cause that occurs produces the label with its own probability, independently of the others; a leak produces
it without any cause. Some causes have a companion, which usually follows closely, some a precursor, which
makes the cause more likely; both occur alone too, and depend on the label only through the cause.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.config import check_at_least, setting
from eventcargo.simulation.arrangement import UNUSED
from eventcargo.simulation.background import draw_times
from eventcargo.simulation.prevention import leave_out, prevented_types
from eventcargo.simulation.scattered import (
    MIN_COMMON,
    ScatteredConfig,
    amid_background,
    check_span,
    draw_owners,
    noisy_or,
)
from eventcargo.simulation.simulated import Cause, Columns, Simulated, assemble, event_names

COMPANION_DISTANCE = 0.02
"""Mean distance from a cause to its companion, as a share of the sequence."""


@dataclass(frozen=True)
class NoisyOrConfig(ScatteredConfig):
    """Settings of the regime `noisy_or`."""

    causes_min: int = setting(2, ge=1)
    """fewest causes of a label"""
    causes_max: int = setting(5, ge=1)
    """most causes of a label"""
    strength_min: float = setting(0.15, gt=0, le=1)
    """lowest probability that a cause produces the label"""
    strength_max: float = setting(0.35, gt=0, le=1)
    """highest probability that a cause produces the label"""
    leak: float = setting(0.02, ge=0, le=1)
    """probability of the label without any cause"""
    cause_share_min: float = setting(0.05, gt=0, le=0.5)
    """lowest share of sequences in which a cause occurs"""
    cause_share_max: float = setting(0.2, gt=0, le=0.5)
    """highest share of sequences in which a cause occurs"""
    companion_share: float = setting(0.3, ge=0, le=1)
    """share of causes with a companion, which causes nothing"""
    companion_chance: float = setting(0.8, ge=0, le=1)
    """probability of a companion if its cause occurs"""
    companion_alone: float = setting(0.03, ge=0, le=1)
    """probability of a companion if its cause does not occur"""
    precursor_share: float = setting(0.3, ge=0, le=1)
    """share of causes with a precursor, which occurs as often as its cause and acts only through it"""
    precursor_chance: float = setting(0.5, ge=0, le=1)
    """probability of a cause if its precursor occurs"""
    without: tuple[str, ...] = ()
    """event type that is prevented, with all that it would have caused; repeat for more"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("causes", "strength", "cause_share"):
            check_span(self, name)
        check_at_least(self, "event_types", 3 * self.labels * self.causes_max + MIN_COMMON)


def simulate_noisy_or(config: NoisyOrConfig, seed: int = 0) -> Simulated:
    """Simulate weak causes that act independently of each other.

    >>> config = NoisyOrConfig(sequences=10, labels=1, causes_max=2)
    >>> simulate_noisy_or(config).rules
    {'L000': 'E00133 (0.32) | E00202 (0.18, followed by E00088, raised by E00036)'}
    """
    rng, absent = np.random.default_rng(seed), prevented_types(config.without, config.event_types)
    cast = Cast.draw(rng, config)
    occurs = _draw_occurrences(rng, config, cast, absent)
    carried = noisy_or(rng, occurs.causes, cast.strengths, cast.owners, config.leak)
    types = np.concatenate([cast.causes, cast.companions, cast.precursors])
    present = np.concatenate([occurs.causes, occurs.companions, occurs.precursors], axis=1)
    lengths, events = amid_background(rng, config, types, present, _draw_places(rng, occurs))
    columns = leave_out(Columns(lengths, events, draw_times(rng, lengths), carried), absent)
    return assemble("noisy_or", config, seed, columns, cast.truth(config))


@dataclass(frozen=True)
class Cast:
    """Every cause: its label, event type, companion and precursor (or `UNUSED`), strength and share."""

    owners: NDArray[np.int64]
    causes: NDArray[np.int32]
    companions: NDArray[np.int32]
    precursors: NDArray[np.int32]
    strengths: NDArray[np.float64]
    shares: NDArray[np.float64]

    @classmethod
    def draw(cls, rng: np.random.Generator, config: NoisyOrConfig) -> "Cast":
        owners = draw_owners(rng, config.labels, config.causes_min, config.causes_max)
        n = len(owners)
        causes, companions, precursors = (
            rng.permutation(config.event_types).astype(np.int32)[: 3 * n].reshape(3, n)
        )
        return cls(
            owners,
            causes,
            np.where(_chosen(rng, n, config.companion_share), companions, UNUSED),
            np.where(_chosen(rng, n, config.precursor_share), precursors, UNUSED),
            rng.uniform(config.strength_min, config.strength_max, n),
            rng.uniform(config.cause_share_min, config.cause_share_max, n),
        )

    def truth(self, config: NoisyOrConfig) -> list[Cause]:
        """The causes of each label, all of them promoting."""
        names = event_names(config.event_types)
        words = [self._words(number, names) for number in range(len(self.causes))]
        return [
            Cause({int(self.causes[i]): 1 for i in own}, " | ".join(words[i] for i in own))
            for own in (np.flatnonzero(self.owners == label) for label in range(config.labels))
        ]

    def _words(self, number: int, names: Sequence[str]) -> str:
        words = f"{names[self.causes[number]]} ({self.strengths[number]:.2f}"
        if self.companions[number] != UNUSED:
            words += f", followed by {names[self.companions[number]]}"
        if self.precursors[number] != UNUSED:
            words += f", raised by {names[self.precursors[number]]}"
        return f"{words})"


def _chosen(rng: np.random.Generator, count: int, share: float) -> NDArray[np.bool_]:
    """A random choice of a share of `count`."""
    return np.asarray(rng.permutation(count) < round(share * count))


@dataclass(frozen=True)
class Occurrences:
    """Where each cause, its companion and its precursor occur, each (sequences, causes)."""

    causes: NDArray[np.bool_]
    companions: NDArray[np.bool_]
    precursors: NDArray[np.bool_]


def _draw_occurrences(
    rng: np.random.Generator, config: NoisyOrConfig, cast: Cast, absent: NDArray[np.int64]
) -> Occurrences:
    """Precursors first, then causes, then companions; the types in `absent` do not occur.

    A cause keeps its share: without its precursor it occurs as much less often as it occurs more often with
    it.
    """
    shape = (config.sequences, len(cast.causes))
    allowed = [
        ~np.isin(types, [UNUSED, *absent]) for types in (cast.precursors, cast.causes, cast.companions)
    ]
    precursors = (rng.random(shape) < cast.shares) & allowed[0]
    without = cast.shares * (1 - config.precursor_chance) / (1 - cast.shares)
    without = np.where(cast.precursors == UNUSED, cast.shares, without)
    causes = (rng.random(shape) < np.where(precursors, config.precursor_chance, without)) & allowed[1]
    chance = np.where(causes, config.companion_chance, config.companion_alone)
    companions = (rng.random(shape) < chance) & allowed[2]
    return Occurrences(causes, companions, precursors)


def _draw_places(rng: np.random.Generator, occurs: Occurrences) -> NDArray[np.float64]:
    """Random places in [0, 1); a companion closely follows its cause, a precursor comes before it."""
    causes, companions, precursors = rng.random((3, *occurs.causes.shape))
    close = causes + rng.exponential(COMPANION_DISTANCE, causes.shape)
    companions = np.where(occurs.causes, np.minimum(close, 1 - 1e-9), companions)
    precursors = np.where(occurs.causes, precursors * causes, precursors)
    return np.concatenate([causes, companions, precursors], axis=1)
