import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from eventcargo.io.cleaning import distinct_rows, normal_name, normalise


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        (" p0a1f ", "P0A1F"),
        ("Pump\t\n failed", "PUMP FAILED"),
        ("J44.1", "J44.1"),
        ("straße", "STRASSE"),
        ("\u00a0x\u2003y", "X Y"),
        (7, "7"),
        (None, None),
    ],
)
def test_names_are_trimmed_and_in_upper_case(name, normal):
    assert pl.select(normal_name(pl.lit(name)).alias("name"))["name"].to_list() == [normal]


def test_codes_follow_their_names_and_names_are_sorted_and_distinct():
    names = ["b ", "A", "B", "a", " c"]
    codes = np.array([0, 1, 2, 3, 4, 0], np.int32)
    codes, joined, n_joined = normalise(codes, pa.array(names, pa.large_string()))
    assert [joined[int(code)].as_py() for code in codes] == ["B", "A", "B", "A", "C", "B"]
    assert (joined.to_pylist(), n_joined) == (["A", "B", "C"], 2)


def test_rows_that_differ_in_any_column_stay():
    sequences = np.array([0, 0, 1, 0, 0, 0], np.int32)
    times = np.array([1.0, 1.0, 1.0, 2.0, 1.0, 1.0])
    events = np.array([3, 3, 3, 3, 4, 3], np.int32)
    values = np.array([[1.0], [1.0], [1.0], [1.0], [1.0], [np.nan]])
    rows, n_repeated = distinct_rows(sequences, times, events, values)
    assert (rows.tolist(), n_repeated) == ([0, 2, 3, 4, 5], 1)


def test_rows_without_values_are_compared_by_the_rest():
    column = np.array([2, 2, 2], np.int32)
    rows, n_repeated = distinct_rows(column, np.array([0.0, 0.0, 0.0]), column, np.zeros((3, 0)))
    assert (rows.tolist(), n_repeated) == ([0], 2)
