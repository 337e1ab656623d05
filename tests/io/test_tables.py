import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventcargo import ConfigError, DataError, EventCargoWarning, EventDataset, EventSequence, read_events

ROWS = pl.DataFrame(
    {
        "sequence_id": ["car2", "car1", "car2", "car1"],
        "time": [5.0, 3.5, 1.0, 0.0],
        "event": ["U02", "U02", "P01", "P01"],
    }
)
LABELS = pl.DataFrame({"sequence_id": ["car1"], "label": ["brake"]})
EXPECTED = EventDataset.from_sequences(
    [
        EventSequence("car1", ("P01", "U02"), (0.0, 3.5), ("brake",)),
        EventSequence("car2", ("P01", "U02"), (1.0, 5.0), ()),
    ]
)


def _write(frame, path):
    writers = {".parquet": frame.write_parquet, ".csv": frame.write_csv, ".jsonl": frame.write_ndjson}
    writers[path.suffix](path)
    return path


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_a_file_of_every_format_gives_the_same_data(tmp_path, assert_equal, ending):
    events = _write(ROWS, tmp_path / f"a{ending}")
    labels = _write(LABELS, tmp_path / f"b{ending}")
    assert_equal(read_events(str(events), labels), EXPECTED)


@pytest.mark.parametrize("convert", [pl.DataFrame.to_pandas, pl.DataFrame.lazy, pl.DataFrame.to_arrow])
def test_a_frame_of_every_kind_gives_the_same_data(assert_equal, convert):
    assert_equal(read_events(convert(ROWS), convert(LABELS)), EXPECTED)


def test_pandas_categoricals_are_names(assert_equal):
    frame = ROWS.to_pandas().astype({"event": "category", "sequence_id": "category"})
    assert_equal(read_events(frame, LABELS), EXPECTED)


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["unused", "U02", "P01"])], ids=str)
def test_polars_categories_are_names(assert_equal, kind):
    assert_equal(read_events(ROWS.with_columns(pl.col("event").cast(kind)), LABELS), EXPECTED)


def test_a_folder_with_events_and_labels_gives_both(tmp_path, assert_equal):
    _write(ROWS, tmp_path / "events.csv")
    _write(LABELS, tmp_path / "labels.parquet")
    (tmp_path / "meta.json").write_text("{}")
    assert_equal(read_events(tmp_path), EXPECTED)


def test_labels_given_win_over_those_in_the_folder(tmp_path):
    _write(ROWS, tmp_path / "events.csv")
    _write(LABELS, tmp_path / "labels.csv")
    other = pl.DataFrame({"sequence_id": ["car2"], "label": ["fuel"]})
    assert read_events(tmp_path, other).label_names == ("fuel",)


def test_a_saved_data_set_is_loaded(tmp_path, assert_equal):
    EXPECTED.save(tmp_path / "saved")
    assert_equal(read_events(tmp_path / "saved"), EXPECTED)


def test_labels_for_a_saved_data_set_are_refused(tmp_path):
    EXPECTED.save(tmp_path / "saved")
    with pytest.raises(ConfigError, match="already holds its labels"):
        read_events(tmp_path / "saved", LABELS)


def test_columns_are_mapped_by_keywords(assert_equal):
    events = ROWS.rename({"sequence_id": "vin", "time": "km", "event": "code"})
    labels = LABELS.rename({"sequence_id": "vin", "label": "part"})
    data = read_events(events, labels, sequence_id="vin", time="km", event="code", label="part")
    assert_equal(data, EXPECTED)


def test_one_column_for_two_meanings_is_refused():
    with pytest.raises(ConfigError, match="event='time': the columns must differ"):
        read_events(ROWS, event="time")


def test_events_at_the_same_time_keep_their_order():
    frame = pl.DataFrame({"sequence_id": ["a"] * 4, "time": [1, 0, 1, 0], "event": ["w", "x", "y", "z"]})
    assert read_events(frame)["a"].events == ("x", "z", "w", "y")


def test_ties_follow_the_order_of_shards(tmp_path):
    for name, event in (("2.csv", "first"), ("10.csv", "before")):
        _write(pl.DataFrame({"sequence_id": ["a"], "time": [0], "event": [event]}), tmp_path / name)
    assert read_events(tmp_path)["a"].events == ("before", "first")


def test_without_times_the_order_of_rows_counts():
    data = read_events(ROWS.drop("time"))
    assert data.time_kind == "order"
    assert data["car2"] == EventSequence("car2", ("U02", "P01"), (0.0, 1.0), ())


def test_times_can_be_ignored():
    assert read_events(ROWS, time=None)["car2"].events == ("U02", "P01")


def test_a_time_column_asked_for_must_be_there():
    with pytest.raises(DataError, match=r"no column 'when', .* name the right one with time"):
        read_events(ROWS.drop("time"), time="when")


def test_a_time_column_in_some_shards_only_is_refused(tmp_path):
    _write(ROWS, tmp_path / "1.csv")
    _write(ROWS.drop("time"), tmp_path / "2.csv")
    with pytest.raises(DataError, match=r"2\.csv has no column 'time'"):
        read_events(tmp_path)


