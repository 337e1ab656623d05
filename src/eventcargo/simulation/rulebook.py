"""Draw the rules of a fleet: boundary sizes as in real data, conjunctions, negations and hub events.

Every conjunction has one positive event type of its own, so that no rule contains another and the support can
be set; the other literals may be hubs, drawn in proportion to their number of uses so far.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, counted
from eventcargo.simulation.rules import Conjunction, TrueRule

BOUNDARY_SIZES = {
    1: 56, 2: 31, 3: 34, 4: 37, 5: 19, 6: 17, 7: 11, 8: 11, 9: 4, 10: 6, 11: 3, 13: 1, 15: 2, 17: 1,
    22: 1, 24: 1, 25: 1, 27: 1, 73: 1,
}  # fmt: skip
"""Number of labels of a real fleet by size of the boundary, without empty boundaries."""

LARGEST_CONJUNCTION = 6
"""Largest conjunction; a longer one would hardly ever hold in real data. Larger boundaries are an OR."""


def draw_sizes(rng: np.random.Generator, count: int, largest: int) -> NDArray[np.int64]:
    """Boundary sizes drawn from the real histogram, clipped at `largest`."""
    sizes, counts = np.array(list(BOUNDARY_SIZES)), np.array(list(BOUNDARY_SIZES.values()))
    return np.asarray(np.minimum(rng.choice(sizes, count, p=counts / counts.sum()), largest))


@dataclass
class Rulebook:
    """Draws rules over the event types `pool`, which it uses up from the front.

    A shared event type either promotes or inhibits in all its rules: doing both, it would be so frequent in
    the positives of some labels that others would hardly ever hold.
    """

    rng: np.random.Generator
    pool: NDArray[np.int32]
    or_share: float
    negated_share: float
    hub_share: float
    most_uses: int
    _used: int = 0
    _promoters: list[int] = field(default_factory=list)  # one entry per use, so that a draw prefers hubs
    _inhibitors: list[int] = field(default_factory=list)

    def draw(self, size: int) -> TrueRule:
        """A rule whose boundary has `size` event types."""
        taken: set[int] = set()
        return TrueRule(tuple(self._conjunction(each, taken) for each in self._conjunction_sizes(size)))

    def _conjunction_sizes(self, size: int) -> Iterator[int]:
        n_conjunctions = -(-size // LARGEST_CONJUNCTION)
        if self.rng.random() < self.or_share:
            n_conjunctions = min(size, max(n_conjunctions, int(self.rng.integers(2, 4))))
        return (len(literals) for literals in np.array_split(np.arange(size), n_conjunctions))

    def _conjunction(self, size: int, taken: set[int]) -> Conjunction:
        present, absent = [self._new(taken)], []
        for _ in range(size - 1):
            if self.rng.random() < self.negated_share:
                absent.append(self._shared(self._inhibitors, taken))
            else:
                present.append(self._shared(self._promoters, taken))
        return Conjunction(tuple(present), tuple(absent))

    def _new(self, taken: set[int]) -> int:
        if self._used == len(self.pool):
            raise ConfigError(
                f"too few causes for the rules: {counted(len(self.pool), 'event type')} (a quarter of all); "
                "use more event types, fewer labels or a smaller max_boundary"
            )
        event = int(self.pool[self._used])
        self._used += 1
        taken.add(event)
        return event

    def _shared(self, uses: list[int], taken: set[int]) -> int:
        """A hub, or a new event type that may become a hub."""
        full = {event for event, count in Counter(uses).items() if count >= self.most_uses}
        open_uses = [event for event in uses if event not in taken and event not in full]
        if open_uses and self.rng.random() < self.hub_share:
            event = open_uses[self.rng.integers(len(open_uses))]
            taken.add(event)
        else:
            event = self._new(taken)
        uses.append(event)
        return event
