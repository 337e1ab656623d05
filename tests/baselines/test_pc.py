import numpy as np
import pytest

from eventcargo.baselines.pc import MAX_CONDITION, Separation, _subsets, hiton_pc, mmpc

from ..statistics.tables import chain, columns, independence_of, label, noisy, two_votes

ALGORITHMS = pytest.mark.parametrize("algorithm", [mmpc, hiton_pc])


@ALGORITHMS
def test_a_noisy_conjunction_is_found_whole(algorithm) -> None:
    bits = columns(2000, 40, seed=0)
    target = noisy(bits[:, 3] & bits[:, 11] & bits[:, 20], seed=1)
    assert sorted(algorithm(independence_of(bits), label(target), 1e-4)) == [3, 11, 20]


@ALGORITHMS
def test_the_cause_of_a_cause_is_separated_by_it(algorithm) -> None:
    bits, target = chain(3000, seed=2)
    assert algorithm(independence_of(bits), label(target), 0.001) == [1]


@ALGORITHMS
def test_a_stand_in_for_two_causes_leaves_when_both_are_in(algorithm) -> None:
    rng = np.random.default_rng(3)
    causes = rng.random((4000, 2)) < 0.5
    stand_in = np.where(rng.random(4000) < 0.9, causes.all(axis=1), rng.random(4000) < 0.5)
    target = noisy(causes.all(axis=1), seed=4, flips=0.05)
    test = independence_of(np.column_stack([causes, stand_in]))
    assert sorted(algorithm(test, label(target), 0.001)) == [0, 1]


@ALGORITHMS
def test_nothing_depends_on_a_coin(algorithm) -> None:
    bits = columns(500, 20, seed=5)
    assert algorithm(independence_of(bits), label(columns(500, 1, seed=6)[:, 0]), 1e-4) == []


def test_separation_looks_at_sets_of_bounded_size_only() -> None:
    bits = columns(4000, MAX_CONDITION + 1, seed=7, density=0.5)
    copy = bits.sum(axis=1) >= 2  # told fully by all four columns, by no three of them
    target = noisy(copy, seed=8, flips=0.01)
    table = np.column_stack([bits, copy])
    separation = Separation(independence_of(table), label(target), 0.01)
    assert not separation.separated(MAX_CONDITION + 1, list(range(MAX_CONDITION)))


def test_three_members_can_separate_a_candidate() -> None:
    bits, target = two_votes(4000, seed=0)
    separation = Separation(independence_of(bits), label(target), 0.001)
    assert separation.separated(3, [0, 1, 2])
    assert not separation.separated(3, [0, 1])


def test_subsets_go_from_one_member_to_three() -> None:
    found = list(_subsets([1, 2, 3, 4]))
    assert found[:5] == [(1,), (2,), (3,), (4,), (1, 2)]
    assert (len(found), found[-1]) == (4 + 6 + 4, (2, 3, 4))


def test_subsets_with_a_new_member_all_hold_it_once() -> None:
    assert list(_subsets([1, 2, 3, 9], new=9)) == [
        (9,),
        (9, 1),
        (9, 2),
        (9, 3),
        (9, 1, 2),
        (9, 1, 3),
        (9, 2, 3),
    ]


@ALGORITHMS
def test_an_event_type_as_target_is_not_its_own_neighbour(algorithm) -> None:
    bits, _ = chain(2000, seed=9)
    test = independence_of(bits)
    assert algorithm(test, test.event(0), 0.001) == [1]


def test_mmpc_takes_next_what_the_members_explain_least() -> None:
    rng = np.random.default_rng(10)
    first, third = rng.random((2, 6000)) < 0.5
    echo = noisy(first, seed=11, flips=0.15)
    target = rng.random(6000) < 0.05 + 0.5 * first + 0.15 * echo + 0.25 * third
    test = independence_of(np.column_stack([first, echo, third]))
    assert np.argsort(-test(label(target)).g2).tolist() == [0, 1, 2]  # alone the echo beats the third
    assert mmpc(test, label(target), 0.001) == [0, 2, 1]


def test_mmpc_drops_two_members_one_after_the_other() -> None:
    rng = np.random.default_rng(12)
    causes = rng.random((6000, 2)) < 0.5
    both = causes.all(axis=1)
    stand_ins = [noisy(both, seed, flips=0.08) for seed in (13, 14)]
    test = independence_of(np.column_stack([*stand_ins, causes]))
    assert sorted(mmpc(test, label(noisy(both, seed=15, flips=0.05)), 0.001)) == [2, 3]


def test_hiton_tests_the_latest_member_again_first() -> None:
    rng = np.random.default_rng(16)
    early, coin = rng.random((2, 8000)) < 0.5
    new = rng.random(8000) < 0.15
    twin = np.where(new, coin, early)  # a copy of the early one, but for sequences with the new one
    target = noisy(np.where(new, True, early), seed=17, flips=0.1)
    test = independence_of(np.column_stack([early, twin, new]))
    order = np.argsort(-test(label(target)).g2).tolist()
    assert order[2] == 2
    assert hiton_pc(test, label(target), 0.001) == [order[0], 2]


@ALGORITHMS
def test_of_two_copies_the_first_is_kept(algorithm) -> None:
    cause = columns(500, 1, seed=18)
    test = independence_of(np.column_stack([cause, cause]))
    assert algorithm(test, label(noisy(cause[:, 0], seed=19)), 0.001) == [0]
