import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from eventcargo.baselines import screens
from eventcargo.baselines.screens import MIN_TOGETHER, l1_logistic, lift, mutual_information

from ..statistics.tables import chain, columns, independence_of, label, noisy


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
    assert lift(test, label(target), 0.001, top_k=1) == [1]


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


def test_lift_leaves_out_what_may_be_chance() -> None:
    bits, target = chain(3000, seed=0)  # columns 2 to 4 are strangers
    assert lift(independence_of(bits), label(target), 0.001, top_k=5) == [1, 0]


def logistic(bits: np.ndarray, target: np.ndarray, alpha: float = 0.01, penalty: float = 1.0) -> list[int]:
    return l1_logistic(independence_of(bits), sp.csc_array(bits.astype(float)), label(target), alpha, penalty)


def test_logistic_regression_puts_the_largest_weight_first() -> None:
    bits = columns(3000, 6, seed=4, density=0.5)
    score = 3.0 * bits[:, 5] - 2.0 * bits[:, 1] + 1.5 * bits[:, 3] - 1.5
    target = np.random.default_rng(5).random(3000) < 1 / (1 + np.exp(-score))
    assert logistic(bits, target) == [5, 1, 3]


def test_weights_are_measured_against_the_largest_of_either_sign() -> None:
    bits = columns(6000, 4, seed=6, density=0.5)
    score = 1.0 - 4.0 * bits[:, 0] + 0.5 * bits[:, 2]
    target = np.random.default_rng(7).random(6000) < 1 / (1 + np.exp(-score))
    test = independence_of(bits)
    assert mutual_information(test, label(target), 0.05, top_k=4) == [0, 2]
    assert logistic(bits, target, alpha=0.05) == [0]


def test_logistic_regression_of_a_coin_is_empty() -> None:
    bits = columns(500, 20, seed=8)
    assert logistic(bits, columns(500, 1, seed=9)[:, 0], alpha=1e-4) == []


def test_logistic_regression_looks_only_at_what_depends_on_the_label() -> None:
    bits = columns(30, 20, seed=10, density=0.5)
    target = columns(30, 1, seed=11, density=0.5)[:, 0]
    dependent = np.flatnonzero(independence_of(bits)(label(target)).holds(0.1))
    assert 0 < len(dependent) < 20
    assert set(logistic(bits, target, alpha=0.1, penalty=0.01)) <= set(dependent.tolist())


def test_logistic_regression_gets_the_most_dependent_events_only(monkeypatch: pytest.MonkeyPatch) -> None:
    bits, target = chain(3000, seed=0)
    monkeypatch.setattr(screens, "MAX_FEATURES", 1)
    monkeypatch.setattr(screens, "WEIGHT_SHARE", 0.0)
    assert logistic(bits, target) == [1]


def test_a_penalty_that_leaves_no_weight_leaves_no_event() -> None:
    bits, target = chain(3000, seed=0)
    assert logistic(bits, target, penalty=1e6) == []


def test_weights_that_do_not_settle_are_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def hurried(**settings: object) -> LogisticRegression:
        return LogisticRegression(**{**settings, "max_iter": 1})

    monkeypatch.setattr("sklearn.linear_model.LogisticRegression", hurried)
    bits, target = chain(3000, seed=0)
    found = logistic(bits, target)
    assert found[0] == 1
    assert all(logistic(bits, target) == found for _ in range(20))  # the solver draws at random
