"""Messy twins: what is wrong is counted, and what is left after cleaning is the clean table."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eventcargo.simulation import Records, simulate
from eventcargo.simulation.messy import TIME_FORMAT, write_messy


@pytest.fixture(scope="module")
def records() -> Records:
    return simulate("clinic", subjects=150, seed=100)


@pytest.fixture(scope="module")
def folder(records: Records, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("messy") / "out"
    write_messy(records, path)
    return path


@pytest.fixture(scope="module")
def counts(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "truth.json").read_text("utf-8"))["messy"]


def read(folder: Path, name: str) -> pl.DataFrame:
    text = (folder / f"{name}.csv").read_bytes().decode("cp1252")
    return pl.read_csv(text.encode(), separator=";", infer_schema=False)


def parsed(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col("time").str.to_datetime(TIME_FORMAT, strict=False))


def test_umlauts_are_bytes_of_cp1252(folder: Path) -> None:
    assert "Röntgen".encode("cp1252") in (folder / "events.csv").read_bytes()


@pytest.mark.parametrize("name", ["events", "outcomes"])
def test_bad_rows_are_as_many_as_counted(folder: Path, counts: dict[str, Any], name: str) -> None:
    table = parsed(read(folder, name))
    assert table["subject_id"].null_count() == counts[name]["null_ids"] > 0
    assert table["time"].null_count() == counts[name]["bad_times"] > 0
    extra = counts[name]["repeated"] + counts[name]["null_ids"] + counts[name]["bad_times"]
    assert len(table) == counts[name]["rows"] + extra


def test_repeated_rows_are_as_many_as_counted(folder: Path, counts: dict[str, Any], records: Records) -> None:
    sound = parsed(read(folder, "outcomes")).drop_nulls()
    assert len(sound) - len(sound.unique()) == counts["outcomes"]["repeated"] > 0
    assert len(sound.unique()) == len(records.outcomes)


def test_blanks_and_capitals_are_as_many_as_counted(
    folder: Path, counts: dict[str, Any], records: Records
) -> None:
    codes = read(folder, "events")["code"]
    share_blank = (codes != codes.str.strip_chars()).mean()
    assert share_blank == pytest.approx(counts["events"]["blanks"] / counts["events"]["rows"], rel=0.05)
    share_odd = (~codes.str.strip_chars().is_in(records.codes["code"].implode())).mean()
    assert share_odd > 0.01
    assert share_odd == pytest.approx(counts["events"]["capitals"] / counts["events"]["rows"], rel=0.1)


def test_cleaned_events_are_the_clean_ones_to_the_minute(folder: Path, records: Records) -> None:
    sound = parsed(read(folder, "events")).filter(
        pl.all_horizontal(pl.col("subject_id", "time").is_not_null())
    )
    cleaned = sound.select(
        "subject_id",
        "time",
        pl.col("code").str.strip_chars().str.to_lowercase(),
        pl.col("numeric_value").cast(float),
    ).unique()
    clean = records.events.with_columns(
        pl.col("time").dt.truncate("1m").dt.replace_time_zone(None), pl.col("code").str.to_lowercase()
    ).unique()
    order = ["subject_id", "time", "code", "numeric_value"]
    assert cleaned.sort(order).equals(clean.sort(order))


def test_the_truth_file_says_how_to_read_the_files(folder: Path) -> None:
    files = json.loads((folder / "truth.json").read_text("utf-8"))["files"]
    assert files == {
        "separator": ";",
        "encoding": "cp1252",
        "time_format": "%d.%m.%Y %H:%M",
        "time_zone": "UTC",
    }


def test_parents_are_joined_by_a_bar(folder: Path) -> None:
    codes = read(folder, "codes")
    assert codes.filter(pl.col("code") == "ICD//I50.00")["parent_codes"].item() == "ICD//I50"


def test_the_same_records_give_the_same_bytes(records: Records, folder: Path, tmp_path: Path) -> None:
    write_messy(records, tmp_path / "again")
    assert (tmp_path / "again" / "events.csv").read_bytes() == (folder / "events.csv").read_bytes()
