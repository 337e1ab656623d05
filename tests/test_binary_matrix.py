"""BinaryMatrix against ordinary matrices, in blocks so small that every path is taken."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from eventcargo import binary_matrix, ragged, scratch
from eventcargo.binary_matrix import BinaryMatrix

SHAPE = 60, 13


@pytest.fixture(autouse=True, params=["small blocks, on disk", "one block, in memory"])
def blocks_of(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    binary_matrix._ones.cache_clear()
    if request.param == "small blocks, on disk":
        for module in (ragged, binary_matrix):
            monkeypatch.setattr(module, "BLOCK", 17)
        monkeypatch.setattr(scratch, "MOST_IN_MEMORY", 16)
    yield
    binary_matrix._ones.cache_clear()


@pytest.fixture
def table() -> np.ndarray:
    table = (np.random.default_rng(0).random(SHAPE) < 0.3).astype(int)
    table[5], table[:, 3] = 0, 0
    return table


def dense(matrix: BinaryMatrix) -> np.ndarray:
    return np.asarray(matrix.sparse().toarray())


def test_parts_are_the_whole(table: np.ndarray) -> None:
    matrix = BinaryMatrix.of(table)
    assert np.array_equal(np.concatenate([part.toarray() for part in matrix.parts()]), table)
    assert np.array_equal(dense(BinaryMatrix.joined(matrix.parts(), SHAPE[1])), table)


def test_a_zero_that_is_stored_is_none() -> None:
    matrix = sp.csr_array(np.array([[3, 1], [0, 1]]))
    matrix.data[0] = 0
    assert BinaryMatrix.of(matrix).sparse().toarray().tolist() == [[0, 1], [0, 1]]
    assert matrix.nnz == 3  # the given matrix is as it was


def test_a_matrix_knows_its_columns(table: np.ndarray) -> None:
    matrix = BinaryMatrix.of(table)
    assert np.array_equal(dense(matrix.transposed), table.T)
    assert matrix.totals.tolist() == table.sum(axis=0).tolist()
    for row in matrix.transposed.numbers, matrix.numbers:
        assert row.dtype == np.int32


@pytest.mark.parametrize("long_rows", [False, True])
def test_rows_are_taken_in_any_order_and_more_than_once(
    table: np.ndarray, long_rows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary_matrix, "LONG", 0 if long_rows else 50)
    matrix, rows = BinaryMatrix.of(table), np.random.default_rng(1).integers(0, SHAPE[0], 40)
    assert np.array_equal(dense(matrix.take(rows)), table[rows])
    assert matrix.tally(rows).tolist() == table[rows].sum(axis=0).tolist()
    parts = list(matrix.parts_of(rows))
    assert np.array_equal(np.concatenate([part.toarray() for _, _, part in parts]), table[rows])
    assert [first for first, _, _ in parts] == [0, *(end for _, end, _ in parts)][:-1]
    assert np.array_equal(dense(matrix.run(7, 50)), table[7:50])


def test_columns_are_kept_and_put_side_by_side(table: np.ndarray) -> None:
    matrix, columns = BinaryMatrix.of(table), np.array([0, 2, 3, 11])
    kept = matrix.keep(columns)
    assert np.array_equal(dense(kept), table[:, columns])
    both = BinaryMatrix.beside([matrix, kept, matrix.keep(columns[:0])])
    assert np.array_equal(dense(both), np.concatenate([table, table[:, columns]], axis=1))
    assert all((np.diff(both.row(row)) > 0).all() for row in range(SHAPE[0]))


def test_rows_with_a_number_are_united(table: np.ndarray) -> None:
    number = np.random.default_rng(2).integers(0, 9, SHAPE[0])
    expected = np.stack([table[number == one].any(axis=0) for one in range(10)])
    assert np.array_equal(dense(BinaryMatrix.of(table).united(number, 10)) > 0, expected)


def test_a_saved_matrix_is_mapped(table: np.ndarray, tmp_path: Path) -> None:
    matrix = BinaryMatrix.of(table)
    matrix.save(tmp_path / "matrix", with_transposed=True)
    matrix.save_transposed(tmp_path / "transposed")
    found = BinaryMatrix.load(tmp_path / "matrix")
    assert np.array_equal(dense(found), table)
    assert np.array_equal(dense(found.transposed), table.T)
    assert np.array_equal(dense(BinaryMatrix.load(tmp_path / "transposed")), table.T)
    assert scratch.is_mapped(found.numbers)
    assert scratch.is_mapped(found.transposed.numbers)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (4, 2)])
def test_a_matrix_without_entries_is_saved_and_read(shape: tuple[int, int], tmp_path: Path) -> None:
    empty = BinaryMatrix.of(sp.csr_array(shape))
    empty.save(tmp_path / "matrix", with_transposed=True)
    found = BinaryMatrix.load(tmp_path / "matrix")
    assert (found.shape, found.transposed.shape) == (shape, shape[::-1])
    assert len(found.numbers) == 0
    assert dense(BinaryMatrix.beside([found, found])).shape == (shape[0], 2 * shape[1])


def test_a_matrix_by_columns_has_them(table: np.ndarray) -> None:
    columns = [np.flatnonzero(column) for column in table.T]
    assert np.array_equal(dense(BinaryMatrix.of_columns(columns, SHAPE[0])), table)
