import json
from pathlib import Path

import polars as pl
import pytest

from eventcargo.errors import ConfigError, DataError
from eventcargo.simulation import Records, simulate


@pytest.fixture(scope="module")
def records() -> Records:
    return simulate("clinic", subjects=120, seed=100)


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_every_format_has_the_four_tables_and_the_truth(records: Records, form: str, tmp_path: Path) -> None:
    records.write(tmp_path / "out", form)  # type: ignore[arg-type]
    names = {"events", "outcomes", "static", "codes"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {f"{name}.{form}" for name in names} | {
        "truth.json"
    }


def test_parquet_holds_the_tables_as_they_are(records: Records, tmp_path: Path) -> None:
    records.write(tmp_path / "out")
    for name, table in records.tables().items():
        assert pl.read_parquet(tmp_path / "out" / f"{name}.parquet").equals(table)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_text_holds_the_same_times_with_the_offset_of_the_site(
    records: Records, form: str, tmp_path: Path
) -> None:
    records.write(tmp_path / "out", form)  # type: ignore[arg-type]
    read = pl.read_csv if form == "csv" else pl.read_ndjson
    events = read(tmp_path / "out" / f"events.{form}")
    assert events["time"].str.to_datetime(time_zone="UTC", time_unit="us").equals(records.events["time"])
    offsets = (
        events.join(records.static, on="subject_id")
        .group_by("site")
        .agg(pl.col("time").str.extract(r"(Z|[+-]\d\d:\d\d)$").unique().sort())
    )
    assert dict(offsets.iter_rows()) == {
        "north": ["+01:00", "+02:00"],
        "south": ["+01:00", "Z"],
        "east": ["+05:30"],
        "west": ["Z"],
    }


def test_the_truth_file_says_what_causes_what_and_how_to_read(records: Records, tmp_path: Path) -> None:
    records.write(tmp_path / "out")
    truth = json.loads((tmp_path / "out" / "truth.json").read_text("utf-8"))
    failure = truth["labels"]["heart failure"]
    assert failure["causes"] == [
        {"event": "ICD//I50", "sign": 1},
        {"event": "MED//spironolactone", "sign": -1},
    ]
    assert failure["post_outcome"] == list(records.post_outcome["heart failure"])
    assert truth["labels"]["sepsis"]["confounders"] == ["site=north"]
    assert truth["read_with"]["washout"] == "30d"
    assert failure["outcomes"] == records.truth.support["heart failure"]
    assert (truth["read_with"]["lookback"], truth["read_with"]["adjust"]) == ("30d", ["site"])
    assert (truth["regime"], truth["seed"], truth["settings"]["subjects"]) == ("clinic", 100, 120)


def test_the_truth_takes_the_nearest_cut_of_the_same_value_and_side(records: Records) -> None:
    names = ["creatinine >= 1.5", "creatinine >= 1.93", "creatinine < 2.0", "lactate >= 2.0"]
    assert "creatinine >= 1.93" in records.truth_for(names).boundary("acute kidney injury")


def test_the_truth_takes_the_spelling_of_the_names(records: Records) -> None:
    assert "med//LORAZEPAM" in records.truth_for(["med//LORAZEPAM", "lorazepam"]).boundary("fall")


def test_a_cause_without_a_matching_name_keeps_its_own(records: Records) -> None:
    assert records.truth_for([]).edges.equals(records.truth.edges)


def test_an_unknown_format_is_refused_with_the_known_ones(records: Records, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="format='xlsx': use parquet, csv, jsonl"):
        records.write(tmp_path / "out", "xlsx")  # type: ignore[arg-type]


def test_an_existing_folder_is_not_overwritten(records: Records, tmp_path: Path) -> None:
    records.write(tmp_path / "out")
    with pytest.raises(DataError, match="exists already"):
        records.write(tmp_path / "out")


def test_its_face_tells_the_sizes(records: Records) -> None:
    assert repr(records).startswith(f"Records: 120 subjects, {len(records.events):,} events, ")
