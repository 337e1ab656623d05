import warnings
from datetime import datetime

import polars as pl
import pytest

from eventcargo import EventCargoWarning, read_events

BASE = {"sequence_id": ["a", "a"], "event": ["x", "y"]}


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("recorded_at", ["2024-05-31T12:00", "2024-05-30T12:00"]),
        ("recorded", ["2024-05-31", "2024-05-30"]),
        ("recorded", [datetime(2024, 5, 31), datetime(2024, 5, 30)]),
        ("Zeitstempel", ["31.05.2024 12:00", "30.05.2024 12:00"]),
        ("eventTime", [20.5, 10.5]),
        ("ts", ["20", "10"]),
        ("seen", ["2024-05-31", "2024-05-30", "unknown"]),
    ],
)
def test_another_column_that_looks_like_times_is_named_in_a_warning(column, values):
    frame = pl.DataFrame({"sequence_id": "a", "event": "x", column: values})
    with pytest.warns(
        EventCargoWarning, match=f"column '{column}' looks like times: name it with time="
    ) as caught:
        read_events(frame)
    assert caught[0].filename == __file__


def test_files_are_looked_at_too(tmp_path):
    (tmp_path / "e.csv").write_text("sequence_id,event,seen\na,x,2024-05-31\na,y\n")
    with (
        pytest.warns(EventCargoWarning, match=r"e\.csv has no column 'time', .*'seen'"),
        pytest.raises(ValueError, match="1 row: "),
    ):
        read_events(tmp_path / "e.csv")


def test_a_stream_is_judged_by_its_names_alone():
    frame = pl.DataFrame({**BASE, "timestamp": ["p", "q"]})
    with pytest.warns(EventCargoWarning, match="'timestamp' looks like times"):
        assert len(read_events(frame.to_arrow().to_reader())) == 1


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("note", ["p", "q"]),
        ("update", [1, 2]),
        ("mileage", [1.5, 2.5]),
        ("date", ["p", "q"]),
        ("ts", ["", ""]),
    ],
)
def test_other_columns_are_passed_in_silence(column, values):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_events(pl.DataFrame({**BASE, column: values}))
    assert [str(one.message) for one in caught] == []


def test_times_left_out_on_purpose_are_no_matter():
    data = read_events(pl.DataFrame({**BASE, "seen": ["2024-05-31", "2024-05-30"]}), time=None)
    assert (data.time_kind, data["a"].events) == ("order", ("x", "y"))


def test_values_asked_for_are_no_times():
    data = read_events(pl.DataFrame({**BASE, "dwell_time": [3, 4]}), values=["dwell_time"])
    assert data.value_names == ("dwell_time",)
