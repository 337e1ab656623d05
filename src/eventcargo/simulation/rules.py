"""Boolean rules on the presence of events: an OR of conjunctions of literals, some of them negated.

An event type appears at most once in a rule, so its sign is the same in every sequence.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.simulation.simulated import Cause


@dataclass(frozen=True)
class Conjunction:
    """Holds if all of `present` occur and none of `absent` does."""

    present: tuple[int, ...]
    absent: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.present) + len(self.absent)

    def text(self, names: Sequence[str]) -> str:
        return " & ".join([names[i] for i in self.present] + [f"!{names[i]}" for i in self.absent])


@dataclass(frozen=True)
class TrueRule:
    """Holds if any of its conjunctions holds; a rule without conjunctions never holds.

    >>> TrueRule((Conjunction((0, 1)), Conjunction((2,), (3,)))).text("ABCD")
    '(A & B) | (C & !D)'
    """

    conjunctions: tuple[Conjunction, ...]

    def text(self, names: Sequence[str]) -> str:
        texts = [(each.text(names), len(each)) for each in self.conjunctions]
        if len(texts) == 1:
            return texts[0][0]
        return " | ".join(f"({text})" if size > 1 else text for text, size in texts)

    @property
    def signs(self) -> dict[int, int]:
        """1 for event types that promote, -1 for event types that inhibit."""
        promoting = {event: 1 for each in self.conjunctions for event in each.present}
        return promoting | {event: -1 for each in self.conjunctions for event in each.absent}

    def over(self, events: Sequence[int]) -> "TrueRule":
        """The same rule with event type i replaced by `events[i]`."""
        return TrueRule(
            tuple(
                Conjunction(tuple(events[i] for i in each.present), tuple(events[i] for i in each.absent))
                for each in self.conjunctions
            )
        )

    def cause(self, names: Sequence[str]) -> Cause:
        return Cause(self.signs, self.text(names))


class Presence:
    """The sequences in which each of the `wanted` event types occurs."""

    def __init__(
        self,
        sequences: NDArray[np.integer],
        events: NDArray[np.int32],
        n_sequences: int,
        wanted: Iterable[int],
    ) -> None:
        self.n_sequences = n_sequences
        chosen = np.array(sorted(set(wanted)), np.int64)
        is_wanted = np.zeros(int(max(events.max(initial=0), chosen.max(initial=0))) + 1, bool)
        is_wanted[chosen] = True
        matches = is_wanted[events]
        pairs = np.unique(events[matches].astype(np.int64) * n_sequences + sequences[matches])
        bounds = np.searchsorted(pairs, np.stack([chosen, chosen + 1]) * n_sequences)
        self._rows = {
            int(event): pairs[start:stop] - event * n_sequences
            for event, start, stop in zip(chosen, *bounds, strict=True)
        }

    def holds(self, rule: TrueRule) -> NDArray[np.bool_]:
        """Whether the rule holds in each sequence: (sequences,)."""
        result = np.zeros(self.n_sequences, bool)
        for conjunction in rule.conjunctions:
            result |= self._holds(conjunction)
        return result

    def _holds(self, conjunction: Conjunction) -> NDArray[np.bool_]:
        n_present = np.zeros(self.n_sequences, np.int32)
        for event in conjunction.present:
            n_present[self._rows[event]] += 1
        result = np.asarray(n_present == len(conjunction.present))
        for event in conjunction.absent:
            result[self._rows[event]] = False
        return result


def flip(
    rng: np.random.Generator, holds: NDArray[np.bool_], drop: float, add: NDArray[np.float64] | float
) -> NDArray[np.bool_]:
    """Labels with noise: true ones are lost with probability `drop`, false ones appear with `add`."""
    probability = np.where(holds, drop, np.broadcast_to(add, holds.shape))
    return holds ^ (rng.random(holds.shape, np.float32) < probability)
