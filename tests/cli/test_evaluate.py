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


def graph(path: Path, *edges: tuple[str, str, int]) -> Path:
    pl.DataFrame(edges, schema=["label", "event", "sign"], orient="row").write_csv(path)
    return path


def test_people_get_precision_recall_and_f1_of_every_average(tmp_path: Path) -> None:
    found = graph(tmp_path / "g.csv", ("a", "x", 1), ("b", "p", 1), ("b", "q", 1))
    truth = graph(tmp_path / "t.csv", ("a", "x", 1), ("a", "y", 1), ("a", "z", 1), ("b", "p", 1))
    printed = run("evaluate", found, "--truth", truth).stdout
    row = next(line for line in printed.splitlines() if "0.667" in line)
    cells = [cell.strip() for cell in row.split("│")[2:-1]]
    assert cells == ["0.667 0.500 0.571", "0.750 0.667 0.583", "-"]
    assert printed.index("micro") < printed.index("macro") < printed.index("weighted")


def test_a_missing_weighted_average_is_explained(tmp_path: Path) -> None:
    truth = graph(tmp_path / "t.csv", ("a", "x", 1))
    printed = run("evaluate", truth, "--truth", truth).stdout
    assert "no weighted average: the support of 1 of 1 label is unknown" in printed


def test_nothing_is_explained_where_the_weighted_average_is_there(fleet: Path) -> None:
    truth = fleet / "truth.parquet"
    assert "no weighted average" not in run("evaluate", truth, "--truth", truth).stdout


def test_people_are_told_where_the_scores_are(tmp_path: Path) -> None:
    truth = graph(tmp_path / "t.csv", ("a", "x", 1))
    out = tmp_path / "scores.json"
    printed = run("evaluate", truth, "--truth", truth, "--out", out).stdout
    assert f"written to {out}" in " ".join(printed.split())
    assert "written to" not in run("evaluate", truth, "--truth", truth).stdout


def test_negated_literals_are_left_out_in_a_second_row(tmp_path: Path) -> None:
    found = graph(tmp_path / "g.csv", ("a", "x=1", 1))
    truth = graph(tmp_path / "t.csv", ("a", "x=2", 1), ("a", "y=1", -1))
    said = run_json("evaluate", found, "--truth", truth, "--strip", "=")
    assert said[str(found)]["micro"]["recall"] == 0.5
    assert said[f"{found}, without negated"]["micro"]["recall"] == 1.0


def test_a_truth_without_negated_literals_needs_no_second_row(tmp_path: Path) -> None:
    truth = graph(tmp_path / "t.csv", ("a", "x", 1))
    assert list(run_json("evaluate", truth, "--truth", truth)) == [str(truth)]


def nodes(folder: Path) -> tuple[str | Path, ...]:
    """Three sequences with label "a" and values of nodes, in columns of other names.

    The most frequent value is one of y, the most frequent node is x.
    """
    rows = [
        ("s1", 1.0, "x=1"),
        ("s1", 2.0, "y=1"),
        ("s2", 1.0, "x=2"),
        ("s2", 2.0, "y=1"),
        ("s3", 1.0, "x=3"),
    ]
    pl.DataFrame(rows, schema=["vin", "when", "dtc"], orient="row").write_csv(folder / "e.csv")
    pl.DataFrame({"vin": ["s1", "s2", "s3"], "fault": ["a", "a", "a"]}).write_csv(folder / "l.csv")
    mapped = ("--sequence-id", "vin", "--time", "when", "--event", "dtc", "--label", "fault")
    return "--events", folder / "e.csv", "--labels", folder / "l.csv", *mapped


def test_floors_and_ceiling_compare_names_up_to_the_text(tmp_path: Path) -> None:
    truth = graph(tmp_path / "t.csv", ("a", "x=7", 1))
    said = run_json("evaluate", truth, "--truth", truth, "--strip", "=", *nodes(tmp_path))
    assert said["floor: most frequent, size known"]["micro"]["precision"] == 1.0
    assert said["floor: every event"]["micro"]["precision"] == 0.5
    assert said["ceiling: what occurs"]["micro"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0}


def test_the_support_of_labels_is_counted_in_the_data(tmp_path: Path) -> None:
    truth = graph(tmp_path / "t.csv", ("a", "x=1", 1))
    said = run_json("evaluate", truth, "--truth", truth, *nodes(tmp_path))
    assert said[str(truth)]["per_label"][0]["support"] == 3
    assert said[str(truth)]["weighted"]["f1"] == 1.0
