import json
from pathlib import Path
from unittest.mock import patch
from xml.etree import ElementTree

import polars as pl
import pytest

from eventcargo import LabelGraph, read_graph, write_graph
from eventcargo.discovery.run_folder import write_judged, write_rules_of_run, write_verified
from eventcargo.events import EventDataset, EventSequence
from eventcargo.rules import Literal, Rule
from eventcargo.verdicts import Verdict

from ..io.test_workbooks import cells, sheet_names
from .program import run, run_json


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run: its graph, rules and verdicts."""
    folder = tmp_path_factory.mktemp("convert") / "run"
    data = EventDataset.from_sequences([EventSequence("a", ("P01", "U02"), (0.0, 1.0), ("brake", "fuel"))])
    edges = pl.DataFrame({"label": ["brake", "fuel"], "event": ["P01", "U02"], "sign": [1, -1]})
    graph = LabelGraph.from_edges(edges, {"brake": 1, "fuel": 1})
    write_verified(folder, graph, data)
    rule = Rule("brake", ((Literal("presence", ("P01",)),),), 1, 1, 1.0, 1.0)
    write_rules_of_run(folder, {"brake": rule, "fuel": None}, data)
    verdicts = {
        "brake": Verdict("brake", "trust", ("sure",)),
        "fuel": Verdict("fuel", "doubt", ("few", "=1")),
    }
    write_judged(folder, graph, verdicts, data)
    return folder


def test_the_workbook_of_a_run_has_its_rules_and_verdicts(folder: Path, tmp_path: Path) -> None:
    run("convert", folder, "--out", tmp_path / "graph.xlsx")
    assert sheet_names(tmp_path / "graph.xlsx") == ["edges", "labels", "rules", "verdicts"]
    assert cells(tmp_path / "graph.xlsx", 3)[1][:4] == ["brake", "P01", 1.0, 1.0]
    assert cells(tmp_path / "graph.xlsx", 4)[2] == ["fuel", "doubt", "few; =1", None]


def test_a_run_becomes_files_of_every_format_at_once(folder: Path, tmp_path: Path) -> None:
    endings = ("parquet", "json", "csv", "graphml", "dot", "svg", "png", "xlsx")
    outs = [tmp_path / f"graph.{ending}" for ending in endings]
    shown = run_json("convert", folder, *(part for out in outs for part in ("--out", out)))
    assert shown == {"out": list(map(str, outs)), "edges": 2, "labels": 2}
    for name in ("graph.parquet", "graph.json", "graph.csv"):
        assert read_graph(tmp_path / name).boundaries == {"brake": ["P01"], "fuel": ["U02"]}
    assert json.loads((tmp_path / "graph.json").read_text())["verdicts"]["fuel"]["level"] == "doubt"
    ElementTree.parse(tmp_path / "graph.svg")
    ElementTree.parse(tmp_path / "graph.graphml")
    assert (tmp_path / "graph.png").read_bytes()[:4] == b"\x89PNG"


def test_a_file_becomes_another_file(tmp_path: Path) -> None:
    write_graph(LabelGraph.from_boundaries({"brake": ["P01"], "fuel": []}), tmp_path / "a.json")
    done = run("convert", tmp_path / "a.json", "--out", tmp_path / "b.parquet")
    assert done.stdout.startswith("1 edge, 2 labels, written to ")
    assert read_graph(tmp_path / "b.parquet").boundaries == {"brake": ["P01"], "fuel": []}


def test_only_some_labels_can_be_written(folder: Path, tmp_path: Path) -> None:
    run("convert", folder, "--out", tmp_path / "a.xlsx", "--out", tmp_path / "a.json", "--label", "fuel")
    assert read_graph(tmp_path / "a.json").boundaries == {"fuel": ["U02"]}
    assert sheet_names(tmp_path / "a.xlsx") == ["edges", "labels", "verdicts"]
    told = run("convert", folder, "--out", tmp_path / "b.json", "--label", "fule", code=1).stderr
    assert "--label fule: the graph has no such label among 2; did you mean 'fuel'?" in told


def test_a_workbook_that_cannot_be_written_leaves_the_one_before(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"before")
    with patch("polars.DataFrame.write_excel", side_effect=OSError(28, "No space left on device")):
        assert "No space left" in run("convert", folder, "--out", tmp_path / "a.xlsx", code=1).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.xlsx"]
    assert (tmp_path / "a.xlsx").read_bytes() == b"before"


def test_verdicts_on_another_graph_are_left_out(folder: Path, tmp_path: Path) -> None:
    import shutil

    other = shutil.copytree(folder, tmp_path / "run")
    write_graph(LabelGraph.from_boundaries({"brake": []}), other / "graph.parquet")
    assert "verdicts.json was made from" in run("convert", other, "--out", tmp_path / "a.xlsx").stderr
    assert sheet_names(tmp_path / "a.xlsx") == ["edges", "labels"]


@pytest.mark.parametrize(
    ("source", "out", "told"),
    [
        ("nowhere", "a.doc", "a.doc has an unknown ending; use .parquet, .json, .csv"),
        ("nowhere", "a.csv", "nowhere is not a file"),
        (".", "a.csv", "holds no finished run"),
    ],
)
def test_what_cannot_be_converted_is_refused(source: str, out: str, told: str) -> None:
    assert told in run("convert", source, "--out", out, code=1).stderr


@pytest.mark.parametrize(
    ("name", "package", "extra"), [("a.png", "matplotlib", "figures"), ("a.xlsx", "xlsxwriter", "xlsx")]
)
def test_a_missing_package_is_named_before_any_work(name: str, package: str, extra: str) -> None:
    with patch("eventcargo.io.graph_paths.find_spec", return_value=None):
        told = run("convert", "nowhere", "--out", name, code=1).stderr
    assert f"{name} needs {package}; install it with pip install 'eventcargo[{extra}]'" in told
