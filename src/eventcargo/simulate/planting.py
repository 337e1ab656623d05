"""Occurrences planted into a fleet: full rules, near misses, strays, companions and precursors.

All as flat columns (sequence, event type, place), where the place in [0, 1) decides the order later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.simulate.rules import Conjunction, TrueRule

MIN_MISSES = 4
"""Near misses for each literal, at least: without any, the literal could not be told from the others."""


@dataclass(frozen=True)
class Planted:
    """Events that happened: in which sequence, of which type, at which place in [0, 1)."""

    sequences: NDArray[np.int32]
    events: NDArray[np.int32]
    places: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.sequences)

    @classmethod
    def join(cls, parts: Sequence["Planted"]) -> "Planted":
        return cls(
            np.concatenate([part.sequences for part in parts]),
            np.concatenate([part.events for part in parts]),
            np.concatenate([part.places for part in parts]),
        )

    def take(self, which: NDArray[np.int64]) -> "Planted":
        return Planted(self.sequences[which], self.events[which], self.places[which])


def n_misses(positives: int, near_miss: float) -> int:
    """Near misses for each literal of a conjunction with so many planted positives."""
    return max(MIN_MISSES, round(near_miss * positives)) if near_miss > 0 else 0


def planted_events(conjunction: Conjunction, positives: int, near_miss: float) -> int:
    """How many events the plants of one conjunction take."""
    n, m = len(conjunction.present), len(conjunction.absent)
    return positives * n + n_misses(positives, near_miss) * (n * (n - 1) + m * (n + 1))


def plant(
    rng: np.random.Generator, rule: TrueRule, positives: int, n_sequences: int, near_miss: float
) -> Planted:
    """Events that make the rule hold in `positives` sequences, and nearly hold in others.

    No two near misses of a rule share a sequence: together they could be a full match.
    """
    order = rng.permutation(n_sequences).astype(np.int32)
    parts = np.array_split(order[:positives], len(rule.conjunctions))
    rest, start = order[positives:], 0
    n_literals = sum(len(conjunction) for conjunction in rule.conjunctions)
    pieces: list[tuple[NDArray[np.int32], Sequence[int]]] = []
    for conjunction, matches in zip(rule.conjunctions, parts, strict=True):
        pieces.append((matches, conjunction.present))
        misses = min(n_misses(len(matches), near_miss), len(rest) // n_literals)
        for events in _near_misses(conjunction):
            pieces.append((rest[start : start + misses], events))
            start += misses
    return _spread(rng, pieces)


def _near_misses(conjunction: Conjunction) -> list[tuple[int, ...]]:
    """What to plant so that one literal fails: one present event left out, or one absent event put in."""
    present = conjunction.present
    left_out = [tuple(event for event in present if event != missing) for missing in present]
    return left_out + [(*present, event) for event in conjunction.absent]


def _spread(rng: np.random.Generator, pieces: Sequence[tuple[NDArray[np.int32], Sequence[int]]]) -> Planted:
    """Every event of a piece into every sequence of it, at random places."""
    sequences = np.concatenate([np.repeat(rows, len(events)) for rows, events in pieces])
    events = np.concatenate([np.tile(np.array(events, np.int32), len(rows)) for rows, events in pieces])
    return Planted(sequences, events, rng.random(len(sequences)))


def stray(rng: np.random.Generator, rates: Mapping[int, float], n_sequences: int) -> Planted:
    """Events alone, in random sequences: each type as often as its rate says, on average."""
    types = np.fromiter(rates.keys(), np.int32, len(rates))
    counts = rng.poisson(np.fromiter(rates.values(), np.float64, len(rates)))
    events = np.repeat(types, counts)
    return Planted(
        rng.integers(n_sequences, size=len(events), dtype=np.int32), events, rng.random(len(events))
    )


def attach(
    rng: np.random.Generator,
    causes: Planted,
    partner_of: Mapping[int, int],
    chance: float,
    distance: float,
) -> Planted:
    """Partners of the causes that occurred: each comes with `chance`, about `distance` after its cause.

    A negative distance puts it before. The partner depends on nothing but its cause, so it is independent
    of every label given the causes.
    """
    table = np.full(int(causes.events.max(initial=0)) + 1, -1, np.int32)
    for cause, partner in partner_of.items():
        if cause < len(table):
            table[cause] = partner
    partners = table[causes.events]
    which = np.flatnonzero((partners >= 0) & (rng.random(len(causes)) < chance))
    places = causes.places[which] + rng.exponential(1.0, len(which)) * distance
    return Planted(causes.sequences[which], partners[which], np.clip(places, 0.0, 1.0 - 1e-9))
