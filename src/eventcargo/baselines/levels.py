"""Levels: one threshold for each scale of a boundary, and for each family the level that explains the label.

A family occurs wherever a member does, and a threshold wherever a higher one does, so they pass for each
other in every test that looks at one of them. Here they compete, given the rest of the boundary:

- **Scale**: of its thresholds the one that explains most stays; what the others would have gained is noted.
  The event type that was measured competes with them, as a threshold that every number passes. A threshold up
  and one down of the same quantity both stay if both ends promote the label, or both inhibit it, and say more
  than that something was measured; if the label only rises or only falls with the quantity, the better of the
  two says so.
- **Family**, the largest first: the family stands for all of its members. A member joins it if it adds
  something that the family does not say; then whatever the others make superfluous goes, the family too. So
  thirty rare members that all cause the label are one line, and of a family with one cause only the cause
  stays. Where a family and its members are the same sequences, the family stays: the highest level.

Only presence is compared. If the presence of a family is not significant, its part of the boundary stays as
it is: it may rest on order, count or time.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eventcargo.baselines.iamb import iamb
from eventcargo.event_kinds import NumberedKinds
from eventcargo.statistics.contingency import Rows
from eventcargo.statistics.exact_g2 import ExactG2, PatternCounts
from eventcargo.statistics.g2 import IndependenceTest, Target
from eventcargo.statistics.risk_difference import risk_difference

CORE_ALPHA = 1e-3
"""Largest p-value of a member of the rest of a boundary that is conditioned on."""

MAX_JOINED = 12
"""Most members that join a family."""

LOOKED_AT = 5
"""Members of a step, strongest first, that are tested with exact moments."""


@dataclass(frozen=True)
class Settled:
    """A boundary with one threshold for a scale and one level for a family."""

    boundary: list[int]
    alternatives: dict[int, dict[int, float]] = field(default_factory=dict)
    """for a threshold of the boundary, the nats that each other one of its scale would have gained"""


class Levels:
    """Settles the scales and families of the boundaries of one label.

    `barred` marks event types that may not enter a boundary; `fixed` ones stay whatever the data say. To
    stand beside others of its family, an event type must be worth `min_gain` nats and have p <= alpha.
    """

    def __init__(
        self,
        test: IndependenceTest,
        positives: Rows,
        kinds: NumberedKinds,
        alpha: float,
        min_gain: float = 0.0,
        barred: NDArray[np.bool_] | None = None,
        fixed: Collection[int] = (),
    ) -> None:
        self._test, self._positives, self._kinds = test, positives, kinds
        self._alpha, self._min_gain, self._fixed = alpha, min_gain, frozenset(fixed)
        self._barred = np.zeros(kinds.size, bool) if barred is None else barred

    def settle(self, boundary: Sequence[int]) -> Settled:
        """The boundary with one threshold for each scale and one level for each family."""
        settled, kinds = Settled(list(boundary)), self._kinds
        for scale in dict.fromkeys(kinds.scale_of[event] for event in boundary if event in kinds.scale_of):
            settled = self._settle_scale(settled, scale)
        for event, cuts in kinds.measured.items():
            settled = self._settle_measured(settled, event, cuts)
        done = list[int]()
        while open_families := self._open_families(settled.boundary, done):
            done.append(open_families[0])
            settled = self._settle_family(settled, done[-1], kinds.families[done[-1]])
        kept = {cut: gains for cut, gains in settled.alternatives.items() if cut in settled.boundary}
        return Settled(settled.boundary, kept)

    def _open_families(self, boundary: Sequence[int], done: Collection[int]) -> list[int]:
        """The families with a part in the boundary that are not settled yet, the largest first."""
        found = {family for event in boundary for family in self._kinds.families_of.get(event, ())}
        return sorted(found.difference(done), key=lambda family: (-len(self._kinds.families[family]), family))

    def _settle_scale(self, settled: Settled, scale: Sequence[int]) -> Settled:
        inside = [event for event in settled.boundary if event in scale]
        if not inside or self._fixed.intersection(inside):
            return settled
        rest = self._core([event for event in settled.boundary if event not in scale])
        gains = {cut: self._exact(cut, rest).gain for cut in scale if cut in inside or not self._barred[cut]}
        best = max([*inside, *gains], key=lambda cut: gains[cut])
        own = set(self._kinds.scale_of.get(best, scale)) - {best, *self._kinds.measured}
        alternatives = {cut: gain for cut, gain in gains.items() if cut in own}
        boundary = _replaced(settled.boundary, inside, [best])
        return Settled(boundary, {**settled.alternatives, best: alternatives})

    def _settle_measured(self, settled: Settled, event: int, cuts: Sequence[int]) -> Settled:
        """Settle what was measured and its thresholds, up and down."""
        inside = [cut for cut in settled.boundary if cut in cuts]
        if event in settled.boundary or self._is_monotone(settled.boundary, cuts):
            return self._settle_scale(settled, (event, *cuts))
        return self._settle_family(settled, event, inside) if len(inside) > 1 else settled

    def _is_monotone(self, boundary: Sequence[int], cuts: Sequence[int]) -> bool:
        """Whether the thresholds of a quantity in a boundary pull the label in opposite directions."""
        inside = [event for event in boundary if event in cuts]
        if len(inside) <= 1:
            return False
        rest = self._core([event for event in boundary if event not in cuts])
        others = {cut: [other for other in inside if other != cut] for cut in inside}
        return len({np.sign(self._difference(cut, [*rest, *others[cut]])) for cut in inside}) > 1

    def _settle_family(self, settled: Settled, family: int, members: Sequence[int]) -> Settled:
        group = {family, *members}
        inside = [event for event in settled.boundary if event in group]
        if not inside or self._barred[family] or self._fixed.intersection(inside):
            return settled
        rest = self._core([event for event in settled.boundary if event not in group])
        chosen = self._chosen(family, [one for one in members if not self._barred[one]], inside, rest)
        boundary = settled.boundary if chosen is None else _replaced(settled.boundary, inside, chosen)
        return Settled(boundary, settled.alternatives)

    def _chosen(
        self, family: int, members: Sequence[int], inside: Sequence[int], rest: list[int]
    ) -> list[int] | None:
        """What stands for a family; None if its presence says nothing about the label."""
        if not self._is_significant(self._exact(family, rest), self._alpha):
            return None
        chosen = [family]
        while len(chosen) <= MAX_JOINED:
            joining = self._joining(chosen, members, inside, rest)
            if joining is None:
                break
            chosen.append(joining)
        return self._shortened(chosen, rest)

    def _joining(
        self, chosen: Sequence[int], members: Sequence[int], inside: Sequence[int], rest: list[int]
    ) -> int | None:
        """The member that adds most to those chosen; None if no member adds anything."""
        gains = dict[int, float]()
        for member in self._strongest(chosen, members, rest):
            test = self._exact(member, [*rest, *chosen])
            n_tried = len(inside) if member in inside else len(members)  # Bonferroni
            level = self._alpha / n_tried
            if self._is_significant(test, level) and self._is_worth(test, member, chosen, rest):
                gains[member] = test.gain
        return max(gains, key=lambda member: gains[member]) if gains else None

    def _is_worth(self, test: ExactG2, member: int, chosen: Sequence[int], rest: list[int]) -> bool:
        """Whether a member adds enough, or at least more to its family than the family adds to it."""
        if test.gain >= self._min_gain:
            return True
        family, *others = chosen
        return test.gain > self._exact(family, [*rest, *others, member]).gain

    def _strongest(self, chosen: Sequence[int], members: Sequence[int], rest: list[int]) -> list[int]:
        """Members by how much the label depends on them given those chosen."""
        free = [member for member in members if member not in chosen]
        columns = np.array([*rest, *chosen, *free], np.int64)
        test, target = self._test.local(Target(self._positives), columns)
        n_given = len(rest) + len(chosen)
        tests = test(target, range(n_given), np.arange(n_given, len(columns)))
        excess = tests.g2 - tests.dof
        order = np.argsort(-excess, kind="stable")[:LOOKED_AT]
        return [free[at] for at in order if excess[at] > 0]

    def _shortened(self, chosen: list[int], rest: list[int]) -> list[int]:
        """Drop what the others make superfluous, smallest gain first; the family goes last of equals."""
        while len(chosen) > 1:
            weak = dict[int, float]()
            for event in reversed(chosen):
                test = self._exact(event, [*rest, *(other for other in chosen if other != event)])
                if not self._is_significant(test, self._alpha) or test.gain < self._min_gain:
                    weak[event] = test.gain
            if not weak:
                break
            chosen = [event for event in chosen if event != min(weak, key=lambda one: weak[one])]
        return chosen

    def _core(self, rest: Sequence[int]) -> list[int]:
        """The part of the rest of a boundary that the label clearly depends on."""
        if not rest:
            return []
        test, target = self._test.local(Target(self._positives), np.array(rest, np.int64))
        return [rest[at] for at in iamb(test, target, CORE_ALPHA)]

    def _exact(self, event: int, given: Sequence[int]) -> ExactG2:
        """The exact test of an event type given others."""
        patterns, condition = self._patterns(event, given), range(1, 1 + len(given))
        return ExactG2.of(patterns.tables(0, condition), patterns.design_effect(0, condition))

    def _difference(self, event: int, given: Sequence[int]) -> float:
        """How an event type changes the rate of the label, given others."""
        return risk_difference(self._patterns(event, given).tables(0, range(1, 1 + len(given))))

    def _patterns(self, event: int, given: Sequence[int]) -> PatternCounts:
        counts = self._test.counts
        columns = [counts.rows(column) for column in (event, *given)]
        adjusted = [counts.rows(column) for column in self._test.adjusted]
        return PatternCounts.of_rows(columns, self._positives, counts.n_sequences, adjusted, counts.groups)

    def _is_significant(self, test: ExactG2, level: float) -> bool:
        return test.p_value is not None and test.p_value <= level


def named_gains(
    alternatives: Mapping[int, Mapping[int, float]], names: Sequence[str], n_positives: int
) -> dict[str, dict[str, float]]:
    """Alternatives by name, with gains in nats per sequence with the label."""
    return {
        names[cut]: {names[other]: gain / n_positives for other, gain in gains.items()}
        for cut, gains in alternatives.items()
    }


def _replaced(boundary: Sequence[int], out: Collection[int], chosen: Sequence[int]) -> list[int]:
    """The boundary with some event types replaced, at the place of the first of them.

    >>> _replaced([3, 5, 4, 6], [5, 6], [9])
    [3, 9, 4]
    """
    first = min(at for at, event in enumerate(boundary) if event in out)
    before = [event for event in boundary[:first] if event not in out]
    return [*before, *chosen, *(event for event in boundary[first:] if event not in out)]
