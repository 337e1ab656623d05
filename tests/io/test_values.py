import math
import re
from datetime import date
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from eventcargo import ConfigError, DataError, EventCargoWarning, EventDataset, EventSequence, read_events
from eventcargo.io.sources import Source
from eventcargo.io.values import LARGEST, ValueColumn, gather_values, open_values

DRIVEN = pl.DataFrame(
    {
        "sequence_id": ["car2", "car1", "car2", "car1"],
        "time": [5.0, 3.5, 1.0, 0.0],
        "event": ["U02", "U02", "P01", "P01"],
        "mileage": [900, 30, None, 10],
        "heat": [1.5, -4.0, 2.0, None],
    }
)
VALUES = ("heat", "mileage")


def _read(*arrays):
    column = ValueColumn("mileage")
    for array in arrays:
        parsed, bad = column.parse(array)
        assert bad == []
        column.keep(parsed)
    return column.finish()


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1, None, 3], pa.int8()),
        pa.array([1, None, 3], pa.uint64()),
        pa.array([1, None, 3], pa.float32()),
        pa.array([1.0, math.nan, 3.0]),
        pa.array([Decimal("1.0"), None, Decimal("3.0")]),
        pa.array(["1", None, "3.0"]),
        pa.array(["1", "", "3e0"], pa.large_string()),
        pa.array(["1", "nan", "3"], pa.string_view()),
        pa.array([1, None, 3]).dictionary_encode(),
    ],
    ids=lambda array: str(array.type),
)
def test_numbers_of_every_type_are_read_and_nothing_is_not_recorded(array):
    np.testing.assert_array_equal(_read(array), [1.0, math.nan, 3.0])


def test_batches_are_read_one_after_the_other():
    parts = pa.array([1, 2]), pa.nulls(2), pa.array(["", "7.5"])
    np.testing.assert_array_equal(_read(*parts), [1, 2, math.nan, math.nan, math.nan, 7.5])


def test_all_that_is_not_recorded_has_the_same_bytes():
    other = np.array([0x7FF8000000000123], np.uint64).view(np.float64)
    assert _read(pa.array(other)).tobytes() == _read(pa.nulls(1)).tobytes()


@pytest.mark.parametrize(
    ("array", "message", "offset"),
    [
        (pa.array(["1", "", "12 km"]), r"mileage is '12 km'; use a number, or nothing", 2),
        (pa.array(["n/a"]), "mileage is 'n/a'", 0),
        (pa.array([None, True]), "mileage is True; use numbers, not the type bool", 1),
        (pa.array([date(2024, 5, 31)]), r"datetime\.date\(2024, 5, 31\); .* not the type date32", 0),
        (pa.array([1.0, None, math.inf]), "mileage is inf; use finite numbers", 2),
        (pa.array(["1", "-inf"]), "mileage is '-inf'; use finite numbers", 1),
        (pa.array([0.0, 1e39]), r"mileage is 1e\+39; use finite numbers up to 3\.4e\+38", 1),
        (pa.array([0, -(2**53) - 1]), "mileage is -9007199254740993; beyond", 1),
    ],
)
def test_what_is_no_number_is_refused_with_its_value_and_offset(array, message, offset):
    _, (bad,) = ValueColumn("mileage").parse(array)
    assert re.search(message, bad.message)
    assert bad.offsets[0] == offset


def test_the_largest_number_of_float32_is_allowed():
    assert _read(pa.array([LARGEST, -LARGEST])).tolist() == [LARGEST, -LARGEST]


def test_columns_stand_side_by_side_in_the_order_asked_for():
    columns = [ValueColumn("mileage"), ValueColumn("temperature")]
    columns[0].keep(columns[0].parse(pa.array([1, 2, 3]))[0])
    columns[1].keep(columns[1].parse(pa.array([10, 20, 30]))[0])
    assert gather_values(columns, np.array([2, 0, 1]), 3).tolist() == [[3, 30], [1, 10], [2, 20]]


def test_no_columns_are_a_table_without_columns():
    assert gather_values([], slice(None), 3).shape == (3, 0)


def test_a_column_without_any_value_is_named_in_a_warning():
    column = ValueColumn("mileage")
    column.keep(column.parse(pa.nulls(4))[0])
    with pytest.warns(EventCargoWarning, match="mileage is not recorded in any of 4 rows"):
        gather_values([column], slice(None), 4)


@pytest.mark.parametrize("name", ["sequence_id", "when"])
def test_a_column_with_another_use_is_refused_by_name(name):
    with pytest.raises(ConfigError, match=f"'{name}' is already the column of ids, times or events"):
        open_values([], [name], ["sequence_id", "when"])


