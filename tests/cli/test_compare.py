"""`compare` and `without` from files to output, on real runs."""

import json
import shutil
from pathlib import Path

import pytest

from eventcargo import Cargo, LabelGraph, read_events, read_graph, write_graph
from eventcargo.verdicts import read_verdicts

from ..sealed import edit
from .program import run, run_json

FAST = ("--preset", "fast", "--steps", "2", "--workers", "1")
WORLD = ("--sequences", "2500", "--labels", "2", "--event-types", "80", "--seed", "5")
WEAKER = ("--strength-min", "0.05", "--strength-max", "0.09")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of noisy-or fleets, the second with weaker causes, and one of a confounded fleet."""
    home = tmp_path_factory.mktemp("compare")
    for name, regime, options in (
        ("a", "noisy_or", WORLD),
        ("b", "noisy_or", (*WORLD, *WEAKER)),
        ("c", "confounded", ("--sequences", "2000", "--labels", "1", "--seed", "4")),
    ):
        run("simulate", regime, home / name, *options)
        tables = (home / name / "events.parquet", "--labels", home / name / "labels.parquet")
        run("discover", *tables, "--out", home / f"run_{name}", *FAST)
    return home


def test_weaker_causes_are_found_and_shown(runs: Path, tmp_path: Path) -> None:
    said = run_json("compare", runs / "run_a", runs / "run_b", "--out", tmp_path / "page.html")
    assert said["counts"]["weaker"] + said["counts"]["lost"] >= 2
    assert said["counts"]["stronger"] == said["counts"]["gained"] == 0
    assert said["page"] == str(tmp_path / "page.html")
    assert "changed" in (tmp_path / "page.html").read_text("utf-8")
    first = said["edges"][0]
    assert first["ratio_high"] < 1
    printed = run("compare", runs / "run_a", runs / "run_b").stdout
    assert f"of {len(said['edges'])} changed" in printed
    assert first["event"] in printed


def test_a_run_beside_itself_has_not_changed(runs: Path) -> None:
    said = run_json("compare", runs / "run_a", runs / "run_a")
    assert set(said["counts"]) - {name for name, count in said["counts"].items() if count} >= {
        "lost",
        "gained",
    }
    assert said["counts"]["none"] == len(said["edges"]) == len(read_graph(runs / "run_a" / "graph.parquet"))
    assert all(edge["ratio"] == pytest.approx(1.0) for edge in said["edges"])
    assert "Changed edges" not in run("compare", runs / "run_a", runs / "run_a").stdout
    assert "Edges" in run("compare", runs / "run_a", runs / "run_a", "--all").stdout


def test_labels_of_one_run_are_named(runs: Path) -> None:
    printed = run("compare", runs / "run_a", runs / "run_c").stdout
    assert "Labels only in A: L001." in printed
    assert "Event types only in A, with their label:" in printed


def test_data_that_are_gone_are_told_and_can_be_named_anew(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs, tmp_path / "moved")
    record = tmp_path / "moved" / "run_b" / "data.json"
    edit(record, events=str(tmp_path / "gone.parquet"))
    said = run("compare", runs / "run_a", tmp_path / "moved" / "run_b", code=1).stderr
    assert (
        f"the data of {tmp_path / 'moved' / 'run_b'} are gone: {tmp_path / 'gone.parquet'} does not exist"
        in said
    )
    assert "name them with --events-b and --labels-b" in said
    tables = ("--events-b", runs / "b" / "events.parquet", "--labels-b", runs / "b" / "labels.parquet")
    moved = run_json("compare", runs / "run_a", tmp_path / "moved" / "run_b", *tables)
    assert moved["edges"] == run_json("compare", runs / "run_a", runs / "run_b")["edges"]
    said = run("compare", runs / "run_a", runs / "run_b", "--labels-b", "x.csv", code=1).stderr
    assert "--labels-b needs --events-b" in said


def test_other_data_than_those_of_the_graph_are_told(runs: Path) -> None:
    tables = ("--events-b", runs / "a" / "events.parquet", "--labels-b", runs / "a" / "labels.parquet")
    told = run("compare", runs / "run_a", runs / "run_b", *tables).stderr
    assert "was made from other data and is compared all the same" in told


def test_a_run_that_does_not_know_its_data_is_told(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "run_a", tmp_path / "bare")
    (tmp_path / "bare" / "data.json").unlink()
    assert "does not know its data" in run("compare", tmp_path / "bare", runs / "run_a", code=1).stderr
    assert (
        "name them with --events and --labels" in run("without", tmp_path / "bare", "E00001", code=1).stderr
    )


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    message = f"{tmp_path} holds no finished run: it has no graph.parquet; run discover first"
    assert message in run("compare", tmp_path, tmp_path, code=1).stderr
    assert message in run("without", tmp_path, "x", code=1).stderr


def test_a_page_that_is_no_html_is_refused(runs: Path) -> None:
    said = run("compare", runs / "run_a", runs / "run_b", "--out", "page.pdf", code=1).stderr
    assert "--out page.pdf: the page is HTML" in said


def test_alpha_is_checked(runs: Path) -> None:
    assert "--alpha 2.0" in run("compare", runs / "run_a", runs / "run_b", "--alpha", "2", code=1).stderr


def test_without_a_cause_there_are_fewer_labels_as_the_simulator_has_it(runs: Path, tmp_path: Path) -> None:
    verdicts = read_verdicts(runs / "run_a" / "verdicts.json")
    label = next(name for name, verdict in verdicts.items() if verdict.level == "trust")
    cause = read_graph(runs / "a" / "truth.parquet").boundary(label)[0]
    run("simulate", "noisy_or", tmp_path / "prevented", *WORLD, "--without", cause)
    (answer,) = run_json("without", runs / "run_a", cause, "--label", label)["answers"]
    after = read_graph(tmp_path / "prevented" / "truth.parquet").support[label]
    assert after < answer["now"]
    assert answer["without_low"] <= after <= answer["without_high"]
    assert answer["level"] == "trust"
    printed = run("without", runs / "run_a", cause, "--label", label).stdout
    assert f"Without {cause}, " in printed
    assert "No hidden common cause" in printed
    assert "Warning" not in printed


def test_python_and_the_command_line_agree(runs: Path) -> None:
    cargo = Cargo.load(runs / "run_a")
    cause = cargo.graph_.boundary("L000")[0]
    said = run_json("without", runs / "run_a", cause)["answers"]
    data = read_events(str(runs / "a" / "events.parquet"), str(runs / "a" / "labels.parquet"))
    assert [answer.to_dict() for answer in cargo.without(cause, data=data)] == said
    assert [answer.to_dict() for answer in cargo.without(cause)] == said


def test_where_a_hidden_cause_is_likely_the_answer_warns(runs: Path) -> None:
    decoy = json.loads((runs / "c" / "simulation.json").read_text())["rules"]["L000"].split()[-1]
    (answer,) = run_json("without", runs / "run_c", decoy)["answers"]
    assert answer["level"] != "trust"
    assert "so the assumptions may not hold" in answer["warnings"][0]
    assert "hidden cause" in answer["warnings"][0]
    assert "Warning: the verdict on the label is" in run("without", runs / "run_c", decoy).stdout


def test_unknown_names_are_refused_with_the_nearest(runs: Path) -> None:
    assert "did you mean 'L000'?" in run("without", runs / "run_c", "E00001", "--label", "L00", code=1).stderr
    assert "no event type 'F77'" in run("without", runs / "run_c", "F77", code=1).stderr


def test_verdicts_on_another_graph_do_not_count(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "run_a", tmp_path / "run")
    cause = read_graph(runs / "run_a" / "graph.parquet").boundary("L000")[0]
    write_graph(LabelGraph.from_boundaries({"L000": [cause]}), tmp_path / "run" / "graph.parquet")
    (answer, *_) = run_json("without", tmp_path / "run", cause)["answers"]
    assert answer["level"] is None
    assert "there is no verdict on the label" in answer["warnings"][0]
