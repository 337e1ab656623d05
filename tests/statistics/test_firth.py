"""Firth's regression and its profile intervals, against closed forms and direct maximisation."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import expit
from scipy.stats import chi2

from eventcargo.statistics import firth
from eventcargo.statistics.firth import FirthRegression
from eventcargo.statistics.profile_interval import profile_interval, wald_interval

Floats = NDArray[np.float64]

FEW = (12.0, 3.0, 30.0, 5.0, 7.0, 2.0, 9.0, 4.0)
MANY = (4000.0, 300.0, 900.0, 60.0, 500.0, 40.0, 80.0, 20.0)


def drawn(trials: tuple[float, ...], seed: int) -> FirthRegression:
    """All patterns of three columns, with so many sequences each."""
    X = np.array([[1, at & 1, at >> 1 & 1, at >> 2] for at in range(8)], float)
    p = expit(X @ [-2.0, 1.5, -1.0, 0.5])
    hits = np.random.default_rng(seed).binomial(np.array(trials, int), p).astype(float)
    return FirthRegression(X, hits, np.array(trials))


def value(regression: FirthRegression, b: Floats) -> float:
    """The penalised log-likelihood, as the textbook has it."""
    X, y, n = regression.X, regression.hits, regression.trials
    p = expit(X @ b)
    information = X.T @ np.diag(n * p * (1 - p)) @ X
    return float(y @ (X @ b) - n @ np.logaddexp(0, X @ b) + np.linalg.slogdet(information)[1] / 2)


def highest(regression: FirthRegression, fixed: int | None = None, at: float = 0.0) -> tuple[Floats, float]:
    """The maximum by another method, with a coefficient held fixed or not."""
    free = [column for column in range(regression.X.shape[1]) if column != fixed]

    def whole(some: Floats) -> Floats:
        b = np.full(regression.X.shape[1], at)
        b[free] = some
        return b

    found = minimize(
        lambda some: -value(regression, whole(some)),
        np.zeros(len(free)),
        method="BFGS",
        options={"gtol": 1e-7},
    )
    return whole(found.x), -float(found.fun)


@pytest.mark.parametrize("trials", [FEW, MANY])
def test_the_fit_is_the_maximum_of_the_penalised_likelihood(trials: tuple[float, ...]) -> None:
    regression = drawn(trials, seed=1)
    found, (expected, top) = regression.fit(), highest(regression)
    assert found.coefficients[0] == pytest.approx(expected, abs=1e-4)
    assert value(regression, found.coefficients[0]) == pytest.approx(top, abs=1e-7)


@pytest.mark.parametrize("table", [(90, 10, 15, 15), (50, 0, 3, 9), (0, 4, 4, 0), (7, 5, 0, 2)])
def test_of_a_table_of_two_by_two_half_a_sequence_is_added_to_each_cell(
    table: tuple[int, int, int, int],
) -> None:
    a, b, c, d = (count + 0.5 for count in table)
    X, counts = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array(table, float).reshape(2, 2)
    found = FirthRegression(X, counts[:, 1], counts.sum(1)).fit()
    assert found.coefficients[0, 1] == pytest.approx(np.log(a * d / (b * c)), abs=1e-4)


def test_with_many_sequences_it_is_ordinary_logistic_regression() -> None:
    regression = drawn(tuple(1e6 * share for share in MANY), seed=0)
    assert regression.fit().coefficients[0] == pytest.approx([-2.0, 1.5, -1.0, 0.5], abs=1e-3)


def test_counts_divided_by_a_number_give_the_fit_of_so_many_fewer() -> None:
    few = drawn(FEW, seed=3)
    many = FirthRegression(few.X, 5 * few.hits, 5 * few.trials)
    expected, found = few.fit(), many.fit(np.array([1.0, 0.2]))
    assert found.coefficients[1] == pytest.approx(expected.coefficients[0], abs=1e-4)
    assert np.abs(found.coefficients[0] - expected.coefficients[0]).max() > 0.01
    columns = np.array([1])
    assert np.array(profile_interval(many, found.take(np.array([1])), columns)) == pytest.approx(
        np.array(profile_interval(few, expected, columns)), abs=1e-3
    )


@pytest.mark.parametrize(("trials", "seed"), [(FEW, 1), (FEW, 4), (MANY, 2)])
def test_the_ends_are_where_the_profile_has_dropped_by_half_a_chi_square(
    trials: tuple[float, ...], seed: int
) -> None:
    regression, columns = drawn(trials, seed), np.array([1, 2, 3])
    best = regression.fit().take(np.zeros(3, int))
    top = highest(regression)[1]
    for ends in profile_interval(regression, best, columns):
        for column, end in zip(columns.tolist(), ends.tolist(), strict=True):
            drop = top - highest(regression, column, end)[1]
            assert drop == pytest.approx(chi2.ppf(0.95, 1) / 2, abs=1e-3)


def test_the_interval_of_one_column_is_found_by_bisection_too() -> None:
    X, n, y = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([40.0, 12.0]), np.array([6.0, 7.0])
    regression = FirthRegression(X, y, n)
    top = highest(regression)[1]

    def beyond(at: float) -> float:
        return top - highest(regression, 1, at)[1] - float(chi2.ppf(0.95, 1)) / 2

    middle = regression.fit().coefficients[0, 1]
    low, high = profile_interval(regression, regression.fit(), np.array([1]))
    assert low[0] == pytest.approx(brentq(beyond, middle - 5, middle), abs=1e-3)
    assert high[0] == pytest.approx(brentq(beyond, middle, middle + 5), abs=1e-3)


def test_a_column_that_separates_has_a_finite_estimate_and_an_interval_wide_on_one_side() -> None:
    X = np.array([[1.0, 0.0], [1.0, 1.0]])
    regression = FirthRegression(X, np.array([0.0, 20.0]), np.array([500.0, 20.0]))
    best = regression.fit()
    estimate = best.coefficients[0, 1]
    (low,), (high,) = profile_interval(regression, best, np.array([1]))
    assert estimate == pytest.approx(np.log(500.5 * 20.5 / 0.25), abs=1e-4)
    assert low > np.log(300)  # at least nine in ten with it against three in a hundred without
    assert np.isfinite(high)
    assert high - estimate > 1.3 * (estimate - low)


def test_all_columns_separating_at_once_stay_finite() -> None:
    """A conjunction of four: the label is carried where all are present, and nowhere else."""
    X = np.array([[1, *(at >> place & 1 for place in range(4))] for at in range(16)], float)
    trials = np.where(X.sum(1) == 5, 50.0, 400.0)
    regression = FirthRegression(X, np.where(X.sum(1) == 5, 50.0, 0.0), trials)
    best = regression.fit().take(np.zeros(4, int))
    low, high = profile_interval(regression, best, np.arange(1, 5))
    assert np.isfinite([low, high]).all()
    assert best.coefficients[0, 1:] == pytest.approx(best.coefficients[0, 1], abs=1e-3)
    assert (low > np.log(50)).all()
    assert np.abs(regression.score(best)).max() < 1e-3


def hard() -> FirthRegression:
    """A rare label that a conjunction of three of seven columns decides: far from where the search begins."""
    rng = np.random.default_rng(0)
    columns = np.unique(rng.random((40, 7)) < 0.5, axis=0)
    columns = np.vstack([np.zeros((1, 7), bool), columns])
    trials = np.concatenate([[50_000.0], rng.integers(1, 30, len(columns) - 1)])
    hits = np.where(columns[:, :3].all(axis=1), trials, 0.0)
    return FirthRegression(np.column_stack([np.ones(len(columns)), columns]), hits, trials)


def test_steps_that_lower_the_value_are_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    best = hard().fit().value[0]
    monkeypatch.setattr(firth, "LONGEST_STEP", 1e3)
    found = hard().fit()
    assert found.value[0] == pytest.approx(best, abs=0.1)
    assert np.abs(hard().score(found)).max() < 1e-3


def test_with_many_sequences_wald_s_interval_is_the_profile_s() -> None:
    regression, columns = drawn(tuple(100 * share for share in MANY), seed=0), np.array([1, 2, 3])
    best = regression.fit().take(np.zeros(3, int))
    width = np.subtract(*wald_interval(best, columns))
    for end, other in zip(
        wald_interval(best, columns), profile_interval(regression, best, columns), strict=True
    ):
        assert np.abs((end - other) / width).max() < 0.02
