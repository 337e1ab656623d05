from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eventcargo import EventCargoWarning, EventDataset
from eventcargo.discovery.data_source import read
from eventcargo.io import write_events

from .program import run

NAMES = {"sequence_id": "sequence_id", "time": "time", "event": "event", "label": "label"}


@pytest.fixture
def meds(tmp_path: Path) -> Path:
    """A MEDS folder of one subject, and a task outside of its usual place."""
    (tmp_path / "data").mkdir()
    (tmp_path / "metadata").mkdir()
    when = pa.array([0, 1_000_000], pa.timestamp("us"))
    table = {"subject_id": pa.array([7, 7], pa.int64()), "time": when, "code": ["A", "B"]}
    pq.write_table(
        pa.table({**table, "numeric_value": pa.nulls(2, pa.float32())}), tmp_path / "data" / "0.parquet"
    )
    task = {"subject_id": table["subject_id"][:1], "prediction_time": when[1:], "boolean_value": [True]}
    pq.write_table(pa.table(task), tmp_path / "task.parquet")
    return tmp_path


def test_a_folder_with_data_and_metadata_is_read_as_meds(meds: Path) -> None:
    data = read(str(meds), None, **NAMES)
    assert (data["7"].events, data.time_kind) == (("A", "B"), "datetime")


def test_a_saved_data_set_is_read_by_its_folder(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("sequence_id,event\na,x\na,y\n")
    read(str(tmp_path / "e.csv"), None, **NAMES).save(tmp_path / "saved")
    assert read(str(tmp_path / "saved"), None, **NAMES)["a"].events == ("x", "y")


def test_labels_of_a_meds_folder_are_its_task(meds: Path) -> None:
    assert read(str(meds), str(meds / "task.parquet"), **NAMES)["7"].labels == ("task",)


@pytest.mark.parametrize("name", ["data", "metadata"])
def test_a_folder_with_one_of_the_two_is_a_folder_of_tables(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / "e.csv").write_text("sequence_id,event\na,x\n")
    assert read(str(tmp_path), None, **NAMES)["a"].events == ("x",)


def test_every_column_can_be_mapped(tiny: EventDataset, tmp_path: Path) -> None:
    write_events(tiny.select(["car2", "car4"]), tmp_path / "d")
    mapped = dict(zip(NAMES, ("vin", "when", "dtc", "fault"), strict=True))
    for table in ("events.parquet", "labels.parquet"):
        pl.read_parquet(tmp_path / "d" / table).rename(mapped, strict=False).write_parquet(tmp_path / table)
    data = read(str(tmp_path / "events.parquet"), str(tmp_path / "labels.parquet"), **mapped)
    assert list(data) == [tiny["car2"], tiny["car4"]]


def test_values_reach_the_reader_of_tables(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("sequence_id,event,mileage,heat\na,x,5,1\na,y,7,2\n")
    data = read(str(tmp_path / "e.csv"), None, **NAMES, values=["heat", "mileage"])
    assert data["a"].values == ((1.0, 5.0), (2.0, 7.0))


def test_values_reach_the_reader_of_meds(meds: Path) -> None:
    with pytest.warns(EventCargoWarning, match="numeric_value is not recorded in any of 2 rows"):
        assert read(str(meds), None, **NAMES, values=["numeric_value"]).value_names == ("numeric_value",)


def test_rows_of_a_meds_folder_that_cannot_be_used_can_be_dropped(meds: Path) -> None:
    table = pl.read_parquet(meds / "data" / "0.parquet")
    spoiled = table.with_columns(code=pl.Series(["A", None]))
    spoiled.write_parquet(meds / "data" / "0.parquet")
    assert "drop it with --on-bad-row drop" in run("validate", meds, code=1).stderr
    assert "dropped 1 row that cannot be used" in run("validate", meds, "--on-bad-row", "drop").stdout
