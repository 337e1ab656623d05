"""Worth of a rule by minimum description length (Rissanen 1978): nats it saves minus nats to write it.

worth = LL(inside) + LL(outside) - LL(all) - penalty * (sum of literal prices + number of conjunctions)

LL is the log-likelihood of the label at its best single rate, inside and outside the rule. Rates tolerate
noise and do not drown rare labels. A literal costs the log of the number of literals, negations included, so
a longer rule must pay for its length.
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
"""Extra price of a negated literal, in nats: of two equivalent literals the plain one wins."""

ARRANGED = 1.0
"""Extra price of a literal on arrangement, in nats."""

LIMITED = 1.92
"""Extra price of a limit, in nats: by this much the best of some limits fits better than the true one."""

THIRD = 1.0
"""Extra price of a third event type, in nats."""


@dataclass(frozen=True)
class DescriptionLength:
    """Worth of rules over numbered literals: i is `patterns.literals[i]`, i + n its negation."""

    patterns: LiteralPatterns
    penalty: float

    @cached_property
    def held(self) -> NDArray[np.float32]:
        """1 where a literal holds in a pattern: (2 n, patterns)."""
        return np.concatenate([self.patterns.held, 1 - self.patterns.held])

    @cached_property
    def prices(self) -> NDArray[np.float64]:
        """Nats to write each literal: (2 n,)."""
        literals = self.patterns.literals
        arranged = np.array([literal.kind != "presence" for literal in literals], np.float64)
        limited = np.array([literal.limit is not None for literal in literals])
        third = np.array([len(literal.events) > 2 for literal in literals])
        plain = np.log(2 * len(arranged)) + ARRANGED * arranged + LIMITED * limited + THIRD * third
        # a negated literal on arrangement is hardest to read
        negated = plain + NEGATED + ARRANGED * arranged
        return np.concatenate([plain, negated]) * self.penalty

    def opposite(self, literal: int) -> int:
        """The number of a literal's negation."""
        n = len(self.patterns.literals)
        return literal - n if literal >= n else literal + n

    def part_holds(self, part: Conjunction) -> Mask:
        """The patterns in which a conjunction holds."""
        return np.asarray(self.held[sorted(part)].all(0))

    def holds(self, rule: Dnf) -> Mask:
        """The patterns in which a rule holds."""
        result = np.zeros(self.held.shape[1], bool)
        for conjunction in rule:
            result |= self.part_holds(conjunction)
        return result

    def count(self, mask: Mask) -> tuple[float, float]:
        """Number of sequences in some patterns: with the label, and without."""
        return float(self.patterns.carrying[mask].sum()), float(self.patterns.lacking[mask].sum())

    def price(self, rule: Dnf) -> float:
        """Nats to write a rule; literals shared by all conjunctions are written once, as `(A | B) & C`."""
        shared = frozenset.intersection(*rule)
        if any(len(conjunction - shared) != 1 for conjunction in rule):
            shared = frozenset()
        used = [literal for conjunction in rule for literal in conjunction - shared] + list(shared)
        return float(self.prices[sorted(used)].sum()) + self.penalty * len(rule)

    def saved(self, rule: Dnf) -> float:
        """Nats that a rule saves; 0 for the empty rule."""
        return float(gain(*self.count(self.holds(rule)), self.patterns.totals)) if rule else 0.0

    def of(self, rule: Dnf) -> float:
        """What a rule is worth, in nats; 0 for the empty rule."""
        return self.saved(rule) - self.price(rule) if rule else 0.0
