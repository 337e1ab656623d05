import json
import re
from pathlib import Path
from typing import Any

import pytest

from eventcargo import LabelGraph, write_events, write_graph
from eventcargo.discovery.data_source import DataSource, remember
from eventcargo.edges import EdgeFolder
from eventcargo.files import sealed
from eventcargo.rules import Literal, Rule, write_rules
from eventcargo.verdicts import Verdict, write_verdicts

from ..measured import measured
from ..report.material import dataset, edge_table
from .program import run, run_json

DATA = [("car1", "P01 X07", "brake"), ("car2", "X07 P01", "brake"), ("car3", "X07", "")]
GRAPH = LabelGraph.from_boundaries({"brake": ["P01"]})


@pytest.fixture
def tables(tmp_path: Path) -> tuple[str, ...]:
    """The arguments that name the data."""
    write_events(dataset(DATA), tmp_path / "data", "csv")
    return str(tmp_path / "data" / "events.csv"), "--labels", str(tmp_path / "data" / "labels.csv")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run with a graph and nothing else."""
    write_graph(GRAPH, tmp_path / "run" / "graph.parquet")
    return tmp_path / "run"


def overview(path: Path) -> Any:
    block = re.search(r'id="overview">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert block is not None
    return json.loads(block[1])


def first_part(path: Path) -> Any:
    block = re.search(r'id="part-0">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert block is not None
    return json.loads(block[1])


def test_a_run_with_a_graph_alone_has_a_report(folder: Path, tables: tuple[str, ...]) -> None:
    said = run_json("report", folder, *tables)
    assert said["report"] == str(folder / "report.html")
    assert said["bytes"] == (folder / "report.html").stat().st_size
    assert overview(folder / "report.html")["labels"][0]["name"] == "brake"


def test_people_are_told_which_file_to_open(folder: Path, tables: tuple[str, ...]) -> None:
    assert f"Open {folder / 'report.html'} in a browser" in run("report", folder, *tables).stdout


def test_the_data_of_a_run_need_not_be_named_again(folder: Path, tables: tuple[str, ...]) -> None:
    remember(folder, DataSource(tables[0], tables[2]))
    run("report", folder)
    assert overview(folder / "report.html")["data"]["sequences"] == 3


def test_a_run_that_does_not_know_its_data_asks_for_them(folder: Path) -> None:
    assert "name the table of events" in run("report", folder, code=1).stderr


def test_the_report_can_be_written_elsewhere(folder: Path, tables: tuple[str, ...], tmp_path: Path) -> None:
    run("report", folder, *tables, "--out", tmp_path / "page.html")
    assert (tmp_path / "page.html").exists()
    assert not (folder / "report.html").exists()


def test_sequences_come_from_the_edges(folder: Path, tables: tuple[str, ...]) -> None:
    edges = EdgeFolder.create(folder / "edges", {"shards": 1, "test": "total", "seed": 7}, resume=False)
    edges.write(0, edge_table([("car1", "brake", "P01", 0, 1.0, 0.5, "present", "total")]))
    run("report", folder, *tables)
    assert [sequence["id"] for sequence in first_part(folder / "report.html")["sequences"]] == ["car1"]
    assert ["seed", "7"] in overview(folder / "report.html")["about"]


def test_rules_and_verdicts_are_in_the_report(folder: Path, tables: tuple[str, ...]) -> None:
    rule = Rule(
        "brake", ((Literal("presence", ("P01",)),),), support=2, carrying=2, precision=1.0, recall=1.0
    )
    write_rules({"brake": rule}, folder / "rules.json")
    verdict = Verdict("brake", "doubt", ("few sequences",), ("X07 is missing",))
    write_verdicts(path=folder / "verdicts.json", verdicts={"brake": verdict})
    run("report", folder, *tables)
    line = overview(folder / "report.html")["labels"][0]
    assert (line["rule"]["text"], line["level"], line["reasons"]) == ("P01", "doubt", ["few sequences"])
    assert line["missing"] == ["X07 is missing"]


def test_quality_is_in_the_report(folder: Path, tables: tuple[str, ...]) -> None:
    measured(label="brake", f1=0.5).write(folder / "model" / "quality.json")
    run("report", folder, *tables)
    assert overview(folder / "report.html")["labels"][0]["f1"] == 0.5


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "is not JSON"),
        ('{"labels": []}', "not written by eventcargo as eventcargo-quality"),
        (sealed("eventcargo-quality", 1, {"labels": [{}]}), "holds no quality figures"),
    ],
)
@pytest.mark.parametrize("command", ["report", "judge"])
def test_a_damaged_quality_is_refused(
    command: str, content: str, reason: str, folder: Path, tables: tuple[str, ...]
) -> None:
    (folder / "model").mkdir()
    (folder / "model" / "quality.json").write_text(content, "utf-8")
    said = run(command, folder, *tables, code=1).stderr
    assert reason in said
    assert "train the model again" in said


def test_the_baseline_of_the_run_is_compared_with(folder: Path, tables: tuple[str, ...]) -> None:
    write_graph(GRAPH, folder / "baseline.parquet")
    run("report", folder, *tables)
    assert overview(folder / "report.html")["parts"]["baseline"]


def test_another_graph_can_be_compared_with(folder: Path, tables: tuple[str, ...], tmp_path: Path) -> None:
    write_graph(LabelGraph.from_boundaries({"brake": ["X07"]}), tmp_path / "other.json")
    run("report", folder, *tables, "--baseline", tmp_path / "other.json")
    found = overview(folder / "report.html")
    assert [found["names"][event] for event in found["labels"][0]["baseline"]] == ["X07"]


def test_a_folder_without_a_graph_is_refused(tmp_path: Path, tables: tuple[str, ...]) -> None:
    said = run("report", tmp_path, *tables, code=1).stderr
    assert f"{tmp_path} has no graph.parquet" in said
    assert "run fuse first" in said
