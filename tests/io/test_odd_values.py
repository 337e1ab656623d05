"""Values that other programs leave in tables: each row is told, or read rightly."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eventcargo import DataError, EventCargoWarning, ReadConfig, read_events


def _events(**columns):
    return pa.table({"sequence_id": ["a", "b"], "event": ["x", "y"], **columns})


TEXT = pa.string()


def _not_utf8(kind=TEXT):
    offsets = np.array([0, 1, 2], np.int32 if kind == pa.string() else np.int64)
    return pa.Array.from_buffers(kind, 2, [None, pa.py_buffer(offsets), pa.py_buffer(b"1\xff")])


@pytest.mark.parametrize("column", ["sequence_id", "event", "time", "mileage"])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_text_that_is_not_utf8_is_told_by_its_row(column, kind):
    columns = {"time": [1, 2], "mileage": [1.0, 2.0], column: _not_utf8(kind)}
    table = _events(
        **{name: values for name, values in columns.items() if name not in ("sequence_id", "event")}
    )
    if column in ("sequence_id", "event"):
        table = table.set_column(table.column_names.index(column), column, columns[column])
    with pytest.raises(DataError, match=rf"row 2: {column} is b'\\xff'; not valid UTF-8"):
        read_events(table, values=["mileage"])


def test_rows_that_are_not_utf8_can_be_dropped():
    with pytest.warns(UserWarning, match="dropped 1 row"):
        data = read_events(_events(time=_not_utf8()), reading=ReadConfig(on_bad_row="drop"))
    assert list(data.sequence_ids.to_pylist()) == ["a"]


def test_wide_labels_that_are_not_utf8_are_told():
    labels = pa.table({"sequence_id": ["a", "b"], "bad": _not_utf8()})
    with pytest.raises(DataError, match=r"row 2: bad is b'\\xff'; not valid UTF-8"):
        read_events(_events(), labels)


@pytest.mark.parametrize("kind", [np.float16, np.uint64, np.uint8, np.int8])
def test_flags_of_any_number_type_are_labels(kind):
    labels = pa.table({"sequence_id": ["a", "b"], "bad": np.array([1, 0], kind)})
    assert read_events(_events(), labels)["a"].labels == ("bad",)


def test_a_flag_too_large_for_signed_integers_is_told():
    labels = pa.table({"sequence_id": ["a", "b"], "bad": np.array([1, 2**64 - 1], np.uint64)})
    with pytest.raises(DataError, match="row 2: label 'bad' is 18446744073709551615"):
        read_events(_events(), labels)


def test_half_floats_are_times_and_values():
    halves = np.array([1.5, 2.5], np.float16)
    data = read_events(_events(time=halves, mileage=halves), values=["mileage"])
    assert (data["b"].times, data["b"].values) == ((2.5,), ((2.5,),))


@pytest.mark.parametrize("kind", [pa.timestamp("s"), pa.timestamp("ms", "UTC")])
@pytest.mark.parametrize("ticks", [2**62, -(2**62)])
def test_dates_beyond_the_year_9999_are_told(kind, ticks):
    moments = pa.array([0, ticks], pa.int64()).view(kind)
    with pytest.raises(DataError, match=rf"row 2: time is {ticks} as .*; use dates of the years 1 to 9999"):
        read_events(_events(time=moments))


def test_dates_within_these_years_are_exact():
    moments = pa.array([-62_135_596_800, 253_402_300_799]).cast(pa.timestamp("s"))
    data = read_events(_events(time=moments))
    assert (data["a"].times, data["b"].times) == ((-62_135_596_800.0,), (253_402_300_799.0,))


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (
            pa.Array.from_buffers(
                pa.string(), 2, [None, pa.py_buffer(np.array([0, 9**9, 2], np.int32)), pa.py_buffer(b"ab")]
            ),
            "is damaged",
        ),
        (
            pa.DictionaryArray.from_arrays(pa.array([0, 99], pa.int32()), pa.array(["a"]), safe=False),
            "is damaged: it has categories without a name",
        ),
    ],
    ids=["offsets", "categories"],
)
def test_arrays_that_point_outside_their_memory_are_refused(array, said):
    with pytest.raises(DataError, match=f"column 'event' of the events table {said}"):
        read_events(pa.table({"sequence_id": ["a", "b"], "event": array}))


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([b"\xff", "a"], dtype=object),
        pd.Series([10**5_000, 1], dtype=object),
        pd.Series(pd.interval_range(0, 2)),
        pd.Series([{1}, {2}], dtype=object),
    ],
    ids=["bytes", "digits", "intervals", "sets"],
)
def test_pandas_columns_that_are_no_names_are_refused(values):
    with pytest.raises(DataError, match="event"):
        read_events(pd.DataFrame({"sequence_id": ["a", "b"], "event": values}))


def test_a_damaged_page_of_parquet_is_noticed(tmp_path):
    path = tmp_path / "events.parquet"
    table = pa.table({"sequence_id": [f"s{i}" for i in range(500)], "event": ["x"] * 500})
    pq.write_table(table, path, compression="none", write_page_checksum=True, use_dictionary=False)
    content = bytearray(path.read_bytes())
    at = content.index(b"s77") + 1
    content[at] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"events\.parquet is damaged"):
        read_events(path)


def test_a_gzip_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "events.csv.gz"
    path.write_bytes(gzip.compress(b"sequence_id,event\n") + gzip.compress(b"a" * 2**24) * 20)
    with pytest.raises(DataError, match="unpacks to more than 250 times its size"):
        read_events(path)


def test_a_table_of_thousands_of_columns_is_looked_at_in_part(tmp_path):
    path = tmp_path / "events.jsonl"
    rows = "".join(f'{{"sequence_id": "a", "event": "b", "k{i}": 1}}\n' for i in range(20_000))
    path.write_text(rows)
    assert len(read_events(path)["a"]) == 20_000


def test_only_the_first_of_many_columns_are_named():
    table = pl.DataFrame({f"c{i}": [1] for i in range(1_000)})
    with pytest.raises(DataError, match="'c19' and 980 more") as refused:
        read_events(table)
    assert len(str(refused.value)) < 400


def test_values_that_are_lists_are_told_and_rows_without_are_kept():
    values = pl.Series([["a"], None])
    table = pl.DataFrame({"sequence_id": ["a", "b"], "event": ["x", "y"], "mileage": values})
    with (
        pytest.warns(EventCargoWarning, match="mileage is not recorded in any of 1 row"),
        pytest.raises(DataError, match="1 row: the events table, row 1: mileage is"),
    ):
        read_events(table, values=["mileage"])
