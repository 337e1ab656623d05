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
    with pytest.raises(DataError, match="1 sequences have no events"):
        write_events(tiny, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_empty_data_set_is_refused(tmp_path, tiny):
    with pytest.raises(DataError, match="nothing to write"):
        write_events(tiny[:0], tmp_path / "out")


def test_an_unknown_format_is_refused(tmp_path, hundred):
    with pytest.raises(ConfigError, match="format='xlsx'; allowed are parquet, csv, jsonl"):
        write_events(hundred, tmp_path / "out", format="xlsx")


def test_a_folder_with_content_is_refused(tmp_path, hundred):
    (tmp_path / "something").touch()
    with pytest.raises(DataError, match="exists already"):
        write_events(hundred, tmp_path)
