"""PCD-by-PCD (Yin, Zhou, Wang, He, Zheng and Geng 2008): parents and children that also claim the target.

A link counts only if it is found from both ends: x among the parents and children of the target, and the
target not separable from x by those of x. The neighbourhoods of event types are shared by all labels.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import chain, combinations

import numpy as np

from eventcargo.baselines.independence import IndependenceTest, Target
from eventcargo.baselines.pc import MAX_CONDITION, mmpc


class PcdByPcd:
    """The algorithm with a memory of the event types' own parents and children."""

    def __init__(self, test: IndependenceTest, alpha: float) -> None:
        self._test, self._alpha = test, alpha
        self._neighbours: Callable[[int], list[int]] = lru_cache(maxsize=None)(self._find_neighbours)

    def __call__(self, target: Target) -> list[int]:
        """The parents of a label (parents and children of an event type), as event numbers."""
        members = mmpc(self._test, target, self._alpha)
        return [column for column in members if self._claims(column, target)]

    def _claims(self, column: int, target: Target) -> bool:
        """Is the target left unseparated by every small set of the event type's own neighbours?"""
        others = [other for other in self._neighbours(column) if other not in target.itself]
        test, local_target = self._test.local(target, np.array([column, *others]))
        numbers = range(1, len(others) + 1)
        subsets = chain.from_iterable(combinations(numbers, size) for size in range(1, MAX_CONDITION + 1))
        return all(test.p_value(local_target, 0, subset) <= self._alpha for subset in subsets)

    def _find_neighbours(self, column: int) -> list[int]:
        return mmpc(self._test, self._test.event(column), self._alpha)
