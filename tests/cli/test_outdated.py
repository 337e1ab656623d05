"""A graph is made again: nothing made from the graph before is shown as if it belonged to it."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from eventcargo import read_graph
from eventcargo.discovery import Cargo, DiscoverConfig, Discovery
from eventcargo.errors import EventCargoWarning
from eventcargo.events import EventDataset
from eventcargo.rules import read_rules
from eventcargo.verdicts import read_verdicts

from .program import run, run_json

QUICK = ("--preset", "fast", "--steps", "3", "--workers", "1")
STRICT = ("--criterion", "static", "--tau", "1.0")
"""Settings of fuse that leave nothing of the boundaries."""


@pytest.fixture(scope="module")
def discovered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run and the data it was made from."""
    home = tmp_path_factory.mktemp("outdated")
    knobs = ("--sequences", "400", "--labels", "2", "--event-types", "30", "--seed", "103")
    run("simulate", "chain", home / "data", *knobs)
    tables = (home / "data" / "events.parquet", "--labels", home / "data" / "labels.parquet")
    truth = home / "data" / "truth.parquet"
    run("discover", *tables, "--out", home / "run", "--truth", truth, *QUICK)
    return home


@pytest.fixture
def folder(discovered: Path, tmp_path: Path) -> Path:
    """A run of its own for every test."""
    shutil.copytree(discovered / "run", tmp_path / "run")
    return tmp_path / "run"


def overview(folder: Path) -> Any:
    block = re.search(r'id="overview">(.*?)</script>', (folder / "report.html").read_text("utf-8"), re.DOTALL)
    assert block is not None
    return json.loads(block[1])


def data_of(discovered: Path) -> EventDataset:
    from eventcargo import read_events

    return read_events(discovered / "data" / "events.parquet", discovered / "data" / "labels.parquet")


def test_a_run_that_was_just_made_is_current(folder: Path) -> None:
    assert "warning" not in run("report", folder).stderr
    assert all(line["level"] and line["rule"] for line in overview(folder)["labels"])
    assert Cargo.load(folder).verdicts_


def test_fuse_tells_what_it_outdates_and_sets_the_pages_aside(folder: Path) -> None:
    said = run("fuse", folder, *STRICT).stderr
    for name, command in (("rules.json", "rules"), ("verdicts.json", "judge")):
        assert f"{folder / name} was made from another graph.parquet and is no longer used; make it" in said
        assert f"`eventcargo {command} {folder}`" in said
    assert (
        f"{folder / 'report.html'} was made from another graph.parquet and is now report.outdated.html"
        in said
    )
    assert (
        f"{folder / 'scores.json'} was made from another graph.parquet and is now scores.outdated.json"
        in said
    )
    assert not (folder / "report.html").exists()
    assert (folder / "report.outdated.html").exists()


def test_the_same_graph_again_outdates_nothing(folder: Path) -> None:
    assert run("verify", folder).stderr == ""
    assert (folder / "report.html").exists()


def test_a_report_leaves_out_rules_and_verdicts_of_another_graph(folder: Path) -> None:
    run("fuse", folder, *STRICT)
    said = run("report", folder).stderr
    assert f"{folder / 'verdicts.json'} was made from another graph.parquet and is left out" in said
    assert f"{folder / 'rules.json'} was made from another graph.parquet and is left out" in said
    shown = overview(folder)["labels"]
    assert [(line["level"], line.get("rule")) for line in shown] == [(None, None)] * 2
    assert ["criterion of phase 2", "static"] in overview(folder)["about"]


def test_a_report_shows_what_was_made_again(folder: Path) -> None:
    run("fuse", folder, *STRICT)
    run("rules", folder)
    run("judge", folder)
    assert run("report", folder).stderr == ""
    assert [line["level"] for line in overview(folder)["labels"]] == ["doubt", "doubt"]
    assert set(read_rules(folder / "rules.json").values()) == {None}


def test_verify_outdates_too(folder: Path, tmp_path: Path) -> None:
    run("simulate", "chain", tmp_path / "other", "--sequences", "500", "--labels", "2", "--event-types", "30")
    other = (tmp_path / "other" / "events.parquet", "--labels", tmp_path / "other" / "labels.parquet")
    said = run("verify", folder, *other).stderr
    assert "another graph.parquet" in said
    assert "`eventcargo judge" in said
    assert "verdicts" not in json.loads((folder / "graph.json").read_text())


def test_rules_of_another_graph_are_found_again(folder: Path) -> None:
    assert all(run_json("rules", folder).values())
    run("fuse", folder, *STRICT)
    assert run_json("rules", folder) == {"L000": None, "L001": None}


def test_another_judgement_outdates_the_report_alone(folder: Path) -> None:
    said = run("judge", folder, "--caution-below", "399").stderr
    assert f"{folder / 'report.html'} was made from another verdicts.json" in said
    assert "rules.json was made" not in said


def test_a_loaded_run_has_no_rules_or_verdicts_of_another_graph(folder: Path) -> None:
    run("fuse", folder, *STRICT)
    with pytest.warns(EventCargoWarning, match="is left out") as caught:
        cargo = Cargo.load(folder)
    assert len(caught) == 2
    assert (cargo.rules_, cargo.verdicts_) == ({}, {})
    assert cargo.graph_.boundaries == {"L000": [], "L001": []}


def test_explain_needs_no_graph(folder: Path) -> None:
    before = run_json("explain", folder, "--sequence", "S000000")
    run("fuse", folder, *STRICT)
    assert run_json("explain", folder, "--sequence", "S000000") == before


def test_verdicts_on_other_data_are_left_out(folder: Path, tmp_path: Path) -> None:
    run("simulate", "chain", tmp_path / "other", "--sequences", "500", "--labels", "2", "--event-types", "30")
    other = (tmp_path / "other" / "events.parquet", "--labels", tmp_path / "other" / "labels.parquet")
    run("judge", folder, *other)
    said = run("report", folder).stderr
    assert f"{folder / 'verdicts.json'} was made from other data and is left out" in said
    said = run("report", folder, *other).stderr
    assert f"{folder / 'graph.parquet'} was made from other data and is shown all the same" in said
    assert f"{folder / 'baseline.parquet'} was made from other data and is left out" in said


def test_a_resumed_run_makes_outdated_files_again(discovered: Path, folder: Path) -> None:
    before = read_graph(folder / "graph.parquet").boundaries
    run("fuse", folder)
    (folder / "rules.json").unlink()
    told: list[str] = []
    config = DiscoverConfig(preset="fast", steps=3, workers=1)
    data = data_of(discovered)
    found = Discovery(data, folder, config, resume=True, progress=lambda stage, *_: told.append(stage)).run()
    assert list(dict.fromkeys(told)) == ["verify", "rules", "judge", "report"]
    assert found.graph.boundaries == before
    assert found.verdicts == read_verdicts(folder / "verdicts.json")
    assert (folder / "report.html").exists()


def test_verify_keeps_to_the_knowledge_of_fuse(folder: Path, tmp_path: Path) -> None:
    cause = read_graph(folder / "graph.parquet").boundary("L000")[0]
    path = tmp_path / "known.json"
    path.write_text(json.dumps({"forbidden": {"L000": [cause]}}))
    run("fuse", folder, "--knowledge", path)
    assert cause not in run_json("verify", folder)["boundaries"]["L000"]
