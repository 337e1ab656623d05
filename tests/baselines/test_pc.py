import numpy as np
import pytest

from eventcargo.baselines.pc import MAX_CONDITION, Separation, hiton_pc, mmpc

from .tables import chain, columns, independence_of, label, noisy

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
