from pathlib import Path

import polars as pl

from .program import run, run_json


def tables(fleet: Path) -> tuple[str, str, str]:
    return str(fleet / "events.parquet"), "--labels", str(fleet / "labels.parquet")


def test_the_summary_counts_what_was_simulated(fleet: Path) -> None:
    said = run_json("validate", *tables(fleet))
    events = pl.read_parquet(fleet / "events.parquet")
    assert (said["sequences"], said["events"]) == (1500, len(events))
    assert said["event_types"] == events["event"].n_unique()
    assert said["labels"] == 4
    assert len(said["support_quantiles"]) == len(said["length_quantiles"]) == 7


def test_people_get_a_table_with_the_same_figures(fleet: Path) -> None:
    printed = run("validate", *tables(fleet)).stdout
    assert "1,500" in printed
    assert "sequences a label" in printed


def test_warnings_of_the_reader_are_problems_of_the_data(tmp_path: Path) -> None:
    pl.DataFrame({"sequence_id": ["a", "a", "b"], "event": ["x", "y", "x"]}).write_csv(tmp_path / "e.csv")
    pl.DataFrame({"sequence_id": ["a", "a"], "label": ["bad", "bad"]}).write_csv(tmp_path / "l.csv")
    said = run_json("validate", tmp_path / "e.csv", "--labels", tmp_path / "l.csv")
    assert any("twice" in problem or "repeat" in problem for problem in said["problems"])
    assert any("fewer than 10 sequences" in problem for problem in said["problems"])


def test_columns_can_be_mapped(tmp_path: Path) -> None:
    pl.DataFrame({"vin": ["a", "a"], "when": [1.5, 0.5], "dtc": ["x", "y"]}).write_csv(tmp_path / "e.csv")
    said = run_json(
        "validate", tmp_path / "e.csv", "--sequence-id", "vin", "--time", "when", "--event", "dtc"
    )
    assert (said["time_kind"], said["time_span_quantiles"][0]) == ("number", 1.0)


def test_a_missing_column_is_one_readable_paragraph(tmp_path: Path) -> None:
    pl.DataFrame({"sequence_id": ["a"], "code": ["x"]}).write_csv(tmp_path / "e.csv")
    said = run("validate", tmp_path / "e.csv", code=1).stderr
    assert said.startswith("error: ")
    assert "'event'" in said
    assert "code" in said


def test_a_missing_file_is_told_by_name() -> None:
    assert "nowhere.parquet" in run("validate", "nowhere.parquet", code=1).stderr
