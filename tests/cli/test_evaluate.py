import json
from pathlib import Path

import polars as pl

from .program import run, run_json


def test_the_truth_against_itself_is_perfect(fleet: Path) -> None:
    truth = str(fleet / "truth.parquet")
    said = run_json("evaluate", truth, "--truth", truth)
    assert said[truth]["macro"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0}


def test_floors_and_ceiling_come_with_the_data(fleet: Path) -> None:
    truth = fleet / "truth.parquet"
    tables = ("--events", fleet / "events.parquet", "--labels", fleet / "labels.parquet")
    said = run_json("evaluate", truth, "--truth", truth, *tables)
    assert said["ceiling: what occurs"]["micro"]["precision"] == 1.0
    assert said["floor: every event"]["micro"]["precision"] < 0.2
    assert "floor: most frequent, size known" in said


def test_scores_are_written_label_by_label(fleet: Path, tmp_path: Path) -> None:
    truth = str(fleet / "truth.parquet")
    printed = run("evaluate", truth, "--truth", truth, "--out", tmp_path / "scores.json").stdout
    written = json.loads((tmp_path / "scores.json").read_text())
    assert [row["label"] for row in written[truth]["per_label"]] == ["L000", "L001", "L002", "L003"]
    assert "1.000" in printed


def test_several_graphs_stand_in_one_table(fleet: Path, tmp_path: Path) -> None:
    truth = fleet / "truth.parquet"
    pl.DataFrame({"label": ["L000"], "event": ["wrong"]}).write_csv(tmp_path / "bad.csv")
    said = run_json("evaluate", truth, tmp_path / "bad.csv", "--truth", truth)
    assert said[str(tmp_path / "bad.csv")]["micro"]["precision"] == 0.0
    assert said[str(truth)]["micro"]["precision"] == 1.0


def test_names_can_be_compared_up_to_a_text(tmp_path: Path) -> None:
    pl.DataFrame({"label": ["a"], "event": ["node=1"]}).write_csv(tmp_path / "g.csv")
    pl.DataFrame({"label": ["a"], "event": ["node=2"]}).write_csv(tmp_path / "t.csv")
    strict = run_json("evaluate", tmp_path / "g.csv", "--truth", tmp_path / "t.csv")
    loose = run_json("evaluate", tmp_path / "g.csv", "--truth", tmp_path / "t.csv", "--strip", "=")
    name = str(tmp_path / "g.csv")
    assert (strict[name]["micro"]["f1"], loose[name]["micro"]["f1"]) == (0.0, 1.0)


def test_labels_without_events_are_refused(fleet: Path) -> None:
    truth = fleet / "truth.parquet"
    said = run("evaluate", truth, "--truth", truth, "--labels", fleet / "labels.parquet", code=1).stderr
    assert "--events" in said
