"""IAMB (Tsamardinos, Aliferis and Statnikov 2003): grow the boundary greedily, then shrink it.

Grow: add the event type most dependent on the target given the current set, until none has p <= alpha.
Shrink: drop, in order of entry, every event type that is independent given the rest. Targets grow together:
one sparse product makes a step of all of them.
"""

from collections.abc import Iterator, Sequence

from eventcargo.statistics.g2 import IndependenceTest, Target


def iamb(test: IndependenceTest, target: Target, alpha: float) -> list[int]:
    """The Markov boundary of one target, as event numbers in order of entry."""
    return iamb_of_many(test, [target], alpha)[0]


def iamb_of_many(test: IndependenceTest, targets: Sequence[Target], alpha: float) -> list[list[int]]:
    """The Markov boundaries of several targets, grown together."""
    boundaries: list[list[int]] = [[] for _ in targets]
    growing = list(range(len(targets)))
    while growing:
        grown = list(_grow_once(test, targets, boundaries, growing, alpha))
        for at, column in grown:
            boundaries[at].append(column)
        growing = [at for at, _ in grown]
    return [_shrink(test, target, grown, alpha) for target, grown in zip(targets, boundaries, strict=True)]


def _grow_once(
    test: IndependenceTest,
    targets: Sequence[Target],
    boundaries: Sequence[Sequence[int]],
    growing: Sequence[int],
    alpha: float,
) -> Iterator[tuple[int, int]]:
    questions = [(targets[at], boundaries[at]) for at in growing]
    for at, result in zip(growing, test.many(questions), strict=True):
        column = result.strongest(alpha, exclude=[*boundaries[at], *targets[at].itself])
        if column is not None:
            yield at, column


def _shrink(test: IndependenceTest, target: Target, grown: Sequence[int], alpha: float) -> list[int]:
    members = list(grown)
    for column in grown:
        rest = [other for other in members if other != column]
        if test.p_value(target, column, rest) > alpha:
            members = rest
    return members
