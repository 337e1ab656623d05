"""Parents and children of a target by small separating sets: MMPC and HITON-PC.

Both keep an event type only if no set of up to `MAX_CONDITION` members separates it from the target. A label
is a sink, so its parents and children are its parents: its Markov boundary.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from eventcargo.statistics.g2 import IndependenceTest, Target

MAX_CONDITION = 3
"""Size of the largest separating set, as in the reference implementations."""


Answer = tuple[NDArray[np.float64], NDArray[np.bool_]]


class Separation:
    """Tells whether members separate a candidate from the target; caches answers, because sets recur.

    Candidates are the event types that depend on the target unconditionally; the empty set separates all
    others.
    """

    def __init__(self, test: IndependenceTest, target: Target, alpha: float) -> None:
        self._alpha = alpha
        alone = test(target)
        dependent = alone.holds(alpha) & ~np.isin(alone.candidates, target.itself)
        self.candidates: NDArray[np.int64] = alone.candidates[dependent]
        self.g2: NDArray[np.float64] = alone.g2[dependent]
        self._test, self._target = test.local(target, self.candidates)
        self._position = {int(column): at for at, column in enumerate(self.candidates)}
        self._answers: dict[tuple[int, ...], Answer] = {}

    def given(self, condition: Iterable[int]) -> Answer:
        """G2 of all candidates given a condition set, and whether they still depend on the target."""
        key = tuple(sorted(condition))
        if key not in self._answers:
            positions = [self._position[column] for column in key]
            tests, own = self._test(self._target, positions), slice(len(self.candidates))
            self._answers[key] = tests.g2[own], tests.holds(self._alpha)[own]
        return self._answers[key]

    def separated(self, column: int, members: Sequence[int], new: int | None = None) -> bool:
        """Whether some subset of the members (containing `new`, if given) makes the candidate independent."""
        at = self._position[column]
        others = [member for member in members if member != column]
        return not all(self.given(subset)[1][at] for subset in _subsets(others, new))


def _subsets(members: Sequence[int], new: int | None = None) -> Iterator[tuple[int, ...]]:
    """Subsets of up to `MAX_CONDITION` members, smallest first; all contain `new`, if given."""
    fixed = () if new is None else (new,)
    others = [member for member in members if member != new]
    for size in range(0 if fixed else 1, MAX_CONDITION + 1 - len(fixed)):
        for chosen in combinations(others, size):
            yield fixed + chosen


def mmpc(test: IndependenceTest, target: Target, alpha: float) -> list[int]:
    """Parents and children by max-min association (Tsamardinos, Brown and Aliferis 2006).

    Forward: for every candidate, take the weakest link over all subsets of the members; add the candidate
    whose weakest link is strongest. Backward: drop members that others separate.
    """
    separation = Separation(test, target, alpha)
    weakest = separation.g2.copy()
    alive = np.ones(len(weakest), bool)
    members: list[int] = []
    while alive.any():
        best = int(np.argmax(np.where(alive, weakest, -1.0)))
        alive[best] = False
        members.append(int(separation.candidates[best]))
        for subset in _subsets(members, new=members[-1]):
            if not alive.any():
                break
            g2, depends = separation.given(subset)
            alive &= depends
            np.minimum(weakest, g2, out=weakest)
    for column in tuple(members):
        if separation.separated(column, members):
            members.remove(column)
    return members


def hiton_pc(test: IndependenceTest, target: Target, alpha: float) -> list[int]:
    """Parents and children, interleaved (Aliferis, Tsamardinos and Statnikov 2003).

    Candidates enter in order of dependence; after each addition, the earlier members are tested again.
    """
    separation = Separation(test, target, alpha)
    members: list[int] = []
    for at in np.argsort(-separation.g2, kind="stable"):
        column = int(separation.candidates[at])
        if separation.separated(column, members):
            continue
        members.append(column)
        for older in members[-2::-1]:
            if separation.separated(older, members, new=column):
                members.remove(older)
    return members


def cmb(test: IndependenceTest, target: Target, alpha: float) -> list[int]:
    """The parents of a label (parents and children of an event type), as event numbers."""
    return hiton_pc(test, target, alpha)


def mb_by_mb(test: IndependenceTest, target: Target, alpha: float) -> list[int]:
    """The parents of a label (parents and children of an event type), as event numbers."""
    members = mmpc(test, target, alpha)
    if target.column is None:
        return members
    boundary = members + _spouses(test, target, members, alpha)
    return [column for column in boundary if not _separable(test, target, column, boundary, alpha)]


def _spouses(test: IndependenceTest, target: Target, members: list[int], alpha: float) -> list[int]:
    """Event types that become dependent on the target given a common child."""
    spouses: list[int] = []
    for child in members:
        for other in mmpc(test, test.event(child), alpha):
            if other in (*target.itself, *members, *spouses):
                continue
            if test.p_value(target, other, [child]) <= alpha:
                spouses.append(other)
    return spouses


def _separable(
    test: IndependenceTest, target: Target, column: int, boundary: list[int], alpha: float
) -> bool:
    rest = [other for other in boundary if other != column]
    subsets = chain.from_iterable(combinations(rest, size) for size in range(MAX_CONDITION + 1))
    return any(test.p_value(target, column, subset) > alpha for subset in subsets)


class PcdByPcd:
    """PCD-by-PCD, with a cache of the event types' own parents and children."""

    def __init__(self, test: IndependenceTest, alpha: float) -> None:
        self._test, self._alpha = test, alpha
        self._neighbours: Callable[[int], list[int]] = lru_cache(maxsize=None)(self._find_neighbours)

    def __call__(self, target: Target) -> list[int]:
        """The parents of a label (parents and children of an event type), as event numbers."""
        members = mmpc(self._test, target, self._alpha)
        return [column for column in members if self._claims(column, target)]

    def _claims(self, column: int, target: Target) -> bool:
        """Whether no small set of the event type's own neighbours separates it from the target."""
        others = [other for other in self._neighbours(column) if other not in target.itself]
        test, local_target = self._test.local(target, np.array([column, *others]))
        numbers = range(1, len(others) + 1)
        subsets = chain.from_iterable(combinations(numbers, size) for size in range(1, MAX_CONDITION + 1))
        return all(test.p_value(local_target, 0, subset) <= self._alpha for subset in subsets)

    def _find_neighbours(self, column: int) -> list[int]:
        return mmpc(self._test, self._test.event(column), self._alpha)
