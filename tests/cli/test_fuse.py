import json
import shutil
from pathlib import Path

import pytest

from eventcargo import read_graph
from eventcargo.models import Oracle
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.extract import extract
from eventcargo.simulation.exact import ExactConfig, ExactProcess

from .program import run, run_json


@pytest.fixture(scope="module")
def extracted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with the edges of a small process, found with its exact probabilities."""
    folder = tmp_path_factory.mktemp("fuse")
    process = ExactProcess.from_config(ExactConfig(), seed=1)
    for day in (1, 2):
        data = process.sample(60, seed=day).data
        extract(Oracle(process), data, folder / f"day{day}" / "edges", ExtractConfig(workers=1))
    return folder


@pytest.fixture
def runs(extracted: Path, tmp_path: Path) -> tuple[Path, Path]:
    for name in ("day1", "day2"):
        shutil.copytree(extracted / name, tmp_path / name)
    return tmp_path / "day1", tmp_path / "day2"


def test_the_graph_is_written_and_told(runs: tuple[Path, Path]) -> None:
    said = run_json("fuse", runs[0])
    graph = read_graph(runs[0] / "graph.parquet")
    assert said["boundaries"] == graph.boundaries == read_graph(runs[0] / "graph.json").boundaries
    assert (said["edges"], said["labels"], said["criterion"]) == (len(graph), 6, "pooled")
    assert sorted(graph.boundary("L000")) == ["E00000", "E00001"]


def test_people_get_a_table_of_boundaries(runs: tuple[Path, Path]) -> None:
    printed = run("fuse", runs[0]).stdout
    assert "Causes of 6 of 6 labels" in printed
    assert "+E00000" in printed
    assert "of 6 labels by the criterion pooled" in printed


def test_another_rule_can_be_asked_for(runs: tuple[Path, Path]) -> None:
    assert run_json("fuse", runs[0], "--criterion", "static", "--tau", "1.0")["criterion"] == "static"


def test_an_unknown_rule_is_refused_before_anything_is_written(runs: tuple[Path, Path]) -> None:
    said = run("fuse", runs[0], "--criterion", "vote", code=1).stderr
    assert "--criterion vote: use pooled, confident, adaptive" in said
    assert not (runs[0] / "votes").exists()


def test_several_runs_are_joined(runs: tuple[Path, Path], tmp_path: Path) -> None:
    run("fuse", *runs, "--out", tmp_path / "both")
    plan = json.loads((tmp_path / "both" / "votes" / "plan.json").read_text())["plan"]
    assert len(plan["data"]) == 2
    for home in runs:
        run("fuse", home)
    first, second, both = (read_graph(home / "graph.json").support for home in (*runs, tmp_path / "both"))
    assert both["L000"] == (first["L000"] or 0) + (second["L000"] or 0) > 0


def test_several_runs_need_a_folder(runs: tuple[Path, Path]) -> None:
    assert "2 runs need a folder for the joined graph" in run("fuse", *runs, code=1).stderr


def test_a_run_is_not_joined_with_itself(runs: tuple[Path, Path], tmp_path: Path) -> None:
    said = run("fuse", runs[0], runs[0], "--out", tmp_path / "both", code=1).stderr
    assert "appear twice" in said


def test_knowledge_is_kept_to(runs: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_text(json.dumps({"forbidden": {"L000": ["E00000"]}, "required": {"L000": ["E00005"]}}))
    boundary = run_json("fuse", runs[0], "--knowledge", path)["boundaries"]["L000"]
    assert sorted(boundary) == ["E00001", "E00005"]


def test_people_are_told_how_to_verify_the_edges(runs: tuple[Path, Path]) -> None:
    assert f"`eventcargo verify {runs[0]}`" in run("fuse", runs[0]).stdout
