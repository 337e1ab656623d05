import shutil
from pathlib import Path

import pytest

from eventcargo import read_graph
from eventcargo.discovery.data_source import DataSource, remember
from eventcargo.models import Oracle
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.extract import extract
from eventcargo.simulation.exact import ExactConfig, ExactProcess

from .program import run, run_json


@pytest.fixture
def fused(tmp_path: Path) -> Path:
    """A run with a fused graph; the tables it was made from are in data/."""
    process = ExactProcess.from_config(ExactConfig(), seed=1)
    extract(
        Oracle(process), process.sample(60, seed=1).data, tmp_path / "run" / "edges", ExtractConfig(workers=1)
    )
    run("simulate", "exact", tmp_path / "data", "--sequences", "60", "--seed", "1")
    run("fuse", tmp_path / "run")
    return tmp_path / "run"


def tables(run_folder: Path) -> list[str]:
    return [str(run_folder.parent / "data" / f"{name}.parquet") for name in ("events", "labels")]


def test_edges_are_verified_on_a_table_of_events(fused: Path) -> None:
    events, labels = tables(fused)
    assert read_graph(fused / "graph.parquet").edges["p_value"].null_count() > 0
    said = run_json("verify", fused, events, "--labels", labels)
    graph = read_graph(fused / "graph.parquet")
    assert said["boundaries"] == graph.boundaries == read_graph(fused / "graph.json").boundaries
    assert graph.edges["p_value"].drop_nulls().len() > 0


def test_edges_are_verified_on_the_data_a_run_was_made_from(fused: Path) -> None:
    remember(fused, DataSource(*tables(fused)))
    assert "edges: " in run("verify", fused).stdout
    assert read_graph(fused / "graph.parquet").edges["p_value"].drop_nulls().len() > 0


def test_verifying_again_gives_the_same_graph(fused: Path) -> None:
    remember(fused, DataSource(*tables(fused)))
    first = run_json("verify", fused)
    assert run_json("verify", fused) == first


def test_a_higher_alpha_can_be_asked_for(fused: Path) -> None:
    remember(fused, DataSource(*tables(fused)))
    assert "alpha" in run("verify", fused, "--alpha", "2", code=1).stderr


def test_without_data_it_says_what_to_name(fused: Path) -> None:
    assert "name the table of events" in run("verify", fused, code=1).stderr


def test_a_folder_without_a_fused_graph_is_refused(tmp_path: Path) -> None:
    assert "run fuse first" in run("verify", tmp_path, code=1).stderr


def test_votes_are_not_counted_again(fused: Path) -> None:
    remember(fused, DataSource(*tables(fused)))
    shutil.rmtree(fused / "votes")
    run("verify", fused)
    assert not (fused / "votes").exists()
