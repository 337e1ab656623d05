"""The MEDS folder passes the checks of the package `meds` and is read by `read_meds`."""

import json
from pathlib import Path

import meds
import polars as pl
import pyarrow.parquet as pq
import pytest

from eventcargo.io import read_meds
from eventcargo.io.meds import read_meds_splits
from eventcargo.simulation import Records, simulate
from eventcargo.simulation.meds_folder import write_meds


@pytest.fixture(scope="module")
def records() -> Records:
    return simulate("clinic", subjects=150, seed=100)


@pytest.fixture(scope="module")
def folder(records: Records, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("meds") / "out"
    write_meds(records, path)
    return path


def test_every_table_is_valid(folder: Path) -> None:
    shards = list((folder / "data").rglob("*.parquet"))
    assert len(shards) == 3
    for path in shards:
        meds.DataSchema.validate(pq.read_table(path))
    meds.CodeMetadataSchema.validate(pq.read_table(folder / meds.code_metadata_filepath))
    meds.SubjectSplitSchema.validate(pq.read_table(folder / meds.subject_splits_filepath))
    meds.DatasetMetadataSchema.validate(json.loads((folder / meds.dataset_metadata_filepath).read_text()))


def test_subjects_are_in_the_shard_of_their_split_and_sorted_by_time(folder: Path) -> None:
    splits = pl.read_parquet(folder / meds.subject_splits_filepath)
    for path in (folder / "data").rglob("*.parquet"):
        rows = pl.read_parquet(path)
        owners = rows.select("subject_id").join(splits, on="subject_id")
        assert owners["split"].unique().to_list() == [path.parent.name]
        assert rows.select("subject_id", "time").equals(
            rows.select("subject_id", "time").sort("subject_id", "time")
        )


def test_the_events_are_those_of_the_records(folder: Path, records: Records) -> None:
    rows = pl.concat([pl.read_parquet(path) for path in (folder / "data").rglob("*.parquet")])
    timed = rows.drop_nulls("time")
    assert len(timed) == len(records.events)
    assert (
        timed["code"].value_counts().sort("code").equals(records.events["code"].value_counts().sort("code"))
    )
    high = (pl.col("code") == "creatinine") & (pl.col("numeric_value") >= 2.0)
    assert len(timed.filter(high)) == len(records.events.filter(high))


def test_attributes_have_no_time_and_the_names_of_a_cohort(folder: Path, records: Records) -> None:
    rows = pl.concat([pl.read_parquet(path) for path in (folder / "data").rglob("*.parquet")])
    static = rows.filter(pl.col("time").is_null())
    assert len(static) == 4 * len(records.static)
    old = records.static.filter(pl.col("age_band") == "80+")
    assert len(static.filter(pl.col("code") == "age_band=80+")) == len(old)


def test_outcomes_are_a_table_with_times(folder: Path, records: Records) -> None:
    outcomes = pl.read_parquet(folder / "outcomes.parquet")
    assert outcomes.schema["subject_id"] == pl.Int64
    assert outcomes["time"].dt.replace_time_zone("UTC").equals(records.outcomes["time"])
    assert outcomes["label"].equals(records.outcomes["label"])


def test_the_reader_reads_it(folder: Path, records: Records) -> None:
    data = read_meds(folder)
    assert len(data) == len(records.static)
    assert data.n_events == len(records.events) + 4 * len(records.static)
    assert sum(map(len, read_meds_splits(folder).values())) == len(records.static)


def test_every_code_has_metadata(folder: Path) -> None:
    rows = pl.concat([pl.read_parquet(path) for path in (folder / "data").rglob("*.parquet")])
    assert set(rows["code"]) <= set(pl.read_parquet(folder / meds.code_metadata_filepath)["code"])
