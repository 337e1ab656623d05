from pathlib import Path

import pytest

from eventcargo import EdgeTable

from .program import run, run_json


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[str, ...]]:
    """A run with a model, and the arguments of its data."""
    folder = tmp_path_factory.mktemp("extract")
    run("simulate", "chain", folder / "data", "--sequences", "200", "--seed", "100")
    data = (str(folder / "data" / "events.parquet"), "--labels", str(folder / "data" / "labels.parquet"))
    quick = ("--size", "tiny", "--steps", "4", "--checks", "1", "--tokens", "512")
    run("train", *data, "--out", folder / "run", *quick)
    return folder / "run", data


def test_edges_are_written_and_told(trained: tuple[Path, tuple[str, ...]], tmp_path: Path) -> None:
    (tmp_path / "model").symlink_to(trained[0] / "model")
    said = run_json("extract", tmp_path, *trained[1])
    table = EdgeTable.read(tmp_path / "edges")
    assert said["rows"] == len(table.edges) > 100
    assert said["shards"] == 1


def test_people_get_a_table_of_what_was_found(trained: tuple[Path, tuple[str, ...]], tmp_path: Path) -> None:
    (tmp_path / "model").symlink_to(trained[0] / "model")
    printed = run("extract", tmp_path, *trained[1]).stdout
    assert "Events found most often" in printed
    assert "L000" in printed
    assert "edges of 200 sequences" in printed


def test_edges_are_gone_on_with_by_resume_only(trained: tuple[Path, tuple[str, ...]], tmp_path: Path) -> None:
    (tmp_path / "model").symlink_to(trained[0] / "model")
    first = run_json("extract", tmp_path, *trained[1])
    assert "exists already" in run("extract", tmp_path, *trained[1], code=1).stderr
    assert run_json("extract", tmp_path, *trained[1], "--resume") == first


def test_the_paper_s_test_can_be_asked_for(trained: tuple[Path, tuple[str, ...]], tmp_path: Path) -> None:
    (tmp_path / "model").symlink_to(trained[0] / "model")
    options = ("--test", "prefix", "--particles", "2", "--context", "3", "--workers", "1")
    run("extract", tmp_path, *trained[1], *options)
    assert EdgeTable.read(tmp_path / "edges").support["test"].unique().to_list() == ["prefix"]


def test_a_folder_without_a_model_is_refused(trained: tuple[Path, tuple[str, ...]], tmp_path: Path) -> None:
    said = run("extract", tmp_path, *trained[1], code=1).stderr
    assert "config.json does not exist" in said


def test_a_bad_size_of_memory_is_refused(trained: tuple[Path, tuple[str, ...]]) -> None:
    said = run("extract", trained[0], *trained[1], "--max-memory", "lots", code=1).stderr
    assert "--max-memory lots: " in said
    assert not (trained[0] / "edges").exists()


def test_pairs_that_are_known_to_be_none_are_not_tested(
    trained: tuple[Path, tuple[str, ...]], tmp_path: Path
) -> None:
    (tmp_path / "model").symlink_to(trained[0] / "model")
    (tmp_path / "known.json").write_text('{"forbidden": {"L000": "*0"}}')
    run("extract", tmp_path, *trained[1], "--knowledge", tmp_path / "known.json")
    exposed = EdgeTable.read(tmp_path / "edges").exposed
    assert {name[-1] for name in exposed.filter(label="L000")["event"]} == set("123456789")
    assert {name[-1] for name in exposed.filter(label="L001")["event"]} == set("0123456789")


def test_bad_knowledge_is_refused_before_the_model_is_read(tmp_path: Path) -> None:
    (tmp_path / "known.json").write_text('{"forbiden": {}}')
    said = run("extract", tmp_path, "none.parquet", "--knowledge", tmp_path / "known.json", code=1).stderr
    assert "unknown key 'forbiden'" in said
