"""The score test against a likelihood-ratio test, and how often it finds what is not there."""

import numpy as np
import pytest

from eventcargo.models.linear.columns import Columns
from eventcargo.models.linear.lasso import Lasso, base_fit
from eventcargo.models.linear.score_test import ScoreTest
from eventcargo.statistics.log_loss import log_losses


def fitted(X: np.ndarray, y: np.ndarray, penalty: float = 1e-6) -> tuple[ScoreTest, float]:
    """The test given a fit on X, by default without penalty, and the loss of that fit."""
    columns = Columns.of(X)
    fit = Lasso(columns, y).fit(penalty, base_fit(X.shape[1], int(y.sum()), len(y)))
    return ScoreTest.of(columns, y, fit), float(log_losses(fit.logits(columns), y).sum())


def test_the_statistic_is_near_that_of_a_likelihood_ratio() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((4000, 3)) < 0.4).astype(float)
    y = (rng.random(4000) < 1 / (1 + np.exp(1 - X[:, 0] - 0.3 * X[:, 2]))).astype(float)
    test, loss = fitted(X[:, :2], y)
    _, larger = fitted(X, y)
    assert test.statistics(Columns.of(X[:, 2:]))[0] == pytest.approx(2 * (loss - larger), rel=0.05)


def test_a_column_that_the_fit_contains_has_no_score_left() -> None:
    rng = np.random.default_rng(1)
    X = (rng.random((1000, 2)) < 0.4).astype(float)
    y = X[:, 0] * (rng.random(1000) < 0.7)
    test, _ = fitted(X[:, :1], y, penalty=5.0)  # its penalty leaves a gradient
    assert test.statistics(Columns.of(X[:, :1])).max() < 0.5


def test_noise_is_found_about_as_often_as_the_level_says() -> None:
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(200):
        X = (rng.random((500, 11)) < 0.3).astype(float)
        y = (rng.random(500) < 0.2 + 0.5 * X[:, 0]).astype(float)
        found += fitted(X[:, :1], y)[0].finds(Columns.of(X[:, 1:]), 0.1)
    assert 4 <= found <= 36
