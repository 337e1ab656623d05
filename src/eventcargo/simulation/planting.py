"""Plant events in a fleet: full rules, near misses, strays, companions and precursors.

All are flat columns (sequence, event type, place); the place in [0, 1) later decides the order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.simulation.rules import Conjunction, TrueRule

MIN_MISSES = 4
"""Smallest number of near misses per literal: without any, literals could not be distinguished."""


@dataclass(frozen=True)
class Planted:
    """Occurrences of events: sequence, event type, and place in [0, 1)."""

    sequences: NDArray[np.int32]
    events: NDArray[np.int32]
    places: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.sequences)

    @classmethod
    def join(cls, parts: Sequence["Planted"]) -> "Planted":
        return cls(
            np.concatenate([each.sequences for each in parts]),
            np.concatenate([each.events for each in parts]),
            np.concatenate([each.places for each in parts]),
        )

    def take(self, which: NDArray[np.int64]) -> "Planted":
        return Planted(self.sequences[which], self.events[which], self.places[which])


def n_misses(positives: int, near_miss: float) -> int:
    """Number of near misses per literal of a conjunction with `positives` planted positives."""
    return max(MIN_MISSES, round(near_miss * positives)) if near_miss > 0 else 0


def planted_events(conjunction: Conjunction, positives: int, near_miss: float) -> int:
    """Number of events planted for one conjunction."""
    n, m = len(conjunction.present), len(conjunction.absent)
    return positives * n + n_misses(positives, near_miss) * (n * (n - 1) + m * (n + 1))


def plant(
    rng: np.random.Generator, rule: TrueRule, positives: int, n_sequences: int, near_miss: float
) -> Planted:
    """Plant events that make the rule hold in `positives` sequences, and nearly hold in others.

    No two near misses of a rule share a sequence: together they could make the rule hold.
    """
    order = rng.permutation(n_sequences).astype(np.int32)
    positive_rows = np.array_split(order[:positives], len(rule.conjunctions))
    rest, start = order[positives:], 0
    n_literals = sum(len(conjunction) for conjunction in rule.conjunctions)
    pieces: list[tuple[NDArray[np.int32], Sequence[int]]] = []
    for conjunction, matches in zip(rule.conjunctions, positive_rows, strict=True):
        pieces.append((matches, conjunction.present))
        misses = min(n_misses(len(matches), near_miss), len(rest) // n_literals)
        for events in _near_misses(conjunction):
            pieces.append((rest[start : start + misses], events))
            start += misses
    return _spread(rng, pieces)


def _near_misses(conjunction: Conjunction) -> list[tuple[int, ...]]:
    """Events that make one literal fail: a present event left out, or an absent event added."""
    present = conjunction.present
    left_out = [tuple(event for event in present if event != missing) for missing in present]
    return left_out + [(*present, event) for event in conjunction.absent]


def _spread(rng: np.random.Generator, pieces: Sequence[tuple[NDArray[np.int32], Sequence[int]]]) -> Planted:
    """Every event of a piece in every sequence of the piece, at random places."""
    sequences = np.concatenate([np.repeat(rows, len(events)) for rows, events in pieces])
    events = np.concatenate([np.tile(np.array(events, np.int32), len(rows)) for rows, events in pieces])
    return Planted(sequences, events, rng.random(len(sequences)))


def stray(rng: np.random.Generator, rates: Mapping[int, float], n_sequences: int) -> Planted:
    """Lone events in random sequences; `rates` is the expected number of each type."""
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
    """Partners of planted causes: each occurs with probability `chance`, about `distance` after its cause.

    A negative distance puts the partner before its cause. The partner depends only on its cause, so it is
    independent of every label given the causes.
    """
    table = np.full(int(causes.events.max(initial=0)) + 1, -1, np.int32)
    for cause, partner in partner_of.items():
        if cause < len(table):
            table[cause] = partner
    partners = table[causes.events]
    which = np.flatnonzero((partners >= 0) & (rng.random(len(causes)) < chance))
    places = causes.places[which] + rng.exponential(1.0, len(which)) * distance
    return Planted(causes.sequences[which], partners[which], np.clip(places, 0.0, 1.0 - 1e-9))
