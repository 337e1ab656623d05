import re
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from eventcargo import EventCargoWarning
from eventcargo.io.times import TimeColumn

MOMENT = datetime(2024, 5, 31, 12, 30, tzinfo=UTC)


def _read(*arrays):
    column = TimeColumn("time")
    for array in arrays:
        parsed, bad = column.parse(array)
        assert bad == []
        column.keep(parsed)
    return column.finish().tolist(), column.kind


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1, 2]),
        pa.array([1, 2], pa.uint8()),
        pa.array([1.0, 2.0], pa.float32()),
        pa.array([Decimal("1.0"), Decimal("2.0")]),
        pa.array(["1", "2e0"]),
        pa.array(["1", "2"]).dictionary_encode(),
    ],
    ids=lambda array: str(array.type),
)
def test_numbers_of_every_type_stay_numbers(array):
    assert _read(array) == ([1.0, 2.0], "number")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_timestamps_become_seconds_since_1970_utc(unit, zone):
    array = pa.array([MOMENT], pa.timestamp(unit, "UTC")).cast(pa.timestamp(unit, zone))
    assert _read(array) == ([MOMENT.timestamp()], "datetime")


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_dates_are_midnight_utc(kind):
    assert _read(pa.array([date(1970, 1, 2)], kind)) == ([86400.0], "datetime")


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-31T12:30:00Z",
        "2024-05-31 12:30:00",
        "2024-05-31T12:30",
        "2024-05-31T14:30:00+02:00",
        "2024-05-31T14:30:00+0200",
        "2024-05-31T07:30:00.000-05:00",
    ],
)
def test_iso_dates_become_seconds_since_1970_utc(text):
    assert _read(pa.array([text])) == ([MOMENT.timestamp()], "datetime")


def test_dates_with_and_without_zone_may_stand_together():
    array = pa.array(["1970-01-02", "1970-01-02T01:00:00+01:00"])
    assert _read(array) == ([86400.0, 86400.0], "datetime")


def test_microseconds_are_kept_exactly():
    seconds, _ = _read(pa.array(["2199-12-31T23:59:59.123457"]))
    assert round(seconds[0] * 1e6) % 1_000_000 == 123457


def test_parts_below_a_microsecond_are_dropped_and_counted():
    column = TimeColumn("time")
    column.keep(column.parse(pa.array(["1970-01-01T00:00:01.0000019", "1970-01-01T00:00:01.000000000"]))[0])
    column.keep(column.parse(pa.array([1_001, 2_000], pa.timestamp("ns")))[0])
    with pytest.warns(EventCargoWarning, match="fractions of a microsecond from 2 times"):
        assert column.finish().tolist() == [1.000001, 1.0, 1e-6, 2e-6]


def test_dates_before_1970_are_dropped_towards_the_past():
    with pytest.warns(EventCargoWarning, match="from 1 time$"):
        assert _read(pa.array([-1], pa.timestamp("ns")))[0] == [-1e-6]


@pytest.mark.parametrize(
    ("array", "reason", "offset"),
    [
        (pa.array([1.0, None]), "time is null", 1),
        (pa.array([1.0, float("nan")]), "time is nan; every time must be a finite number", 1),
        (pa.array(["1", "2", "inf"]), "time is 'inf'", 2),
        (pa.array(["1", "2", "x3"]), "time is 'x3'; use numbers, or dates", 2),
        (pa.array(["yesterday"]), "time is 'yesterday'", 0),
        (pa.array(["1", ""]), "time is empty", 1),
        (pa.array(["1", "2024-05-31"]), "'2024-05-31'; a date, but a number before", 1),
        (pa.array(["2024-05-31", "2024-13-31"]), "time is '2024-13-31'; use numbers", 1),
        (pa.array(["2024-05-31", "7"]), "'7'; a number, but a date before", 1),
        (pa.array([5, 2**53 + 1]), "time is 9007199254740993; beyond", 1),
        (pa.array([-(2**60), 1]), f"time is -{2**60}; beyond", 0),
        (pa.array([True]), "time is True; .* not the type bool", 0),
    ],
)
def test_a_value_that_is_no_time_is_refused_with_its_offset(array, reason, offset):
    _, (bad,) = TimeColumn("time").parse(array)
    assert re.search(reason, bad.message)
    assert bad.offsets[0] == offset


def test_the_largest_exact_integers_are_taken():
    assert _read(pa.array([-(2**53), 2**53]))[0] == [-(2.0**53), 2.0**53]


def test_a_later_batch_of_another_kind_is_refused():
    column = TimeColumn("time")
    column.parse(pa.array([1.0]))
    _, (bad,) = column.parse(pa.array([0], pa.timestamp("us")))
    assert "a date, but a number before" in bad.message
    assert bad.offsets.tolist() == [0]


def test_null_is_not_a_number_where_nulls_are_allowed():
    column = TimeColumn("time", allow_null=True)
    column.keep(column.parse(pa.array([None, 1_000_000], pa.timestamp("us")))[0])
    column.keep(column.parse(pa.array([None], pa.null()))[0])
    column.keep(column.parse(pa.array([None, "1970-01-01T00:00:02"]))[0])
    np.testing.assert_array_equal(column.finish(), [np.nan, 1.0, np.nan, np.nan, 2.0])
