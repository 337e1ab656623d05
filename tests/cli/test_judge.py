import json
from pathlib import Path

import pytest

from eventcargo import (
    EventDataset,
    EventSequence,
    Knowledge,
    LabelGraph,
    read_graph,
    write_events,
    write_graph,
)
from eventcargo.discovery.data_source import DataSource, remember
from eventcargo.discovery.run_folder import write_fused

from .program import run, run_json


@pytest.fixture
def found(tmp_path: Path) -> Path:
    """A run with a graph of two labels: one boundary explains its label, the other is empty."""
    kinds = [(("x", "y"), ("bad",)), (("y",), ("odd",))] * 60 + [(("x", "y"), ("odd",))]
    data = EventDataset.from_sequences(
        [
            EventSequence(f"{i:03}", events, tuple(map(float, range(len(events)))), labels)
            for i, (events, labels) in enumerate(kinds)
        ]
    )
    write_events(data, tmp_path / "data")
    home = tmp_path / "run"
    home.mkdir()
    write_graph(LabelGraph.from_boundaries({"bad": ["x"], "odd": []}), home / "graph.parquet")
    remember(home, DataSource(*(str(tmp_path / "data" / f"{name}.parquet") for name in ("events", "labels"))))
    return home


def test_every_label_gets_a_verdict_with_reasons(found: Path) -> None:
    said = run_json("judge", found)
    assert (said["bad"]["level"], said["odd"]["level"]) == ("trust", "doubt")
    assert json.loads((found / "verdicts.json").read_text())
    assert json.loads((found / "graph.json").read_text())["verdicts"] == said


def test_people_get_the_doubtful_labels_first(found: Path) -> None:
    printed = run("judge", found).stdout
    assert printed.index("odd") < printed.index("bad")
    assert "trust 1, caution 0, doubt 1" in printed


def test_people_and_scripts_are_told_what_is_missing(found: Path) -> None:
    """x alone would do for `bad`, but `odd` has an empty boundary and is there exactly without x."""
    said = run_json("judge", found)
    assert said["bad"]["missing"] == []
    assert said["odd"]["missing"][0].startswith("x is not in the boundary, yet occurs with the label")
    rows = json.loads((found / "verdicts.json").read_text())["verdicts"]
    assert {row["label"]: row["missing"] for row in rows} == {name: said[name]["missing"] for name in said}
    printed = run("judge", found).stdout
    assert "are they real?" in printed
    assert "is that all?" in printed
    assert "is not in the boundary" in " ".join(printed.split())


def test_what_is_asked_of_a_boundary_can_be_set(found: Path) -> None:
    assert run_json("judge", found, "--caution-below", "100")["bad"]["level"] == "caution"


def test_knowledge_of_the_graph_is_kept_to_and_can_be_replaced(found: Path, tmp_path: Path) -> None:
    assert any("x is not in the boundary" in reason for reason in run_json("judge", found)["odd"]["missing"])
    write_fused(
        found, read_graph(found / "graph.parquet"), knowledge=Knowledge(forbidden={"odd": ["x", "y"]})
    )
    assert not any("not in the boundary" in reason for reason in run_json("judge", found)["odd"]["missing"])
    path = tmp_path / "known.json"
    path.write_text(json.dumps({"forbidden": {"odd": ["y"]}}))
    said = run_json("judge", found, "--knowledge", path)["odd"]["missing"]
    assert any("x is not in the boundary" in reason for reason in said)


def test_a_folder_without_a_graph_is_refused(tmp_path: Path) -> None:
    assert "run fuse or discover first" in run("judge", tmp_path, code=1).stderr
