"""MB-by-MB (Wang, Zhou, Zhao and Geng 2014): the Markov boundary, then what no small set inside separates.

The boundary is MMPC's parents and children plus spouses. A label is a sink and has no spouses; its boundary
is what MMPC found, which has passed the check for separating sets already.
"""

from itertools import chain, combinations

from eventcargo.baselines.independence import IndependenceTest, Target
from eventcargo.baselines.pc import MAX_CONDITION, mmpc


def mb_by_mb(test: IndependenceTest, target: Target, alpha: float) -> list[int]:
    """The parents of a label (parents and children of an event type), as event numbers."""
    members = mmpc(test, target, alpha)
    if target.column is None:
        return members
    boundary = members + _spouses(test, target, members, alpha)
    return [column for column in boundary if not _separable(test, target, column, boundary, alpha)]


def _spouses(test: IndependenceTest, target: Target, members: list[int], alpha: float) -> list[int]:
    """Event types that become dependent on the target once a common child is known."""
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
