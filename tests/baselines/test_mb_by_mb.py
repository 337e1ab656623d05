import numpy as np

from eventcargo.baselines.pc import _separable, _spouses, mb_by_mb, mmpc

from ..statistics.tables import (
    Bits,
    chain,
    columns,
    hidden_separator,
    independence_of,
    label,
    noisy,
    two_votes,
)


def test_only_the_direct_cause_of_a_label_is_found() -> None:
    bits, target = chain(3000, seed=0)
    assert mb_by_mb(independence_of(bits), label(target), 0.001) == [1]


def family(n_children: int = 1) -> Bits:
    """Columns of two parents and their noisy children."""
    parents = columns(5000, 2, seed=1, density=0.5)
    children = [noisy(parents.any(axis=1), seed=2 + i, flips=0.05) for i in range(n_children)]
    return np.column_stack([parents, *children])


def test_a_spouse_of_an_event_type_is_in_its_boundary_but_no_neighbour() -> None:
    test = independence_of(family())
    assert _spouses(test, test.event(0), [2], 0.001) == [1]
    assert mb_by_mb(test, test.event(0), 0.001) == [2]


def test_a_spouse_by_two_children_is_one_spouse() -> None:
    test = independence_of(family(n_children=2))
    assert _spouses(test, test.event(0), [2, 3], 0.001) == [1]


def test_a_neighbour_is_no_spouse() -> None:
    test = independence_of(family())
    assert _spouses(test, test.event(0), [2, 1], 0.001) == []


def test_a_spouse_helps_to_separate_what_the_neighbours_cannot() -> None:
    test = independence_of(hidden_separator(8000, seed=0))
    assert sorted(mmpc(test, test.event(0), 0.001)) == [1, 3]
    assert mb_by_mb(test, test.event(0), 0.001) == [1]


def test_three_members_can_separate_a_fourth() -> None:
    bits, target = two_votes(4000, seed=0)
    test = independence_of(bits)
    assert _separable(test, label(target), 3, [0, 1, 2, 3], 0.001)
    assert not _separable(test, label(target), 3, [0, 1, 3], 0.001)


def test_four_members_are_not_tried_together() -> None:
    voters = columns(4000, 4, seed=3, density=0.5)
    votes = [noisy(voters.sum(axis=1) >= 2, seed, flips=0.05) for seed in (4, 5)]
    test = independence_of(np.column_stack([voters, votes[0]]))
    assert not _separable(test, label(votes[1]), 4, [0, 1, 2, 3, 4], 0.001)
