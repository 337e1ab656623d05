from datetime import datetime

import polars as pl
import pytest

from eventcargo import DataError, EventCargoWarning, read_meds


def _day(day, hour=0):
    return datetime(2024, 1, day, hour)


def test_static_events_come_first_at_the_time_of_the_first_event(root):
    first = read_meds(root)["10"]
    assert first.events == ("SEX//F", "A", "B", "C")
    assert first.times[0] == first.times[1]


def test_static_events_can_be_dropped_with_a_count(root):
    with pytest.warns(EventCargoWarning, match="dropped 1 static event ") as caught:
        data = read_meds(root, static="drop")
    assert data["10"].events == ("A", "B", "C")
    assert caught[0].filename == __file__


def test_dropped_nanoseconds_are_counted_in_a_warning(tmp_path):
    (tmp_path / "data").mkdir()
    times = pl.Series("time", [1], dtype=pl.Datetime("ns"))
    pl.DataFrame({"subject_id": [1], "code": ["A"]}).with_columns(times).write_parquet(
        tmp_path / "data" / "0.parquet"
    )
    with pytest.warns(EventCargoWarning, match="fractions of a microsecond from 1 time") as caught:
        read_meds(tmp_path)
    assert caught[0].filename == __file__


def test_shards_are_read_together(tmp_path, write_data, meds_rows):
    write_data(tmp_path, meds_rows[:4], "data/train/0.parquet")
    write_data(tmp_path, meds_rows[4:], "data/held_out/0.parquet")
    assert len(read_meds(tmp_path)) == 3


def test_data_without_codes_are_refused(tmp_path):
    (tmp_path / "data").mkdir()
    pl.DataFrame({"subject_id": [1], "time": [_day(1)]}).write_parquet(tmp_path / "data" / "0.parquet")
    with pytest.raises(DataError, match=r"0\.parquet has no column 'code'"):
        read_meds(tmp_path)


def test_a_folder_without_events_is_refused(tmp_path):
    (tmp_path / "data").mkdir()
    with pytest.raises(DataError, match=r"data holds no events: 0 Parquet files"):
        read_meds(tmp_path)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (
            {"subject_id": ["1"], "time": [_day(1)], "code": ["A"]},
            "row 1: subject_id is '1'; the column has type",
        ),
        ({"subject_id": [None], "time": [_day(1)], "code": ["A"]}, "row 1: subject_id is null"),
        ({"subject_id": [1], "time": [_day(1)], "code": [None]}, "row 1: code is null"),
        ({"subject_id": [1], "time": [3.0], "code": ["A"]}, "time is a number; MEDS needs timestamps"),
    ],
)
def test_columns_of_another_type_are_refused(tmp_path, columns, reason):
    (tmp_path / "data").mkdir()
    kinds = {"subject_id": pl.Int64} if columns["subject_id"] == [None] else {}
    pl.DataFrame(columns, schema_overrides=kinds).write_parquet(tmp_path / "data" / "0.parquet")
    with pytest.raises(DataError, match=rf"0\.parquet.*{reason}"):
        read_meds(tmp_path)
