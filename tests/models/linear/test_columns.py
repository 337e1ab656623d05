"""Columns against ordinary matrices, also where they are read in many blocks."""

import numpy as np
import pytest

from eventcargo import ragged
from eventcargo.models.linear.columns import Columns

RNG = np.random.default_rng(0)
TABLE = (RNG.random((40, 9)) < 0.4).astype(float)


@pytest.fixture(params=["small blocks", "one block"])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Columns:
    if request.param == "small blocks":
        monkeypatch.setattr(ragged, "BLOCK", 20)  # of less than two columns
    return Columns.of(TABLE)


def test_products_are_those_of_an_ordinary_matrix(columns: Columns) -> None:
    weights, values = RNG.normal(size=9), RNG.normal(size=40)
    weights[[1, 4]] = 0.0
    assert np.allclose(columns.times(weights), TABLE @ weights)
    assert np.allclose(columns.transposed_times(values), TABLE.T @ values)
    assert columns.times(np.zeros(9)).tolist() == [0.0] * 40


@pytest.mark.parametrize("chosen", [[2, 3, 4], [7, 0, 3], []])
def test_columns_are_taken_in_the_order_given(columns: Columns, chosen: list[int]) -> None:
    some = np.array(chosen, np.int64)
    assert np.array_equal(columns.take(some).matrix(np.arange(len(some))).toarray(), TABLE[:, some])
    assert np.array_equal(columns.matrix(some).toarray(), TABLE[:, some])
    assert np.array_equal(columns.table(some), TABLE[:, some].T)


def test_rows_are_taken_in_their_order(columns: Columns) -> None:
    rows = np.array([0, 3, 4, 30])
    within = columns.within(rows)
    assert within.shape == (4, 9)
    assert np.array_equal(within.matrix(np.arange(9)).toarray(), TABLE[rows])
    assert columns.lengths.tolist() == TABLE.sum(axis=0).tolist()
