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
    assert "sequences per label" in printed


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


def table(printed: str) -> dict[str, list[str]]:
    """Rows of what was printed: first cell to the others."""
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if "│" in line]
    return {row[0]: row[1:] for row in rows}


def sound(folder: Path, times: list[float] | list[str]) -> tuple[str | Path, ...]:
    """Forty sequences of three events, of which half carry a label; nothing looks wrong."""
    kinds = ("xyz", "yab")
    rows = [
        (f"{i:02}", when, name) for i in range(40) for when, name in zip(times, kinds[i % 2], strict=True)
    ]
    rows = [(name, when, "c" if event == "y" and int(name) % 4 == 0 else event) for name, when, event in rows]
    pl.DataFrame(rows, schema=["sequence_id", "time", "event"], orient="row").write_csv(folder / "e.csv")
    positives = [f"{i:02}" for i in (*range(0, 36, 2), 37, 39)]
    pl.DataFrame({"sequence_id": positives, "fault": ["bad"] * 20}).write_csv(folder / "l.csv")
    return folder / "e.csv", "--labels", folder / "l.csv", "--label", "fault"


def test_every_figure_stands_in_its_row(tmp_path: Path) -> None:
    rows = table(run("validate", *sound(tmp_path, [0.0, 1.0, 4.5])).stdout)
    assert rows["sequences"] == ["40"]
    assert rows["events"] == ["120"]
    assert rows["event types"] == ["6"]
    assert rows["labels"] == ["1"]
    assert rows["sequences without a label"] == ["50.0%"]
    assert rows["labels per sequence"] == ["0.500"]
    assert rows["events that repeat an earlier event"] == ["0.0%"]
    assert rows["times"] == ["numbers, 0 to 4.5"]
    assert rows["sequences per label"] == ["20"] * 7
    assert rows["time span of a sequence"] == ["4.500"] * 7


def test_dates_have_their_span_in_days(tmp_path: Path) -> None:
    days = ["2024-01-01T00:00:00", "2024-01-02T00:00:00", "2024-01-02T12:00:00"]
    rows = table(run("validate", *sound(tmp_path, days)).stdout)
    assert rows["times"] == ["2024-01-01 to 2024-01-02"]
    assert rows["time span of a sequence, days"] == ["1.500"] * 7


def test_data_without_problems_are_told_so(tmp_path: Path) -> None:
    command = sound(tmp_path, [0.0, 1.0, 4.5])
    assert run_json("validate", *command)["problems"] == []
    assert "no problems found" in run("validate", *command).stdout


def test_problems_are_told_to_people(tmp_path: Path) -> None:
    pl.DataFrame({"sequence_id": ["a", "b"], "event": ["x", "x"]}).write_csv(tmp_path / "e.csv")
    printed = run("validate", tmp_path / "e.csv").stdout
    assert "problem: there are no labels" in printed
    assert "no problems found" not in printed


def test_what_is_not_there_has_no_row_of_quantiles(tmp_path: Path) -> None:
    pl.DataFrame({"sequence_id": ["a", "b"], "event": ["x", "x"]}).write_csv(tmp_path / "e.csv")
    rows = table(run("validate", tmp_path / "e.csv").stdout)
    assert rows["times"] == ["none; the order of rows"]
    assert not {"sequences per label", "time span of a sequence"} & rows.keys()


def test_values_are_read_and_those_missing_counted(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("sequence_id,event,mileage,heat\na,x,5,\na,y,7,2\n")
    arguments = ("validate", tmp_path / "e.csv", "--values", "mileage", "--values", "heat")
    assert run_json(*arguments)["not_recorded"] == {"mileage": 0.0, "heat": 0.5}
    assert "events without heat" in run(*arguments).stdout


def test_values_that_are_no_numbers_are_refused_with_their_row(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("sequence_id,event,mileage\na,x,far\n")
    said = run("validate", tmp_path / "e.csv", "--values", "mileage", code=1).stderr
    assert "row 1: mileage is 'far'" in " ".join(said.split())


def test_data_without_value_columns_have_none_to_count(fleet: Path) -> None:
    assert "not_recorded" not in run_json("validate", *tables(fleet))


def test_records_of_a_label_are_told_before_any_work(tmp_path: Path) -> None:
    rows = [(f"{i:03}", "replaced" if i < 12 else "ok") for i in range(300)]
    pl.DataFrame(rows, schema=["sequence_id", "event"], orient="row").write_csv(tmp_path / "e.csv")
    positives = [f"{i:03}" for i in range(12)]
    pl.DataFrame({"sequence_id": positives, "label": ["failure"] * 12}).write_csv(tmp_path / "l.csv")
    said = run_json("validate", tmp_path / "e.csv", "--labels", tmp_path / "l.csv")["problems"]
    assert any(
        "replaced is in 12 of 12 sequences with failure and in 0 of 288 without" in one for one in said
    )
