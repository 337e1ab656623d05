"""Help and usage errors come at once: they load nothing heavy. Checked in a fresh interpreter."""

from pathlib import Path

import pytest

from eventcargo.cli import COMMANDS
from eventcargo.simulation import RAW_REGIMES, REGIMES

from ..loaded import after_commands
from .program import run

HELPS = {
    "--help": ("--help",),
    "--version": ("--version",),
    **{name: (name, "--help") for name in COMMANDS},
    **{f"simulate {regime}": ("simulate", regime, "--help") for regime in [*REGIMES, *RAW_REGIMES]},
}

ERRORS = {
    "unknown command": (("frobnicate",), 2, "frobnicate"),
    "unknown option": (("discover", "e.csv", "--out", "r", "--presett", "fast"), 2, "--presett"),
    "missing argument": (("train",), 2, "events"),
    "no number": (("discover", "e.csv", "--out", "r", "--seed", "many"), 2, "--seed"),
    "bad choice": (("discover", "e.csv", "--out", "r", "--preset", "slow"), 1, "--preset slow: "),
    "bad time": (("discover", "e.csv", "--out", "r", "--max-time", "soon"), 1, "--max-time soon: "),
    "bad method": (("baseline", "magic", "e.csv", "--out", "g.csv"), 1, "METHOD magic: "),
    "bad ending": (("baseline", "iamb", "e.csv", "--out", "g.doc"), 1, "g.doc has an unknown ending"),
    "no events": (("validate", "nowhere.csv"), 1, "nowhere.csv does not exist"),
    "no events to train on": (("train", "nowhere.csv", "--out", "r"), 1, "nowhere.csv does not exist"),
    "no labels": (("discover", __file__, "--labels", "no.csv", "--out", "r"), 1, "no.csv does not exist"),
    "no graph": (("evaluate", "nowhere.csv", "--truth", "t.csv"), 1, "nowhere.csv is not a file"),
    "no truth": (("discover", "e.csv", "--out", "r", "--truth", "t.csv"), 1, "t.csv is not a file"),
    "no run to judge": (("judge", "nowhere"), 1, "nowhere has no graph.parquet"),
    "no run to explain": (("explain", "nowhere", "--sequence", "a"), 1, "nowhere holds no run"),
    "no model to explain": (("explain", "nowhere", "--events", "A,B"), 1, "nowhere holds no run"),
    "no run to predict by": (("predict", "nowhere", "e.csv"), 1, "nowhere holds no run"),
    "no run to serve": (("serve", "nowhere"), 1, "nowhere holds no run"),
    "no run to compare": (("compare", "nowhere", "elsewhere"), 1, "nowhere holds no finished run"),
    "no run to do without": (("without", "nowhere", "A"), 1, "nowhere holds no finished run"),
    "no page": (("compare", "nowhere", "elsewhere", "--out", "page.doc"), 1, "--out page.doc: the page is"),
    "no model": (("extract", "nowhere", "e.csv"), 1, "config.json does not exist"),
}

Results = dict[str, tuple[int, str, set[str]]]


@pytest.fixture(scope="module")
def helps() -> Results:
    return dict(zip(HELPS, after_commands(HELPS.values()), strict=True))


@pytest.fixture(scope="module")
def errors() -> Results:
    results = after_commands(command for command, _, _ in ERRORS.values())
    return dict(zip(ERRORS, results, strict=True))


@pytest.mark.parametrize("name", HELPS)
def test_help_loads_nothing_heavy(helps: Results, name: str) -> None:
    code, told, loaded = helps[name]
    assert (code, told, loaded) == (0, "", set())


@pytest.mark.parametrize("name", ERRORS)
def test_a_usage_error_loads_nothing_heavy(errors: Results, name: str) -> None:
    code, told, loaded = errors[name]
    _, expected_code, message = ERRORS[name]
    assert (code, loaded) == (expected_code, set())
    assert message in told


def test_heavy_packages_are_seen(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("sequence_id,time,event\na,0,x\n")
    ((code, _, loaded),) = after_commands([("validate", str(tmp_path / "events.csv"))])
    assert (code, "pyarrow" in loaded) == (0, True)


def test_an_explanation_loads_torch_and_the_readers_alone(tmp_path: Path) -> None:
    run("simulate", "chain", tmp_path / "data", "--sequences", "100", "--seed", "100")
    tables = (tmp_path / "data" / "events.parquet", "--labels", tmp_path / "data" / "labels.parquet")
    run("train", *tables, "--out", tmp_path / "run", "--size", "tiny", "--steps", "2", "--checks", "1")
    ((code, told, loaded),) = after_commands([("explain", str(tmp_path / "run"), "--sequence", "S000001")])
    assert (code, told) == (0, "")
    needed = {"torch", "safetensors", "polars", "pyarrow", "scipy"}
    by_pyarrow = {"pandas"}  # pyarrow loads it where it is installed
    assert loaded - by_pyarrow == needed


def test_a_whole_run_loads_neither_the_compiler_of_torch_nor_networkx(tmp_path: Path) -> None:
    run("simulate", "chain", tmp_path / "data", "--sequences", "200", "--labels", "1", "--seed", "100")
    tables = (
        str(tmp_path / "data" / "events.parquet"),
        "--labels",
        str(tmp_path / "data" / "labels.parquet"),
    )
    command = ("discover", *tables, "--out", str(tmp_path / "run"), "--preset", "fast", "--steps", "2")
    ((code, told, loaded),) = after_commands([command])
    assert (code, told) == (0, "")
    assert not {"torch._dynamo", "networkx"} & loaded


def test_rules_load_the_readers_alone(tmp_path: Path) -> None:
    run("simulate", "short", tmp_path / "data", "--sequences", "300", "--seed", "100")
    tables = (tmp_path / "data" / "events.parquet", "--labels", tmp_path / "data" / "labels.parquet")
    run("discover", *tables, "--out", tmp_path / "run", "--preset", "fast", "--steps", "2")
    (tmp_path / "run" / "rules.json").unlink()
    ((code, told, loaded),) = after_commands([("rules", str(tmp_path / "run"))])
    assert code == 0, told
    assert loaded <= {"polars", "pyarrow", "scipy", "pandas"}  # pyarrow loads pandas where it is installed
