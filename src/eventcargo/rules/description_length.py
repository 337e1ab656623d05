"""What a rule is worth: the nats that it saves in telling who carries the label, less those to write it.

Two rates of the label, where the rule holds and where it does not, fit better than one: that is saved, so
noise is borne and rare labels are not drowned. Every literal costs the logarithm of the number of literals
there are: a longer rule must pay for its length.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eventcargo.rules.patterns import LiteralPatterns, gain

Conjunction = frozenset[int]
Dnf = frozenset[Conjunction]
Mask = NDArray[np.bool_]

NEGATED = 0.1
"""Further price of a negated literal, in nats: of two that say the same, the plain one is taken."""

ARRANGED = 1.0
"""Further price of a literal on arrangement, in nats."""


@dataclass(frozen=True)
class DescriptionLength:
    """Literals by number: i is `patterns.literals[i]`, i + n its negation; `penalty` multiplies prices."""

    patterns: LiteralPatterns
    penalty: float

    @cached_property
    def held(self) -> NDArray[np.float32]:
        """Which literal holds in which pattern: (2 n, patterns)."""
        return np.concatenate([self.patterns.held, 1 - self.patterns.held])

    @cached_property
    def prices(self) -> NDArray[np.float64]:
        """Nats to write each literal: (2 n,)."""
        arranged = np.array([literal.kind != "present" for literal in self.patterns.literals], np.float64)
        plain = np.log(2 * len(arranged)) + ARRANGED * arranged
        # a negated condition on arrangement is the hardest to read
        negated = plain + NEGATED + ARRANGED * arranged
        return np.concatenate([plain, negated]) * self.penalty

    def opposite(self, literal: int) -> int:
        """The number of the negation."""
        n = len(self.patterns.literals)
        return literal - n if literal >= n else literal + n

    def part_holds(self, part: Conjunction) -> Mask:
        """The patterns in which a conjunction holds."""
        return np.asarray(self.held[sorted(part)].all(0))

    def holds(self, rule: Dnf) -> Mask:
        """The patterns in which a rule holds."""
        result = np.zeros(self.held.shape[1], bool)
        for part in rule:
            result |= self.part_holds(part)
        return result

    def count(self, mask: Mask) -> tuple[float, float]:
        """Sequences of some patterns: with the label, and without."""
        return float(self.patterns.carrying[mask].sum()), float(self.patterns.lacking[mask].sum())

    def price(self, rule: Dnf) -> float:
        """Nats to write a rule; what all conjunctions share is written once, as `(A | B) & C`."""
        shared = frozenset.intersection(*rule)
        if any(len(part - shared) != 1 for part in rule):
            shared = frozenset()
        used = [literal for part in rule for literal in part - shared] + list(shared)
        return float(self.prices[sorted(used)].sum()) + self.penalty * len(rule)

    def saved(self, rule: Dnf) -> float:
        """Nats that a rule saves; no rule saves nothing."""
        return float(gain(*self.count(self.holds(rule)), self.patterns.totals)) if rule else 0.0

    def of(self, rule: Dnf) -> float:
        """What a rule is worth; no rule is worth nothing."""
        return self.saved(rule) - self.price(rule) if rule else 0.0
