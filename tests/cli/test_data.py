from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from eventcargo.cli.data import read

NAMES = {"sequence_id": "sequence_id", "time": "time", "event": "event", "label": "label"}


def test_a_folder_with_data_and_metadata_is_read_as_meds(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "metadata").mkdir()
    when = pa.array([0, 1_000_000], pa.timestamp("us"))
    table = {"subject_id": pa.array([7, 7], pa.int64()), "time": when, "code": ["A", "B"]}
    pq.write_table(
        pa.table({**table, "numeric_value": pa.nulls(2, pa.float32())}), tmp_path / "data" / "0.parquet"
    )
    data = read(str(tmp_path), None, **NAMES)
    assert (data["7"].events, data.time_kind) == (("A", "B"), "datetime")


def test_a_saved_data_set_is_read_by_its_folder(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("sequence_id,event\na,x\na,y\n")
    read(str(tmp_path / "e.csv"), None, **NAMES).save(tmp_path / "saved")
    assert read(str(tmp_path / "saved"), None, **NAMES)["a"].events == ("x", "y")
