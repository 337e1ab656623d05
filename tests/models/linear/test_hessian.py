"""Hessians against the plain product, and how they are kept."""

import numpy as np
import pytest
import scipy.sparse as sp

from eventcargo.models.linear import hessian
from eventcargo.models.linear.columns import Columns
from eventcargo.models.linear.hessian import STALE, GrowingHessian, Hessian, is_dense


def product(X: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    return X.T @ (curvature[:, None] * X)


@pytest.mark.parametrize("share", [0.005, 0.5])
def test_both_ways_give_the_product(share: float) -> None:
    rng = np.random.default_rng(0)
    X, curvature = (rng.random((500, 12)) < share).astype(float), rng.random(500)
    assert is_dense(sp.csc_array(X)) == (share > 0.1)
    assert Hessian(sp.csc_array(X)).at(curvature)[0] == pytest.approx(
        product(X, curvature), rel=1e-5, abs=1e-5
    )


@pytest.mark.parametrize("share", [0.005, 0.5])
def test_blocks_of_rows_add_up(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hessian, "BLOCK", 40)
    rng = np.random.default_rng(2)
    X, curvature = (rng.random((2000, 12)) < share).astype(float), rng.random(2000)
    expected = pytest.approx(product(X, curvature), rel=1e-5, abs=1e-5)
    assert Hessian(sp.csc_array(X)).at(curvature)[0] == expected
    growing = GrowingHessian(Columns.of(X))
    for columns in ([3, 5], range(12)):
        growing.choose(np.array(columns))
        growing.at(curvature)
    assert growing.at(curvature)[0] == expected


def test_columns_may_join_leave_and_come_back_in_any_order() -> None:
    rng = np.random.default_rng(1)
    X, curvature = (rng.random((300, 9)) < 0.4).astype(float), rng.random(300)
    growing = GrowingHessian(Columns.of(X))
    for columns in ([4], [1, 4, 7], [0, 7], [0, 1, 2, 3, 4, 5, 6, 7, 8], [2, 8]):
        growing.choose(np.array(columns))
        expected = product(X[:, columns], curvature)
        assert growing.at(curvature)[0] == pytest.approx(expected, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("made", [Hessian, GrowingHessian])
def test_the_product_is_kept_while_the_curvature_hardly_changes(made: type) -> None:
    curvature = np.ones(4)
    hessian = made(Columns.of(np.eye(4)) if made is GrowingHessian else sp.csc_array(np.eye(4)))
    if made is GrowingHessian:
        hessian.choose(np.arange(4))
    hessian.at(curvature)
    assert hessian.at(curvature * (1 + STALE / 2))[1] is curvature
    assert hessian.at(curvature * (1 + 2 * STALE))[0][0, 0] == pytest.approx(1 + 2 * STALE)
    hessian.forget()
    assert hessian.at(curvature)[0][0, 0] == pytest.approx(1.0)