def test_dates_are_seconds_since_1970(tmp_path):
    (tmp_path / "a.csv").write_text("sequence_id,time,event\na,1970-01-01T01:00:00+01:00,x\n")
    data = read_events(tmp_path / "a.csv")
    assert (data.time_kind, data["a"].times) == ("datetime", (0.0,))


def test_dropped_nanoseconds_are_counted_in_a_warning():
    times = pa.array([1, 2_000, 3], pa.timestamp("ns"))
    table = pa.table({"sequence_id": ["a"] * 3, "time": times, "event": ["x"] * 3})
    with pytest.warns(EventCargoWarning, match="fractions of a microsecond from 2 times") as caught:
        read_events(table)
    assert caught[0].filename == __file__


def test_integer_ids_and_events_become_strings():
    data = read_events(pl.DataFrame({"sequence_id": [10, 9], "event": [1, 2]}))
    assert (data.sequence_ids.to_pylist(), data.event_names) == (["10", "9"], ("1", "2"))


def test_blanks_around_names_are_kept(tmp_path):
    (tmp_path / "a.csv").write_text("sequence_id,event\n a , x\na,x\n")
    data = read_events(tmp_path / "a.csv")
    assert (data.sequence_ids.to_pylist(), data.event_names) == ([" a ", "a"], (" x", "x"))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (",2,x", "sequence_id is empty"),
        ("a,2,", "event is empty"),
        ("a,soon,x", "time is 'soon'"),
        ("a,2024-05-31,x", "time is '2024-05-31'; a date, but a number before; use one kind"),
        ("a,nan,x", "time is 'nan'; every time must be a finite number"),
    ],
)
def test_a_bad_row_of_a_file_is_refused_with_file_and_row(tmp_path, line, reason):
    (tmp_path / "a.csv").write_text(f"sequence_id,time,event\na,1,x\n{line}\na,3,x\n")
    with pytest.raises(DataError, match=rf"a\.csv, row 2: {reason}"):
        read_events(tmp_path / "a.csv")


@pytest.mark.parametrize("column", ["sequence_id", "time", "event"])
def test_a_null_is_refused_with_its_row(column):
    frame = ROWS.with_columns(pl.Series(column, [*ROWS[column][:2], None, ROWS[column][3]]))
    with pytest.raises(DataError, match=f"the events table, row 3: {column} is null"):
        read_events(frame)


def test_a_float_id_is_refused_with_advice():
    frame = pd.DataFrame({"sequence_id": [1, None], "event": ["x", "y"]})
    with pytest.raises(DataError, match=r"row 1: sequence_id is 1\.0, .* fill the gaps"):
        read_events(frame)


def test_a_missing_event_column_is_refused():
    with pytest.raises(DataError, match="no column 'event', only 'sequence_id', 'time'"):
        read_events(ROWS.drop("event"))


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_table_without_rows_is_refused(tmp_path, ending):
    path = _write(ROWS.clear(), tmp_path / f"a{ending}")
    with pytest.raises(DataError, match=rf"a\{ending} is empty"):
        read_events(path)


def test_an_unknown_choice_for_unknown_labels_is_refused():
    with pytest.raises(ConfigError, match="unknown_labels='keep': use refuse or drop"):
        read_events(ROWS, unknown_labels="keep")


@st.composite
def _tables(draw):
    """Rows with distinct times, shuffled, and cut into shards."""
    n = draw(st.integers(1, 25))
    names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=4)
    pool = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    rows = [(draw(st.sampled_from(pool)), float(i), draw(st.sampled_from(pool))) for i in range(n)]
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=3)))
    return rows, draw(st.permutations(rows)), cuts


@settings(max_examples=40, deadline=None)
@given(_tables(), st.sampled_from([".parquet", ".csv", ".jsonl"]))
def test_the_order_of_rows_and_their_split_over_shards_change_nothing(assert_equal, drawn, ending):
    rows, shuffled, cuts = drawn
    schema = {"sequence_id": pl.String, "time": pl.Float64, "event": pl.String}
    with tempfile.TemporaryDirectory() as folder:
        for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(rows)], strict=True)):
            if start < stop:
                part = pl.DataFrame(shuffled[start:stop], schema=schema, orient="row")
                _write(part, Path(folder) / f"{number}{ending}")
        assert_equal(read_events(folder), read_events(pl.DataFrame(rows, schema=schema, orient="row")))


def test_large_shuffled_data_equal_a_sort_by_hand(tmp_path):
    rng = np.random.default_rng(0)
    n = 300_000
    frame = pl.DataFrame(
        {"sequence_id": rng.integers(0, 900, n), "time": rng.random(n), "event": rng.integers(0, 50, n)}
    ).cast({"sequence_id": pl.String, "event": pl.String})
    pq.write_table(frame.to_arrow(), tmp_path / "a.parquet", row_group_size=70_000)
    data = read_events(tmp_path / "a.parquet")
    by_hand = frame.sort("sequence_id", "time")
    np.testing.assert_array_equal(data.times, by_hand["time"])
    assert [data.event_names[i] for i in data.events] == by_hand["event"].to_list()
