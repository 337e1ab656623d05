import time
from pathlib import Path

import pytest

from eventcargo.cli.reading import expected_seconds, read_in_time
from eventcargo.discovery.data_source import DataSource
from eventcargo.errors import ConfigError
from eventcargo.simulation import simulate


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.csv"
    path.write_text("sequence_id,time,event\na,0,x\n")
    return path


def large(path: Path, n_bytes: int) -> Path:
    """A file that only says that it is large."""
    with path.open("wb") as file:
        file.truncate(n_bytes)
    return path


def test_tables_are_read(events: Path) -> None:
    assert read_in_time(DataSource(str(events)), "1h", time.monotonic()).data.n_events == 1


def test_reading_ends_with_the_limit_and_names_the_time(events: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"max_time='5s': .* \(0 MB\) takes longer, about 10 s; allow 20s or"
    ):
        read_in_time(DataSource(str(events)), "5s", time.monotonic() - 5)


def test_tables_far_too_large_for_the_limit_are_not_begun(tmp_path: Path) -> None:
    path = large(tmp_path / "events.parquet", 10**12)  # no Parquet file: reading it would be another error
    with pytest.raises(
        ConfigError, match=r"1,000,000 MB\) takes longer, about 13,000 s; allow 7h14m or more"
    ):
        read_in_time(DataSource(str(path)), "10m", time.monotonic())


def test_all_tables_count_in_folders_and_patterns_too(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    for name in ("a", "b"):
        large(tmp_path / "shards" / f"{name}.parquet", 10**9)
    one = expected_seconds(DataSource(str(tmp_path / "shards" / "a.parquet")))
    for given in (tmp_path / "shards", tmp_path / "shards" / "*.parquet"):
        assert expected_seconds(DataSource(str(given))) == pytest.approx(2 * one)


def test_a_saved_data_set_takes_no_time(tmp_path: Path) -> None:
    simulate("chain", sequences=20).data.save(tmp_path / "data")
    assert expected_seconds(DataSource(str(tmp_path / "data"))) == 0
