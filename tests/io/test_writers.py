import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventcargo import ConfigError, DataError, EventDataset, EventSequence, read_events, write_events
from eventcargo.io import writers

FORMATS = ["parquet", "csv", "jsonl"]


@pytest.fixture
def hostile(hostile_names):
    """Sequences, events and labels with names that formats tend to spoil."""
    names = [*hostile_names, "nul\0byte"]
    times = tuple(float(i) for i in range(len(names)))
    return EventDataset.from_sequences(
        [EventSequence(name, tuple(names), times, tuple(names)) for name in names]
    )


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_names_survive_a_round_trip(tmp_path, hostile, assert_equal, form):
    write_events(hostile, tmp_path / "out", format=form)
    assert_equal(read_events(tmp_path / "out"), hostile)


@pytest.mark.parametrize("form", FORMATS)
def test_dates_survive_a_round_trip(tmp_path, assert_equal, form):
    times = (-1.5, 0.0, 1717158600.123457, 7258118399.999999)
    data = EventDataset.from_sequences([EventSequence("a", tuple("wxyz"), times, ())], time_kind="datetime")
    write_events(data, tmp_path / "out", format=form)
    assert_equal(read_events(tmp_path / "out"), data)


@pytest.mark.parametrize("form", FORMATS)
def test_data_with_an_order_have_no_time_column(tmp_path, assert_equal, form):
    data = read_events([(["b", "a", "b"], ["L"]), (["c"], [])])
    write_events(data, tmp_path / "out", format=form)
    assert_equal(read_events(tmp_path / "out"), data)
    assert '"time"' not in (tmp_path / "out" / f"events.{form}").read_text("latin-1")


@settings(max_examples=30, deadline=None)
@given(times=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_numbers_survive_a_round_trip_exactly(tmp_path_factory, times):
    data = EventDataset.from_sequences([EventSequence("a", ("x",) * len(times), tuple(sorted(times)), ())])
    for form in FORMATS:
        folder = tmp_path_factory.mktemp("out")
        write_events(data, folder, format=form)
        assert read_events(folder).times.tolist() == sorted(times)


@pytest.mark.parametrize("form", FORMATS)
def test_chunks_are_written_one_after_the_other(tmp_path, hundred, assert_equal, monkeypatch, form):
    monkeypatch.setattr(writers, "CHUNK_SEQUENCES", 7)
    write_events(hundred, tmp_path / "out", format=form)
    assert_equal(read_events(tmp_path / "out"), hundred)


def test_a_selection_is_written_alone(tmp_path, hundred):
    write_events(hundred.select(["s007", "s003"]), tmp_path / "out")
    assert read_events(tmp_path / "out").sequence_ids.to_pylist() == ["s003", "s007"]


def test_without_any_label_there_is_no_table_of_labels(tmp_path):
    write_events(read_events([(["a"], [])]), tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["events.parquet"]


def test_dates_in_parquet_are_utc_timestamps(tmp_path):
    data = EventDataset.from_sequences([EventSequence("a", ("x",), (0.0,), ())], time_kind="datetime")
    write_events(data, tmp_path / "out")
    assert (
        str(pq.read_schema(tmp_path / "out" / "events.parquet").field("time").type) == "timestamp[us, tz=UTC]"
    )


def test_dates_in_csv_are_iso_8601(tmp_path):
    data = EventDataset.from_sequences([EventSequence("a", ("x",), (0.5,), ())], time_kind="datetime")
    write_events(data, tmp_path / "out", format="csv")
    assert '"1970-01-01T00:00:00.500000Z"' in (tmp_path / "out" / "events.csv").read_text()


def test_sequences_without_events_are_refused(tmp_path, tiny):
    with pytest.raises(DataError, match="1 sequence without events"):
        write_events(tiny, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_empty_data_set_is_refused(tmp_path, tiny):
    with pytest.raises(DataError, match="nothing to write"):
        write_events(tiny[:0], tmp_path / "out")


def test_an_unknown_format_is_refused(tmp_path, hundred):
    with pytest.raises(ConfigError, match="format='xlsx': use parquet, csv, jsonl"):
        write_events(hundred, tmp_path / "out", format="xlsx")


def test_a_folder_with_content_is_refused(tmp_path, hundred):
    (tmp_path / "something").touch()
    with pytest.raises(DataError, match="exists already"):
        write_events(hundred, tmp_path)


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_values_survive_writing_and_reading(tmp_path, assert_equal, format):
    values = ((0.1, float("nan")), (1e-300, -5.0))
    data = EventDataset.from_sequences(
        [EventSequence("a", ("x", "y"), (0.0, 1.0), (), values)], value_names=("mileage", "heat")
    )
    write_events(data, tmp_path / "d", format=format)
    assert_equal(read_events(tmp_path / "d", values=data.value_names), data)


def test_a_value_column_with_the_name_of_another_is_not_written(tmp_path):
    data = EventDataset.from_sequences(
        [EventSequence("a", ("x",), (0.0,), (), ((1.0,),))], value_names=["time"]
    )
    with pytest.raises(DataError, match="the value column 'time'"):
        write_events(data, tmp_path / "d")


def test_values_not_recorded_are_null_in_the_table(tmp_path):
    sequence = EventSequence("a", ("x", "y"), (0.0, 1.0), (), ((5.0,), (float("nan"),)))
    write_events(EventDataset.from_sequences([sequence], value_names=["mileage"]), tmp_path / "d")
    assert pl.read_parquet(tmp_path / "d" / "events.parquet")["mileage"].to_list() == [5.0, None]


def test_a_selection_is_written_with_its_own_values(tmp_path):
    sequences = [
        EventSequence(name, ("x",), (0.0,), (), ((value,),)) for name, value in (("a", 1.0), ("b", 2.0))
    ]
    data = EventDataset.from_sequences(sequences, value_names=["mileage"])
    write_events(data.select(["b"]), tmp_path / "d")
    assert read_events(tmp_path / "d", values=["mileage"])["b"].values == ((2.0,),)
