"""The solver against its optimality conditions, and against scikit-learn's on the same problem."""

import numpy as np
import pytest
from scipy.special import expit

from eventcargo.models.linear.columns import Columns
from eventcargo.models.linear.lasso import SLACK, Fit, Lasso, base_fit
from eventcargo.statistics.log_loss import log_losses


def problem(seed: int, n_rows: int = 400, n_columns: int = 60) -> tuple[Columns, np.ndarray]:
    """A conjunction of the first two of many columns, with noise."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n_rows, n_columns)) < 0.3).astype(float)
    y = ((X[:, 0] * X[:, 1]) > 0).astype(float)
    flipped = rng.random(n_rows) < 0.05
    return Columns.of(X), np.where(flipped, 1 - y, y)


def dense(X: Columns) -> np.ndarray:
    return X.matrix(np.arange(X.shape[1])).toarray()


def start(X: Columns, y: np.ndarray) -> Fit:
    return base_fit(X.shape[1], int(y.sum()), len(y))


def objective(fit: Fit, X: Columns, y: np.ndarray, penalty: float) -> float:
    return float(log_losses(fit.logits(X), y).sum() + penalty * np.abs(fit.weights).sum())


@pytest.mark.parametrize("penalty", [0.5, 2.0, 8.0])
def test_no_column_breaks_the_optimality_condition(penalty: float) -> None:
    X, y = problem(1)
    fit = Lasso(X, y).fit(penalty, start(X, y))
    gradient = X.transposed_times(expit(fit.logits(X)) - y)
    assert np.abs(gradient).max() <= penalty * (1 + SLACK) + 0.1


def test_gradient_of_a_used_column_balances_the_penalty() -> None:
    X, y = problem(2)
    fit = Lasso(X, y).fit(2.0, start(X, y))
    used = np.flatnonzero(fit.weights)
    gradient = X.transposed_times(expit(fit.logits(X)) - y)[used]
    assert np.allclose(gradient, -2.0 * np.sign(fit.weights[used]), atol=0.1)


def test_bias_is_free_of_the_penalty() -> None:
    X, y = problem(3)
    fit = Lasso(X, y).fit(2.0, start(X, y))
    assert expit(fit.logits(X)).sum() == pytest.approx(y.sum(), abs=0.5)


def test_a_large_penalty_leaves_the_base_rate() -> None:
    X, y = problem(4)
    fit = Lasso(X, y).fit(1e4, start(X, y))
    assert not fit.weights.any()


def test_start_does_not_change_the_minimum() -> None:
    X, y = problem(5)
    cold = Lasso(X, y).fit(1.0, start(X, y))
    warm = Lasso(X, y).fit(1.0, Lasso(X, y).fit(8.0, start(X, y)))
    assert objective(warm, X, y, 1.0) == pytest.approx(objective(cold, X, y, 1.0), abs=0.02)


def test_objective_is_as_low_as_that_of_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    X, y = problem(6)
    peer = LogisticRegression(
        l1_ratio=1.0, C=1.0, solver="liblinear", tol=1e-8, max_iter=2000, intercept_scaling=1e3
    ).fit(dense(X), y)
    theirs = Fit(peer.coef_[0], float(peer.intercept_[0]))
    assert objective(Lasso(X, y).fit(1.0, start(X, y)), X, y, 1.0) <= objective(theirs, X, y, 1.0) + 0.02


def test_separable_rows_end_with_finite_weights() -> None:
    X = Columns.of(np.repeat([[1.0, 0.0], [0.0, 1.0]], 500, axis=0))
    fit = Lasso(X, np.repeat([1.0, 0.0], 500)).fit(0.01, base_fit(2, 500, 1000))
    assert np.isfinite(fit.weights).all()
    assert np.abs(fit.weights).max() < 50


def test_a_rare_label_of_one_cause_does_not_get_stuck_where_probabilities_saturate() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((16_000, 30)) < 0.1).astype(float)
    X[:, 0] = np.arange(16_000) < 270
    X[:270, 1] = rng.random(270) < 0.8
    y = X[:, 0].copy()
    y[:3], y[-3:] = 0.0, 1.0
    fit = Lasso(Columns.of(X), y).fit(1.0, base_fit(30, int(y.sum()), len(y)))
    assert np.abs(X.T @ (expit(fit.logits(Columns.of(X))) - y)).max() <= 1.1


def test_known_logits_are_added_to_not_repeated() -> None:
    X, y = problem(8)
    known = Lasso(X, y).fit(1.0, start(X, y))
    again = Lasso(X, y, known.logits(X)).fit(1.5, Fit(np.zeros(X.shape[1]), 0.0))
    assert not again.weights.any()


def test_a_column_with_a_large_penalty_of_its_own_gets_no_weight() -> None:
    X, y = problem(9)
    penalties = np.where(np.arange(X.shape[1]) == 0, 1e4, 2.0)
    weights = Lasso(X, y).fit(penalties, start(X, y)).weights
    assert (weights[0], weights[1] > 0.5) == (0.0, True)


def test_gradients_balance_the_penalties_of_their_own_columns() -> None:
    X, y = problem(2)
    penalties = np.linspace(1.0, 4.0, X.shape[1])
    fit = Lasso(X, y).fit(penalties, start(X, y))
    used = np.flatnonzero(fit.weights)
    gradient = X.transposed_times(expit(fit.logits(X)) - y)[used]
    assert np.allclose(gradient, -penalties[used] * np.sign(fit.weights[used]), atol=0.1)


@pytest.mark.parametrize("seed", [1, 4])
def test_reweighted_weights_balance_a_logarithmic_penalty(seed: int) -> None:
    X, y = problem(seed)
    fit = Lasso(X, y).reweight(2.0, Lasso(X, y).fit(2.0, start(X, y)))
    used = np.flatnonzero(fit.weights)
    gradient = X.transposed_times(expit(fit.logits(X)) - y)[used]
    slope = 2.0 / (1.0 + np.abs(fit.weights[used]))
    assert np.allclose(gradient, -slope * np.sign(fit.weights[used]), atol=0.15)


def test_reweighting_leaves_a_base_rate_alone() -> None:
    X, y = problem(4)
    assert not Lasso(X, y).reweight(1e4, start(X, y)).weights.any()


def test_reweighting_adds_to_known_logits() -> None:
    X, y = problem(8)
    known = Lasso(X, y).fit(1.0, start(X, y))
    assert not Lasso(X, y, known.logits(X)).reweight(1.5, Fit(np.zeros(X.shape[1]), 0.0)).weights.any()


@pytest.mark.parametrize("n_columns", [60, 2])
def test_a_row_that_counts_no_times_is_left_out(n_columns: int) -> None:
    X, y = problem(10, n_columns=n_columns)
    kept = np.random.default_rng(0).random(len(y)) < 0.7
    odd = np.where(kept, y, 1 - y)  # what these rows say does not matter
    left, without = Lasso(X.within(np.flatnonzero(kept)), y[kept]), Lasso(X, odd, counts=kept.astype(float))
    for penalty in (2.0, 8.0):
        one, other = (lasso.fit(penalty, start(X, y)) for lasso in (left, without))
        assert other.weights == pytest.approx(one.weights, abs=0.02)
        assert other.bias == pytest.approx(one.bias, abs=0.02)
        sharp = [lasso.reweight(penalty, fit) for lasso, fit in ((left, one), (without, other))]
        assert sharp[1].weights == pytest.approx(sharp[0].weights, abs=0.05)


def test_rows_without_an_entry_that_count_no_times_are_left_out_too() -> None:
    rng = np.random.default_rng(0)
    table = rng.random((1000, 5)) < 0.05
    X, y = Columns.of(table), (table.any(axis=1)) * (rng.random(1000) < 0.7) + 0.0
    kept = (y > 0) | (np.arange(1000) % 2 == 0)
    one = Lasso(X.within(np.flatnonzero(kept)), y[kept]).fit(1.0, start(X, y))
    other = Lasso(X, y, counts=kept.astype(float)).fit(1.0, start(X, y))
    assert other.weights == pytest.approx(one.weights, abs=0.02)
    assert other.bias == pytest.approx(one.bias, abs=0.02)


def test_a_row_that_counts_twice_is_there_twice() -> None:
    X, y = problem(11)
    counts = 1.0 + (np.arange(len(y)) % 3 == 0)
    rows = np.repeat(np.arange(len(y)), counts.astype(int))
    one = Lasso(Columns.of(dense(X)[rows]), y[rows]).fit(2.0, start(X, y))
    other = Lasso(X, y, counts=counts).fit(2.0, start(X, y))
    assert other.weights == pytest.approx(one.weights, abs=0.02)


def test_no_column_at_all_gives_the_bias() -> None:
    fit = Lasso(Columns.of(np.zeros((10, 0))), np.array([1.0] + [0.0] * 9)).fit(1.0, base_fit(0, 1, 10))
    assert fit.bias == pytest.approx(np.log(1 / 9), abs=0.02)


def test_base_rate_of_no_positive_is_finite_and_low() -> None:
    assert -12 < base_fit(3, 0, 10_000).bias < -9


def test_log_losses_do_not_overflow() -> None:
    assert log_losses(np.array([800.0, -800.0]), np.array([1.0, 0.0])).tolist() == [0.0, 0.0]
