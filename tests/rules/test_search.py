"""Search on tables of patterns: what is found against all rules there are."""

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from eventcargo.rules import Literal
from eventcargo.rules.description_length import DescriptionLength, Dnf
from eventcargo.rules.patterns import LiteralPatterns
from eventcargo.rules.search import Search

Cells = NDArray[np.bool_]


def table(
    events: int, carries: Callable[..., Cells], noise: float = 0.0, each: int = 40
) -> DescriptionLength:
    """All patterns of some event types, `each` times; a label by `carries`, flipped with chance `noise`."""
    cells = np.array(list(itertools.product([False, True], repeat=events))).T
    held = np.repeat(cells, each, axis=1)
    carried = carries(*held) ^ (np.random.default_rng(0).random(held.shape[1]) < noise)
    literals = tuple(Literal("presence", (name,)) for name in "ABCDEFGH"[:events])
    return DescriptionLength(LiteralPatterns.collapse(literals, held, carried), 1.0)


def dnf(*parts: tuple[int, ...]) -> Dnf:
    return frozenset(map(frozenset, parts))


@pytest.mark.parametrize(
    ("events", "carries", "expected"),
    [
        (1, lambda a: a, dnf((0,))),
        (1, lambda a: ~a, dnf((1,))),
        (3, lambda a, b, c: a & b & ~c, dnf((0, 1, 5))),
        (2, lambda a, b: a | b, dnf((0,), (1,))),
        (4, lambda a, b, c, d: (a & b) | (c & d), dnf((0, 1), (2, 3))),
        (3, lambda a, b, c: (a & b) | (a & c), dnf((0, 1), (0, 2))),
        (2, lambda a, b: a ^ b, dnf((0, 3), (1, 2))),
        (6, lambda a, b, c, d, e, f: (a & b & c) | (d & e & ~f), dnf((0, 1, 2), (3, 4, 11))),
    ],
)
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_the_rule_behind_the_labels_is_found(
    events: int, carries: Callable[..., Cells], expected: Dnf, noise: float
) -> None:
    assert Search(table(events, carries, noise), 6, 8).best() == expected


def test_a_label_at_random_has_no_rule() -> None:
    assert Search(table(3, lambda *held: np.zeros_like(held[0]), noise=0.3), 6, 8).best() == frozenset()


def every_rule(literals: int) -> Iterator[Dnf]:
    """All rules of one or two conjunctions of one or two literals."""
    parts = [frozenset(part) for size in (1, 2) for part in itertools.combinations(range(literals), size)]
    for size in (1, 2):
        yield from map(frozenset, itertools.combinations(parts, size))


@pytest.mark.parametrize("seed", range(8))
def test_no_short_rule_is_worth_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    literals = tuple(Literal("presence", (name,)) for name in "ABC")
    cells = np.array(list(itertools.product([0, 1], repeat=3)), np.float32).T
    carrying, lacking = rng.integers(4, 60, (2, 8)).astype(np.float32)
    worth = DescriptionLength(LiteralPatterns(literals, cells, carrying, lacking), 1.0)
    found = Search(worth, 6, 8)._candidates()
    assert max(map(worth.of, found)) >= max(map(worth.of, every_rule(6))) - 1e-6


def test_limits_of_length_are_kept() -> None:
    worth = table(4, lambda a, b, c, d: (a & b) | (c & d))
    assert all(len(part) == 1 for part in Search(worth, 1, 8).best())
    assert len(Search(worth, 6, 1).best()) == 1


def test_what_one_sequence_speaks_for_is_left_out() -> None:
    held = np.array([[0, 1, 1], [0, 0, 1]], np.float32)
    literals = (Literal("presence", ("A",)), Literal("presence", ("B",)))
    counts = np.array([0, 12, 0], np.float32), np.array([4000, 0, 1], np.float32)
    assert Search(DescriptionLength(LiteralPatterns(literals, held, *counts), 0.01), 6, 8).best() == dnf((0,))


def test_a_conjunction_rests_on_three_sequences_of_its_own() -> None:
    held = np.array([[0, 1, 1, 0], [0, 0, 1, 1]], np.float32)
    literals = (Literal("presence", ("A",)), Literal("presence", ("B",)))
    for own, expected in ((2, dnf((0,))), (3, dnf((0,), (1,)))):
        counts = np.array([0, 12, 10, own], np.float32), np.array([4000, 0, 0, 0], np.float32)
        assert (
            Search(DescriptionLength(LiteralPatterns(literals, held, *counts), 0.01), 6, 8).best() == expected
        )


def test_what_is_covered_is_not_covered_again() -> None:
    worth = table(4, lambda a, b, c, d: (a & b) | (c & d))
    again = Search(worth, 6, 8)._conjunctions(worth.holds(dnf((0, 1))), weight=1.0)
    assert again[0] == frozenset([2, 3])


def test_what_brings_little_is_left_out() -> None:
    held = np.array([[0, 1, 1], [0, 0, 1]], np.float32)
    literals = (Literal("presence", ("A",)), Literal("presence", ("B",)))
    counts = np.array([0, 400, 0], np.float32), np.array([4000, 60, 4], np.float32)
    worth = DescriptionLength(LiteralPatterns(literals, held, *counts), 0.01)
    assert worth.of(dnf((0, 3))) > worth.of(dnf((0,)))
    assert Search(worth, 6, 8).best() == dnf((0,))
