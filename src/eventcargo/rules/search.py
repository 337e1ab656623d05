"""Search for the rule that is worth most: an OR of conjunctions, added one by one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.rules.description_length import Conjunction, DescriptionLength, Dnf, Mask
from eventcargo.rules.patterns import gain

WIDTH = 12
"""Conjunctions that a step of the search goes on with."""

KEPT = 4
"""Conjunctions of each length, and rules, that are tried as part of something longer."""

ALARM_WEIGHTS = (1.0, 4.0)
"""Hits that a false alarm outweighs where conjunctions are looked for by precision."""

PATIENCE = 2
"""A conjunction is not made longer where so many literals in a row brought nothing."""

FEW = 2
"""A literal that changes the rule in fewer sequences is dropped: one is never evidence."""

LITTLE = 0.01
"""A literal, or a conjunction, that brings less than this share of all that a rule saves is dropped."""

MIN_HITS = 3
"""A conjunction holds in so many sequences with the label, at least, that no other one explains."""

Scored = list[tuple[float, Conjunction]]


@dataclass(frozen=True)
class Search:
    """The search for a rule of at most so many literals a conjunction, and so many conjunctions."""

    worth: DescriptionLength
    max_literals: int
    max_conjunctions: int

    def best(self) -> Dnf:
        """The rule worth most; empty where none is worth its length."""
        return self._plain(self._ranked([frozenset(), *self._found()])[0])

    def _found(self) -> Iterator[Dnf]:
        """Rules by covering, whose conjunctions are each worth most, or each precise."""
        # The conjunction worth most may be what two true ones share; from there no step leads to them.
        yield self._covering()
        for weight in ALARM_WEIGHTS:
            yield self._precise_covering(weight)

    def _ranked(self, rules: Iterable[Dnf]) -> list[Dnf]:
        """Rules that speak for the label, the best first; of equal ones that of lower numbers."""
        scored = [(-self.worth.of(rule), _key(rule), rule) for rule in set(rules)]
        return [rule for score, _, rule in sorted(scored, key=lambda row: row[:2]) if np.isfinite(score)]

    def _better(self, rule: Dnf, than: Dnf) -> bool:
        return self.worth.of(rule) > self.worth.of(than) + 1e-9

    def _covering(self) -> Dnf:
        """Conjunctions added one by one while the rule gains by it; the best few rules go on at a time."""
        best: Dnf = frozenset()
        front = [best]
        for _ in range(self.max_conjunctions):
            front = self._ranked(longer for rule in front for longer in self._lengthened(rule))[:KEPT]
            if not front or not self._better(front[0], best):
                break
            best = front[0]
        return best

    def _precise_covering(self, weight: float) -> Dnf:
        """Conjunctions added one by one, each with most hits less `weight` times its false alarms."""
        rule: Dnf = frozenset()
        while len(rule) < self.max_conjunctions:
            longer = next(iter(self._lengthened(rule, weight)), rule)
            if longer == rule or (rule and not self._better(longer, rule)):
                break
            rule = longer
        return rule

    def _lengthened(self, rule: Dnf, weight: float | None = None) -> list[Dnf]:
        """The rule with one conjunction more, best ones first."""
        return [rule | {part} for part in self._conjunctions(self.worth.holds(rule), weight)]

    def _conjunctions(self, covered: Mask, weight: float | None = None) -> list[Conjunction]:
        """The best conjunctions outside of what is covered already, of any length, the best first."""
        front: list[Conjunction] = [frozenset()]
        found: list[tuple[float, list[int], Conjunction]] = []
        best, last_gain = -np.inf, 0
        for length in range(1, self.max_literals + 1):
            scored = self._extended(front, covered, weight)
            if not scored:
                break
            front = [part for _, part in scored]
            found += [(-score, sorted(part), part) for score, part in scored[:KEPT]]
            if scored[0][0] > best:
                best, last_gain = scored[0][0], length
            if length - last_gain == PATIENCE:
                break
        return [part for *_, part in sorted(found, key=lambda row: row[:2])[: 2 * KEPT]]

    def _extended(self, front: list[Conjunction], covered: Mask, weight: float | None) -> Scored:
        """Every conjunction of the front with one literal more: the best `WIDTH`, with their scores."""
        worth, patterns = self.worth, self.worth.patterns
        free = np.stack([worth.part_holds(part) & ~covered for part in front])
        hits = (free * patterns.carrying) @ worth.held.T  # (front, literals)
        alarms = (free * patterns.lacking) @ worth.held.T
        if weight is None:
            before = worth.count(covered)
            scores = gain(before[0] + hits, before[1] + alarms, patterns.totals)
        else:
            scores = np.asarray(hits - weight * alarms, np.float64)
        scores[hits < MIN_HITS] = -np.inf
        for row, part in enumerate(front):
            scores[row] -= worth.prices + worth.prices[sorted(part)].sum()
            scores[row, [*part, *map(worth.opposite, part)]] = -np.inf
        return _top(front, scores)

    def _plain(self, rule: Dnf) -> Dnf:
        """The rule without what hardly any sequence speaks for, or what brings hardly anything."""
        held, saved = self.worth.holds(rule), self.worth.saved(rule)
        for shorter in sorted(_shorter(rule), key=lambda other: (-self.worth.saved(other), _key(other))):
            changed = sum(self.worth.count(self.worth.holds(shorter) != held))
            needed = FEW if len(shorter) == len(rule) else MIN_HITS
            if changed < needed or self.worth.saved(shorter) > (1 - LITTLE) * saved:
                return self._plain(shorter)
        return rule


def _top(front: list[Conjunction], scores: NDArray[np.float64]) -> Scored:
    """The best `WIDTH` extensions, each once, the best first."""
    found: dict[Conjunction, float] = {}
    for at in np.argsort(-scores, axis=None, kind="stable"):
        row, literal = divmod(int(at), scores.shape[1])
        if len(found) == WIDTH or scores[row, literal] == -np.inf:
            break
        found.setdefault(front[row] | {literal}, float(scores[row, literal]))
    return [(score, part) for part, score in found.items()]


def _shorter(rule: Dnf) -> Iterator[Dnf]:
    """The rule with a conjunction or a literal dropped."""
    for part in rule:
        others = rule - {part}
        yield others
        yield from (others | {part - {literal}} for literal in part if len(part) > 1)


def _key(rule: Dnf) -> list[list[int]]:
    """A rule as sorted numbers: an order that does not depend on how it was found."""
    return sorted(sorted(part) for part in rule)
