"""Literals on three event types: `A after B without C between`, `A then B then C`.

They are many, so they are tried only among the strongest few event types of a boundary, and after all others.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from eventcargo.features import Placed, first_places, flags, next_places, place_before
from eventcargo.rules.candidates import (
    FEWEST,
    Fit,
    Flags,
    LearningData,
    arranged_events,
    best_fits,
    fits_among,
)
from eventcargo.rules.literals import Literal

MAX_TRIPLED = 8
"""Most event types of a boundary, strongest first, that are tried in threes."""

Ints = NDArray[np.int64]


def triple_literals(learning: LearningData, events: Sequence[str], told: Flags) -> list[Literal]:
    """Literals on three event types that separate the label where a rule that holds in `told` does not."""
    arranged = arranged_events(learning, events)[:MAX_TRIPLED]
    placed = {event: learning.found.placed(event) for event in arranged}
    tried = list[Fit]()
    for three in combinations(arranged, 3):
        among = learning.having(*three)
        if among.sum() >= FEWEST and not _share_moments(learning, three):
            tried += _fits(learning, three, placed, among, told)
    return best_fits(tried, learning)


def _share_moments(learning: LearningData, events: Sequence[str]) -> bool:
    return any(learning.found.kinds.accompany(a, b) for a, b in combinations(events, 2))


def _fits(
    learning: LearningData, three: Sequence[str], placed: dict[str, Placed], among: Flags, told: Flags
) -> Iterator[Fit]:
    """Every literal on three event types, and what it adds where a rule holds and where it does not."""
    n = learning.found.n
    near = {event: _within(placed[event], among) for event in three}
    conditions = [*_states(n, three, near), *_subsequences(n, three, near)]
    held = np.stack([holds for _, holds in conditions])
    inside, outside = (fits_among(learning, held, among & stratum) for stratum in (told, ~told))
    for (literal, _), fit, other in zip(conditions, inside, outside, strict=True):
        yield literal, fit + other


def _within(placed: Placed, among: Flags) -> Placed:
    """The occurrences in some sequences."""
    chosen = among[placed.rows]
    return Placed(placed.rows[chosen], placed.places[chosen], placed.times[chosen])


def _states(n: int, three: Sequence[str], placed: dict[str, Placed]) -> Iterator[tuple[Literal, Flags]]:
    for a in three:
        on, off = (event for event in three if event != a)
        before = {other: place_before(placed[a], placed[other]) for other in (on, off)}
        for one, other in ((on, off), (off, on)):
            held = flags(n, placed[a].rows[before[one] > before[other]])
            yield Literal("state", (a, one, other)), held


def _subsequences(n: int, three: Sequence[str], placed: dict[str, Placed]) -> Iterator[tuple[Literal, Flags]]:
    for a, b, c in permutations(three):
        reached = next_places(*first_places(placed[a]), placed[b])
        yield Literal("subsequence", (a, b, c)), flags(n, next_places(*reached, placed[c])[0])
