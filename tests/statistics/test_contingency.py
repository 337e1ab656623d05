"""The engine against plain counting."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from eventcargo.statistics import contingency
from eventcargo.statistics.contingency import Contingency


def counted(bits: np.ndarray, target: np.ndarray, condition: list[int]) -> dict[tuple, list[int]]:
    """For each (stratum, target value) in strata where the target varies: sequences with each column."""
    found = {}
    for stratum in itertools.product([0, 1], repeat=len(condition)):
        inside = (bits[:, condition] == stratum).all(axis=1)
        if 0 < target[inside].sum() < inside.sum():
            for value in (0, 1):
                found[stratum, value] = bits[inside & (target == value)].sum(axis=0).tolist()
    return found


def as_sets(tables: list) -> list[tuple]:
    """Rows of the tables in an order that does not depend on how strata are numbered."""
    present = np.concatenate([table.present for table in tables], axis=2)
    sizes = tables[0].sizes
    return sorted((*sizes[s].tolist(), *present[s].ravel().tolist()) for s in range(len(sizes)))


def expected_sets(bits: np.ndarray, target: np.ndarray, condition: list[int]) -> list[tuple]:
    found = counted(bits, target, condition)
    strata = {stratum for stratum, _ in found}
    rows = []
    for stratum in strata:
        inside = (bits[:, condition] == stratum).all(axis=1)
        sizes = [int((inside & (target == value)).sum()) for value in (0, 1)]
        rows.append((*sizes, *found[stratum, 0], *found[stratum, 1]))
    return sorted(rows)


@st.composite
def questions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, list[int]]:
    n_rows, n_columns = draw(st.integers(1, 30)), draw(st.integers(1, 6))
    density = draw(st.sampled_from([0.1, 0.5, 0.95]))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    bits = (rng.random((n_rows, n_columns)) < density).astype(int)
    target = (rng.random(n_rows) < density).astype(int)
    condition = draw(st.lists(st.integers(0, n_columns - 1), unique=True, max_size=4))
    return bits, target, condition


@given(questions())
@settings(max_examples=150, deadline=None)
def test_tables_are_the_plain_counts(question: tuple) -> None:
    bits, target, condition = question
    engine = Contingency(sp.csr_array(bits))
    tables = list(engine.tables(np.flatnonzero(target).astype(np.int32), condition))
    assert as_sets(tables) == expected_sets(bits, target, condition)


@given(questions())
@settings(max_examples=80, deadline=None)
def test_gathered_columns_give_the_same_tables_as_the_product(question: tuple) -> None:
    bits, target, condition = question
    engine = Contingency(sp.csr_array(bits))
    rows = np.flatnonzero(target).astype(np.int32)
    few = list(engine.tables(rows, condition, np.arange(bits.shape[1])))
    assert as_sets(few) == as_sets(list(engine.tables(rows, condition)))


@given(st.lists(questions(), min_size=1, max_size=1), st.data())
@settings(max_examples=50, deadline=None)
def test_many_questions_at_once_give_the_same_tables_as_one_by_one(first: list, data: st.DataObject) -> None:
    bits = first[0][0]
    engine = Contingency(sp.csr_array(bits))
    asked = []
    for _ in range(3):
        chosen = data.draw(st.lists(st.booleans(), min_size=len(bits), max_size=len(bits)))
        condition = data.draw(st.lists(st.integers(0, bits.shape[1] - 1), unique=True, max_size=3))
        asked.append((np.flatnonzero(chosen).astype(np.int32), condition))
    together = [as_sets(list(tables)) for tables in engine.tables_of_many(asked)]
    assert together == [as_sets(list(engine.tables(*question))) for question in asked]


def test_small_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    bits = (rng.random((50, 20)) < 0.3).astype(int)
    engine = Contingency(sp.csr_array(bits))
    target = np.flatnonzero(rng.random(50) < 0.4).astype(np.int32)
    whole = as_sets(list(engine.tables(target, [3, 7])))
    monkeypatch.setattr(contingency, "BLOCK_CELLS", 30)
    parts = list(engine.tables(target, [3, 7]))
    assert len(parts) > 3
    assert as_sets(parts) == whole


def test_a_block_holds_at_least_one_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contingency, "BLOCK_CELLS", 1)
    engine = Contingency(sp.csr_array(np.array([[1, 0], [0, 1], [1, 1]])))
    parts = list(engine.tables(np.array([0], np.int32), ()))
    assert [part.candidates.tolist() for part in parts] == [[0], [1]]


def test_candidates_are_tested_in_the_order_asked_for() -> None:
    bits = (np.random.default_rng(1).random((40, 100)) < 0.3).astype(int)
    engine = Contingency(sp.csr_array(bits))
    target = np.arange(0, 40, 3, dtype=np.int32)
    chosen = np.arange(99, 9, -1)
    (tables,) = engine.tables(target, (), chosen)
    assert tables.candidates.tolist() == chosen.tolist()
    assert tables.present[0, 1].tolist() == bits[target][:, chosen].sum(axis=0).tolist()


@given(questions(), st.data())
@settings(max_examples=80, deadline=None)
def test_local_counts_are_those_of_the_whole(question: tuple, data: st.DataObject) -> None:
    bits, target, _ = question
    chosen = data.draw(st.lists(st.integers(0, bits.shape[1] - 1), unique=True, min_size=1, max_size=4))
    places = data.draw(st.lists(st.integers(0, len(chosen) - 1), unique=True, max_size=3))
    rows = np.flatnonzero(target).astype(np.int32)
    local, local_rows = Contingency(sp.csr_array(bits)).local(rows, np.array(chosen))
    whole = Contingency(sp.csr_array(bits[:, chosen]))
    assert local.n_sequences == whole.n_sequences
    assert as_sets(list(local.tables(local_rows, places))) == as_sets(list(whole.tables(rows, places)))


@pytest.mark.parametrize("size", [31, 32, 33, 63, 64, 65, 100, 130])
def test_conditions_of_any_size_are_counted_as_row_by_row(size: int) -> None:
    rng = np.random.default_rng(size)
    table = rng.random((60, size + 2)) < np.where(np.arange(size + 2) < size - 3, 0.01, 0.5)
    target, candidate, condition = 0, 1, list(range(2, size + 2))
    engine = Contingency(sp.csr_array(table.astype(np.int8)))
    strata: dict[bytes, list[tuple[bool, bool]]] = {}
    for row in table:
        strata.setdefault(row[condition].tobytes(), []).append((row[candidate], row[target]))
    expected = sorted(
        sum(has for has, carries in rows if carries == value)
        for rows in strata.values()
        if len({carries for _, carries in rows}) == 2
        for value in (False, True)
    )
    (tables,) = engine.tables(engine.rows(target), condition, np.array([candidate]))
    assert sorted(tables.present[:, :, 0].ravel().tolist()) == expected


def test_sequences_without_a_column_are_not_mixed_with_the_first_stratum_of_a_large_condition() -> None:
    """Every stored sequence has the first column of 40; blank sequences have none, and stay apart."""
    table = np.zeros((6, 42), np.int8)
    table[:, 2] = 1
    table[:3, 0] = table[::2, 1] = 1
    engine = Contingency(sp.csr_array(table), n_blank=5)
    (tables,) = engine.tables(engine.rows(0), list(range(2, 42)), np.array([1]))
    assert tables.sizes.tolist() == [[3, 3]]
    assert tables.present[:, :, 0].tolist() == [[1, 2]]
