"""Search for the rule of greatest worth: an OR of conjunctions, added one by one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.rules.description_length import Conjunction, DescriptionLength, Dnf, Mask
from eventcargo.rules.patterns import gain

WIDTH = 12
"""Conjunctions that a step of the search extends: the width of the beam."""

KEPT = 4
"""Conjunctions of each length, and rules, that enter a longer rule."""

ALARM_WEIGHTS = (1.0, 4.0)
"""Hits that one false alarm outweighs if conjunctions are sought by precision."""

PATIENCE = 2
"""A conjunction stops growing after this many literals in a row without improvement."""

FEW = 2
"""A literal that changes the rule in fewer sequences is dropped: a single one is no evidence."""

LITTLE = 0.02
"""A literal, or a conjunction, that adds less than this share of what the rule saves is dropped."""

MIN_HITS = 3
"""Fewest sequences with the label in which a conjunction holds and no other one does."""

Scored = list[tuple[float, Conjunction]]


@dataclass(frozen=True)
class Search:
    """The search for a rule of bounded size."""

    worth: DescriptionLength
    max_literals: int
    max_conjunctions: int

    def best(self) -> Dnf:
        """The rule of greatest worth; empty if none is worth its length."""
        return self._plain(self._ranked([frozenset(), *self._candidates()])[0])

    def _candidates(self) -> Iterator[Dnf]:
        """Rules by covering, with conjunctions chosen by worth, or by precision."""
        # The conjunction of greatest worth may be the common part of two true ones; no step leads back.
        yield self._covering()
        for weight in ALARM_WEIGHTS:
            yield self._precise_covering(weight)

    def _ranked(self, rules: Iterable[Dnf]) -> list[Dnf]:
        """Rules with a finite worth, best first; ties in the order of their numbers."""
        scored = [(-self.worth.of(rule), _key(rule), rule) for rule in set(rules)]
        return [rule for score, _, rule in sorted(scored, key=lambda row: row[:2]) if np.isfinite(score)]

    def _better(self, rule: Dnf, than: Dnf) -> bool:
        return self.worth.of(rule) > self.worth.of(than) + 1e-9

    def _covering(self) -> Dnf:
        """Add conjunctions one by one while the worth grows; the best few rules are extended at a time."""
        best: Dnf = frozenset()
        front = [best]
        for _ in range(self.max_conjunctions):
            front = self._ranked(longer for rule in front for longer in self._lengthened(rule))[:KEPT]
            if not front or not self._better(front[0], best):
                break
            best = front[0]
        return best

    def _precise_covering(self, weight: float) -> Dnf:
        """Add conjunctions one by one, each with the most hits minus `weight` times its false alarms."""
        rule: Dnf = frozenset()
        while len(rule) < self.max_conjunctions:
            longer = next(iter(self._lengthened(rule, weight)), rule)
            if longer == rule or (rule and not self._better(longer, rule)):
                break
            rule = longer
        return rule

    def _lengthened(self, rule: Dnf, weight: float | None = None) -> list[Dnf]:
        """The rule with one more conjunction, best first."""
        return [rule | {added} for added in self._conjunctions(self.worth.holds(rule), weight)]

    def _conjunctions(self, covered: Mask, weight: float | None = None) -> list[Conjunction]:
        """The best conjunctions of any length for the patterns not covered yet, best first."""
        front: list[Conjunction] = [frozenset()]
        candidates: list[tuple[float, list[int], Conjunction]] = []
        best, last_gain = -np.inf, 0
        for length in range(1, self.max_literals + 1):
            scored = self._extended(front, covered, weight)
            if not scored:
                break
            front = [conjunction for _, conjunction in scored]
            candidates += [(-score, sorted(literals), literals) for score, literals in scored[:KEPT]]
            if scored[0][0] > best:
                best, last_gain = scored[0][0], length
            if length - last_gain == PATIENCE:
                break
        return [conjunction for *_, conjunction in sorted(candidates, key=lambda row: row[:2])[: 2 * KEPT]]

    def _extended(self, front: list[Conjunction], covered: Mask, weight: float | None) -> Scored:
        """The best `WIDTH` extensions of the front by one literal, with their scores."""
        worth, patterns = self.worth, self.worth.patterns
        free = np.stack([worth.part_holds(conjunction) & ~covered for conjunction in front])
        hits = (free * patterns.carrying) @ worth.held.T  # (front, literals)
        alarms = (free * patterns.lacking) @ worth.held.T
        if weight is None:
            before = worth.count(covered)
            scores = gain(before[0] + hits, before[1] + alarms, patterns.totals)
        else:
            scores = np.asarray(hits - weight * alarms, np.float64)
        scores[hits < MIN_HITS] = -np.inf
        for row, literals in enumerate(front):
            scores[row] -= worth.prices + worth.prices[sorted(literals)].sum()
            scores[row, [*literals, *map(worth.opposite, literals)]] = -np.inf
        return _top(front, scores)

    def _plain(self, rule: Dnf) -> Dnf:
        """The rule without parts that hardly any sequence supports or that add hardly anything."""
        held, saved = self.worth.holds(rule), self.worth.saved(rule)
        for shorter in sorted(_shorter(rule), key=lambda other: (-self.worth.saved(other), _key(other))):
            changed = sum(self.worth.count(self.worth.holds(shorter) != held))
            needed = FEW if len(shorter) == len(rule) else MIN_HITS
            if changed < needed or self.worth.saved(shorter) > (1 - LITTLE) * saved:
                return self._plain(shorter)
        return rule


def _top(front: list[Conjunction], scores: NDArray[np.float64]) -> Scored:
    """The best `WIDTH` extensions, each once, best first."""
    scored: dict[Conjunction, float] = {}
    for at in np.argsort(-scores, axis=None, kind="stable"):
        row, literal = divmod(int(at), scores.shape[1])
        if len(scored) == WIDTH or scores[row, literal] == -np.inf:
            break
        scored.setdefault(front[row] | {literal}, float(scores[row, literal]))
    return [(score, conjunction) for conjunction, score in scored.items()]


def _shorter(rule: Dnf) -> Iterator[Dnf]:
    """The rule with a conjunction or a literal dropped."""
    for conjunction in rule:
        others = rule - {conjunction}
        yield others
        yield from (others | {conjunction - {literal}} for literal in conjunction if len(conjunction) > 1)


def _key(rule: Dnf) -> list[list[int]]:
    """A rule as sorted numbers: an order that does not depend on the search."""
    return sorted(sorted(conjunction) for conjunction in rule)
