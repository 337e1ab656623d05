import numpy as np
import scipy.sparse as sp

from eventcargo.baselines.screens import MIN_TOGETHER, l1_logistic, lift, mutual_information

from .tables import chain, columns, independence_of, label, noisy


def test_mutual_information_ranks_by_dependence_and_keeps_at_most_top_k() -> None:
    bits, target = chain(3000, seed=0)
    test = independence_of(bits)
    assert mutual_information(test, label(target), 0.001, top_k=5) == [1, 0]
    assert mutual_information(test, label(target), 0.001, top_k=1) == [1]


def test_lift_prefers_the_purer_event_over_the_more_frequent_one() -> None:
    n = 2000
    target = np.zeros(n, bool)
    target[:200] = True
    frequent, pure = np.zeros(n, bool), np.zeros(n, bool)
    frequent[:180] = frequent[200:500] = True
    pure[:30] = True
    test = independence_of(np.column_stack([frequent, pure]))
    assert mutual_information(test, label(target), 0.001, top_k=1) == [0]
    assert lift(test, label(target), 0.001, top_k=2) == [1, 0]


def test_lift_leaves_out_what_is_hardly_ever_seen_together() -> None:
    target = np.zeros(5000, bool)
    target[:50] = True
    rare, seen = np.zeros(5000, bool), np.zeros(5000, bool)
    rare[: MIN_TOGETHER - 1] = True
    seen[:MIN_TOGETHER] = True
    assert lift(independence_of(np.column_stack([rare, seen])), label(target), 0.01, top_k=5) == [1]


def test_logistic_regression_finds_both_signs_and_drops_small_weights() -> None:
    bits = columns(3000, 30, seed=1)
    target = noisy(bits[:, 4] & bits[:, 9] & ~bits[:, 15], seed=2)
    presence = sp.csc_array(bits.astype(float))
    assert sorted(l1_logistic(independence_of(bits), presence, label(target), 0.01)) == [4, 9, 15]


def test_logistic_regression_of_a_constant_label_is_empty() -> None:
    bits = columns(100, 5, seed=3)
    presence = sp.csc_array(bits.astype(float))
    assert l1_logistic(independence_of(bits), presence, label(np.ones(100, bool)), 0.5) == []
