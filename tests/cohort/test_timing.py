from pathlib import Path

import polars as pl
import pytest

from eventcargo import DataError
from eventcargo.cohort.config import TIMING
from eventcargo.cohort.timing import read_timing, write_timing

COUNTS = pl.DataFrame({"label": ["brake"], "event": ["leak"], "before": [3], "same": [0], "after": [1]})


def test_counts_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_timing(tmp_path, COUNTS.cast({"before": pl.Int32}).select(reversed(COUNTS.columns)))
    assert read_timing(tmp_path).equals(COUNTS)


def test_counts_of_an_earlier_release_are_read(tmp_path: Path) -> None:
    COUNTS.write_parquet(tmp_path / TIMING)
    assert read_timing(tmp_path).equals(COUNTS)


def test_damaged_counts_are_refused_by_name(tmp_path: Path) -> None:
    write_timing(tmp_path, COUNTS)
    (tmp_path / TIMING).write_bytes((tmp_path / TIMING).read_bytes()[:-9])
    with pytest.raises(DataError, match=r"timing\.parquet is damaged.*; make the cohort again"):
        read_timing(tmp_path)
