from pathlib import Path

import polars as pl
import pytest

from eventcargo.baselines import BaselineConfig, find_boundaries
from eventcargo.cli.baseline import SHOWN_EVENTS, SHOWN_LABELS, _names, _print_boundaries
from eventcargo.graphs import LabelGraph
from eventcargo.io import read_events, read_graph

from .program import plain, run, run_json


def tables(fleet: Path) -> tuple[str, str, str]:
    return str(fleet / "events.parquet"), "--labels", str(fleet / "labels.parquet")


def test_the_graph_written_is_that_of_python(fleet: Path, tmp_path: Path) -> None:
    said = run_json("baseline", "iamb", *tables(fleet), "--out", tmp_path / "g.parquet")
    graph = find_boundaries(read_events(fleet / "events.parquet", fleet / "labels.parquet"))
    assert read_graph(tmp_path / "g.parquet").edges.equals(graph.edges)
    assert said["boundaries"] == graph.boundaries
    assert (said["method"], said["edges"]) == ("iamb", len(graph))
    assert said["graph"] == str(tmp_path / "g.parquet")


def test_the_method_asked_for_is_the_one_used(fleet: Path, tmp_path: Path) -> None:
    said = run_json("baseline", "lift", *tables(fleet), "--out", tmp_path / "g.parquet")
    data = read_events(fleet / "events.parquet", fleet / "labels.parquet")
    assert said["boundaries"] == find_boundaries(data, "lift").boundaries


def test_columns_can_be_mapped(fleet: Path, tmp_path: Path) -> None:
    names = {"sequence_id": "vin", "time": "when", "event": "dtc", "label": "fault"}
    for table in ("events.parquet", "labels.parquet"):
        pl.read_parquet(fleet / table).rename(names, strict=False).write_parquet(tmp_path / table)
    options = [part for old, new in names.items() for part in (f"--{old.replace('_', '-')}", new)]
    mapped = run_json("baseline", "iamb", *tables(tmp_path), *options, "--out", tmp_path / "g.csv")
    plain = run_json("baseline", "iamb", *tables(fleet), "--out", tmp_path / "h.csv")
    assert mapped["boundaries"] == plain["boundaries"]


def test_options_reach_the_method(fleet: Path, tmp_path: Path) -> None:
    options = ("--alpha", "0.2", "--no-correct", "--dof", "full")
    run("baseline", "iamb", *tables(fleet), "--out", tmp_path / "g.parquet", *options)
    data = read_events(fleet / "events.parquet", fleet / "labels.parquet")
    graph = find_boundaries(data, config=BaselineConfig(alpha=0.2, correct=False, dof="full"))
    assert read_graph(tmp_path / "g.parquet").edges.equals(graph.edges)


def test_people_get_the_boundaries_as_a_table(fleet: Path, tmp_path: Path) -> None:
    printed = run("baseline", "lift", *tables(fleet), "--out", tmp_path / "g.csv").stdout
    graph = read_graph(tmp_path / "g.csv")
    assert "L000" in printed
    assert ", ".join(graph.boundary("L000")) in printed
    assert f"{len(graph)} edges in" in printed
    assert "g.csv" in printed


def test_a_long_boundary_is_cut_with_the_number_left_out() -> None:
    names = [f"e{i}" for i in range(SHOWN_EVENTS + 2)]
    assert _names(names[:SHOWN_EVENTS]) == ", ".join(names[:SHOWN_EVENTS])
    assert _names(names) == ", ".join(names[:SHOWN_EVENTS]) + " and 2 more"


def labelled(n_labels: int) -> LabelGraph:
    """Labels whose support rises with their number."""
    names = [f"L{i:02}" for i in range(n_labels)]
    return LabelGraph.from_boundaries({name: ["x"] for name in names}, {n: i for i, n in enumerate(names)})


def test_the_most_frequent_labels_stand_first_and_the_rest_is_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _print_boundaries("iamb", labelled(SHOWN_LABELS + 1))
    printed = plain(capsys.readouterr().out)
    assert f"(the {SHOWN_LABELS} most frequent of {SHOWN_LABELS + 1} labels)" in " ".join(printed.split())
    assert printed.index(f"L{SHOWN_LABELS:02}") < printed.index("L01")
    assert "L00" not in printed


def test_nothing_is_said_of_other_labels_where_all_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    _print_boundaries("iamb", labelled(SHOWN_LABELS))
    assert "most frequent of" not in capsys.readouterr().out


def test_an_unknown_method_is_refused_before_the_data_are_read(tmp_path: Path) -> None:
    said = run("baseline", "magic", "nowhere.parquet", "--out", tmp_path / "g.csv", code=1).stderr
    assert "METHOD magic: use iamb" in said
    assert "iamb" in said


def test_an_ending_that_cannot_be_written_is_refused_before_the_data_are_read(tmp_path: Path) -> None:
    said = run("baseline", "iamb", "nowhere.parquet", "--out", tmp_path / "g.docx", code=1).stderr
    assert "g.docx" in said
    assert ".parquet" in said


def test_data_without_labels_are_refused(fleet: Path, tmp_path: Path) -> None:
    said = run("baseline", "iamb", fleet / "events.parquet", "--out", tmp_path / "g.csv", code=1).stderr
    assert "--labels" in said
    assert not (tmp_path / "g.csv").exists()