def test_a_column_that_one_source_lacks_is_refused_by_name():
    sources = [Source(place, columns, iter) for place, columns in (("a", ["mileage"]), ("b", ["km"]))]
    with pytest.raises(DataError, match="b has no column 'mileage', only 'km'"):
        open_values(sources, ["mileage"], [])


def _driven():
    nothing = float("nan")
    return EventDataset.from_sequences(
        [
            EventSequence("car1", ("P01", "U02"), (0.0, 3.5), (), ((nothing, 10.0), (-4.0, 30.0))),
            EventSequence("car2", ("P01", "U02"), (1.0, 5.0), (), ((2.0, nothing), (1.5, 900.0))),
        ],
        value_names=VALUES,
    )


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_values_of_every_format_stay_with_their_events(tmp_path, assert_equal, ending):
    path = tmp_path / f"a{ending}"
    {".parquet": DRIVEN.write_parquet, ".csv": DRIVEN.write_csv, ".jsonl": DRIVEN.write_ndjson}[ending](path)
    assert_equal(read_events(path, values=VALUES), _driven())


@pytest.mark.parametrize("convert", [pl.DataFrame.to_pandas, pl.DataFrame.lazy, pl.DataFrame.to_arrow])
def test_values_of_every_kind_of_frame_stay_with_their_events(assert_equal, convert):
    assert_equal(read_events(convert(DRIVEN), values=VALUES), _driven())


def test_values_not_asked_for_are_not_read(assert_equal):
    assert_equal(read_events(DRIVEN), read_events(DRIVEN.drop("mileage", "heat")))


def test_values_of_sorted_rows_stay_as_they_are(assert_equal):
    assert_equal(read_events(DRIVEN.sort("sequence_id", "time"), values=VALUES), _driven())


def test_events_at_the_same_time_keep_their_own_values():
    frame = pl.DataFrame(
        {"sequence_id": ["b", "a", "a", "a"], "time": [0, 1, 1, 0], "event": ["w", "x", "y", "z"]}
    ).with_columns(mileage=pl.Series([4, 1, 2, 3]))
    data = read_events(frame, values=["mileage"])
    assert (data["a"].events, data["a"].values) == (("z", "x", "y"), ((3.0,), (1.0,), (2.0,)))


def test_values_of_rows_without_times_stay_with_their_events():
    frame = DRIVEN.drop("time")
    assert read_events(frame, values=["mileage"])["car1"].values == ((30.0,), (10.0,))


def test_a_value_that_is_no_number_is_refused_with_file_and_row(tmp_path):
    (tmp_path / "a.csv").write_text("sequence_id,event,mileage\ns,x,1\ns,y,many\n")
    with pytest.raises(DataError, match=r"a\.csv, row 2: mileage is 'many'; use a number"):
        read_events(tmp_path / "a.csv", values=["mileage"])


def test_a_missing_value_column_is_refused_with_those_there_are():
    with pytest.raises(DataError, match=r"no column 'odometer', only .*'mileage'"):
        read_events(DRIVEN, values=["odometer"])


def test_a_column_read_otherwise_cannot_be_a_value():
    with pytest.raises(ConfigError, match="'time' is already the column of ids, times or events"):
        read_events(DRIVEN, values=["time"])


def test_one_text_in_place_of_a_list_of_columns_is_refused():
    with pytest.raises(ConfigError, match="'mileage', one text"):
        read_events(DRIVEN, values="mileage")


def test_a_column_without_any_value_is_told_to_the_caller():
    with pytest.warns(EventCargoWarning, match="mileage is not recorded in any of 4 rows") as caught:
        read_events(DRIVEN.with_columns(mileage=pl.lit(None)), values=["mileage"])
    assert caught[0].filename == __file__


def test_values_of_pairs_are_refused():
    with pytest.raises(ConfigError, match=r"values=\['mileage'\]: pairs have no columns"):
        read_events([(["x"], [])], values=["mileage"])


def test_a_saved_data_set_brings_its_values(tmp_path, assert_equal):
    _driven().save(tmp_path / "d")
    assert_equal(read_events(tmp_path / "d"), _driven())
    assert_equal(read_events(tmp_path / "d", values=VALUES), _driven())


def test_other_values_than_a_saved_data_set_holds_are_refused(tmp_path):
    _driven().save(tmp_path / "d")
    with pytest.raises(ConfigError, match=r"already holds its values, \['heat', 'mileage'\], not \['km'\]"):
        read_events(tmp_path / "d", values=["km"])
