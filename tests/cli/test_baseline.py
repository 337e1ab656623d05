from pathlib import Path

from eventcargo.baselines import BaselineConfig, find_boundaries
from eventcargo.io import read_events, read_graph

from .program import run, run_json


def tables(fleet: Path) -> tuple[str, str, str]:
    return str(fleet / "events.parquet"), "--labels", str(fleet / "labels.parquet")


def test_the_graph_written_is_that_of_python(fleet: Path, tmp_path: Path) -> None:
    said = run_json("baseline", "iamb", *tables(fleet), "--out", tmp_path / "g.parquet")
    graph = find_boundaries(read_events(fleet / "events.parquet", fleet / "labels.parquet"))
    assert read_graph(tmp_path / "g.parquet").edges.equals(graph.edges)
    assert said["boundaries"] == graph.boundaries


def test_options_reach_the_method(fleet: Path, tmp_path: Path) -> None:
    options = ("--alpha", "0.2", "--no-correct", "--dof", "full")
    run("baseline", "iamb", *tables(fleet), "--out", tmp_path / "g.parquet", *options)
    data = read_events(fleet / "events.parquet", fleet / "labels.parquet")
    graph = find_boundaries(data, config=BaselineConfig(alpha=0.2, correct=False, dof="full"))
    assert read_graph(tmp_path / "g.parquet").edges.equals(graph.edges)


def test_people_get_the_boundaries_as_a_table(fleet: Path, tmp_path: Path) -> None:
    printed = run("baseline", "lift", *tables(fleet), "--out", tmp_path / "g.csv").stdout
    assert "L000" in printed
    assert "g.csv" in printed


def test_an_unknown_method_is_refused_before_the_data_are_read(tmp_path: Path) -> None:
    said = run("baseline", "magic", "nowhere.parquet", "--out", tmp_path / "g.csv", code=1).stderr
    assert "'magic'" in said
    assert "iamb" in said


def test_an_ending_that_cannot_be_written_is_refused_before_the_data_are_read(tmp_path: Path) -> None:
    said = run("baseline", "iamb", "nowhere.parquet", "--out", tmp_path / "g.xlsx", code=1).stderr
    assert "g.xlsx" in said
    assert ".parquet" in said


def test_data_without_labels_are_refused(fleet: Path, tmp_path: Path) -> None:
    said = run("baseline", "iamb", fleet / "events.parquet", "--out", tmp_path / "g.csv", code=1).stderr
    assert "--labels" in said
    assert not (tmp_path / "g.csv").exists()
