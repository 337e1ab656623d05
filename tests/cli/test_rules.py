from pathlib import Path

import pytest

from eventcargo import LabelGraph, read_graph, write_graph
from eventcargo.discovery.data_source import DataSource, remember
from eventcargo.rules import read_rules

from ..measured import measured
from .program import run, run_json

TEXT = "E00022 & E00034"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run with a graph that knows its data."""
    run("simulate", "short", tmp_path / "data", "--sequences", "600", "--labels", "2", "--seed", "100")
    (tmp_path / "data" / "truth.parquet").rename(tmp_path / "graph.parquet")
    remember(tmp_path, DataSource(*tables(tmp_path)))
    return tmp_path


def tables(folder: Path) -> tuple[str, str]:
    return str(folder / "data" / "events.parquet"), str(folder / "data" / "labels.parquet")


def test_people_get_a_table_of_rules(folder: Path) -> None:
    printed = run("rules", folder).stdout
    assert TEXT in printed
    assert "2 rules in" in printed


def test_rules_are_kept_in_the_run(folder: Path) -> None:
    said = run_json("rules", folder)
    kept = read_rules(folder / "rules.json")
    assert said == {label: rule and rule.to_dict() for label, rule in kept.items()}
    assert said["L000"]["text"] == TEXT


def test_rules_that_are_there_are_shown_without_the_data(folder: Path) -> None:
    first = run_json("rules", folder)
    (folder / "data.json").unlink()
    assert run_json("rules", folder) == first


def test_rules_of_another_graph_are_found_again(folder: Path) -> None:
    truth = read_graph(folder / "graph.parquet")
    write_graph(LabelGraph.from_boundaries({"L000": ["E00022"], "L001": []}), folder / "graph.parquet")
    assert run_json("rules", folder)["L000"]["text"] == "E00022"
    write_graph(truth, folder / "graph.parquet")
    assert run_json("rules", folder)["L000"]["text"] == TEXT


def test_rules_of_the_same_graph_written_again_are_kept(folder: Path) -> None:
    run("rules", folder, "--max-events", "1")
    write_graph(read_graph(folder / "graph.parquet"), folder / "graph.parquet")
    assert run_json("rules", folder)["L000"]["text"] == "E00022"


def test_other_settings_need_a_word(folder: Path) -> None:
    run("rules", folder)
    assert "--again" in run("rules", folder, "--max-events", "1", code=1).stderr
    assert run_json("rules", folder, "--max-events", "1", "--again")["L000"]["text"] == "E00022"


def test_labels_without_a_rule_are_named(folder: Path) -> None:
    assert "No rule for 2 labels: L000, L001" in run("rules", folder, "--min-support", "599").stdout


def test_data_can_be_named(folder: Path) -> None:
    (folder / "data.json").unlink()
    assert "name the table of events" in run("rules", folder, code=1).stderr
    events, labels = tables(folder)
    assert run_json("rules", folder, events, "--labels", labels)["L000"]["text"] == TEXT


def test_labels_without_events_are_refused(folder: Path) -> None:
    assert "give both or neither" in run("rules", folder, "--labels", tables(folder)[1], code=1).stderr


def test_a_run_without_a_graph_is_refused(folder: Path) -> None:
    (folder / "graph.parquet").unlink()
    assert "graph.parquet is not a file" in run("rules", folder, code=1).stderr


def test_a_rule_that_falls_short_of_the_model_is_told(folder: Path) -> None:
    """The boundary lacks a cause that the model reads."""
    write_graph(LabelGraph.from_boundaries({"L000": ["E00022"]}), folder / "graph.parquet")
    (folder / "model").mkdir()
    measured(label="L000", f1=0.99, held_out=400).write(folder / "model" / "quality.json")
    assert "L000: the model knows more than this rule says: F1 .99 against ." in run("rules", folder).stdout
    said = run_json("rules", folder)["L000"]
    assert (said["model_f1"], said["falls_short"]) == (0.99, True)
    assert said["shortfall"].startswith("the model knows more than this rule says: F1 .99 against .")


def test_rules_as_good_as_their_models_are_only_listed(folder: Path) -> None:
    assert "the model knows more" not in run("rules", folder).stdout
