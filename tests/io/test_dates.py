import re
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from eventcargo import EventCargoWarning, ReadConfig
from eventcargo.io.dates import not_dates
from eventcargo.io.times import TimeColumn

BERLIN = ReadConfig(time_zone="Europe/Berlin")
NOON = datetime(2024, 5, 31, 12, tzinfo=UTC).timestamp()


def _read(array, reading):
    column = TimeColumn("time", reading=reading)
    parsed, bad = column.parse(array)
    assert bad == []
    column.keep(parsed)
    return column.finish().tolist(), column.kind


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("31.05.2024 12:00", "%d.%m.%Y %H:%M"),
        ("05/31/2024 12:00:00 PM", "%m/%d/%Y %I:%M:%S %p"),
        ("20240531T120000", "%Y%m%dT%H%M%S"),
        ("31.05.2024 14:00 +0200", "%d.%m.%Y %H:%M %z"),
    ],
)
def test_dates_of_a_format_are_read(text, form):
    assert _read(pa.array([text]), ReadConfig(time_format=form)) == ([NOON], "datetime")


def test_a_format_without_hours_means_midnight():
    seconds, _ = _read(pa.array(["31.05.2024"]), ReadConfig(time_format="%d.%m.%Y"))
    assert seconds == [NOON - 12 * 3600]


def test_whole_numbers_can_be_dates_of_a_format():
    seconds, _ = _read(pa.array([20240531]), ReadConfig(time_format="%Y%m%d"))
    assert seconds == [NOON - 12 * 3600]


def test_text_of_another_format_is_told_with_the_format():
    column = TimeColumn("time", reading=ReadConfig(time_format="%d.%m.%Y"))
    _, (bad,) = column.parse(pa.array(["31.05.2024", "2024-05-31", "30.02.2024"]))
    assert bad.message == "time is '2024-05-31'; not of the format time_format='%d.%m.%Y'"
    assert bad.offsets.tolist() == [1, 2]


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["2024-05-31T14:00:00"]),
        pa.array(["2024-05-31T12:00:00Z"]),
        pa.array([datetime(2024, 5, 31, 14)], pa.timestamp("s")),
        pa.array([datetime(2024, 5, 31, 12, tzinfo=UTC)], pa.timestamp("ns", "UTC")),
    ],
    ids=["text", "text with zone", "timestamp", "timestamp with zone"],
)
def test_dates_without_a_zone_are_read_in_the_zone_named(array):
    assert _read(array, BERLIN) == ([NOON], "datetime")


def test_a_format_and_a_zone_go_together():
    reading = ReadConfig(time_format="%d.%m.%Y %H:%M", time_zone="Europe/Berlin")
    assert _read(pa.array(["31.05.2024 14:00"]), reading)[0] == [NOON]


def test_a_time_that_clocks_skip_is_refused():
    _, (bad,) = TimeColumn("time", reading=BERLIN).parse(pa.array(["2024-03-31T01:30", "2024-03-31T02:30"]))
    assert re.match("time is '2024-03-31T02:30'; there is no such time in Europe/Berlin", bad.message)
    assert bad.offsets.tolist() == [1]


def test_a_time_that_clocks_show_twice_is_the_earlier_with_a_warning():
    column = TimeColumn("time", reading=BERLIN)
    column.keep(column.parse(pa.array(["2024-10-27T02:30", "2024-10-27T03:30"]))[0])
    with pytest.warns(EventCargoWarning, match="1 value of time can be two times in Europe/Berlin"):
        seconds = column.finish()
    assert np.diff(seconds).tolist() == [7200.0]


def test_all_that_is_no_date_is_found_and_nulls_are_not_counted():
    text = ["2024-05-31", "2024-02-30", None, "x", "2024-05-31T25:00", "2023-02-29", "2024-02-29 10:00Z"]
    wrong = not_dates(pa.array(text, pa.large_string()))
    assert np.flatnonzero(wrong).tolist() == [1, 3, 4, 5]


def test_the_first_value_that_is_a_time_decides_the_kind():
    column = TimeColumn("time")
    _, bad = column.parse(pa.array(["soon", "2024-05-31", "7"]))
    assert column.kind == "datetime"
    assert bad[0].message == "time is '7'; a number, but a date before; use one kind"
    assert [one.offsets.tolist() for one in bad] == [[2], [0]]
