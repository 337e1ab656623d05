"""The L1-penalised quadratic against its optimality conditions, and rows that count as one."""

import numpy as np
import pytest
import scipy.sparse as sp

from eventcargo.models.linear.newton import Rows, lowest


@pytest.mark.parametrize("seed", range(60))
def test_the_lowest_point_balances_slopes_and_penalties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    A = rng.normal(size=(n + 5, n))
    H, linear, penalties = A.T @ A, 3 * rng.normal(size=n), rng.random(n) * 3
    start = np.where(rng.random(n) < 0.5, rng.normal(size=n), 0.0)
    w = lowest(H, linear, penalties, start)
    slope = H @ w + linear
    used = w != 0
    assert slope[used] == pytest.approx(-penalties[used] * np.sign(w[used]), abs=1e-6)
    assert (np.abs(slope[~used]) <= penalties[~used] + 1e-6).all()


def test_two_equal_columns_do_no_harm() -> None:
    H = np.array([[1.0, 1.0], [1.0, 1.0]])
    w = lowest(H, np.array([-2.0, -2.0]), np.ones(2), np.zeros(2))
    assert w.sum() == pytest.approx(1.0, abs=1e-6)


def test_rows_without_an_entry_count_as_one_unless_their_offsets_differ() -> None:
    X, y = sp.csc_array(np.array([[1.0]] + [[0.0]] * 9)), np.array([1.0, 1.0] + [0.0] * 8)
    one, all_rows = Rows.of(X, y, 0.5), Rows.of(X, y, np.full(10, 0.5))
    assert (len(one.counts), len(all_rows.counts)) == (2, 10)
    weights = np.array([2.0])
    values = [rows.loss(rows.logits(weights, -1.0)) for rows in (one, all_rows)]
    assert values[0] == pytest.approx(values[1])
