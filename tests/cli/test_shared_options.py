import json
import logging
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from eventcargo import progress
from eventcargo.cli import COMMANDS

from .program import run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two events, of two sequences."""
    (tmp_path / "e.csv").write_text("sequence_id,time,event\na,0,x\nb,1,x\n")
    return tmp_path / "e.csv"


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """A graph with a column that nobody knows, which gives a warning."""
    (tmp_path / "g.csv").write_text("label,event,mood\nbrake,P01,good\n")
    return tmp_path / "g.csv"


def test_every_command_has_the_shared_options() -> None:
    for name in COMMANDS:
        words = (name, "chain", "--help") if name == "simulate" else (name, "--help")
        shown = run(*words).stdout
        assert all(option in shown for option in ("--quiet", "-q", "--verbose", "-v", "--config"))


def test_quiet_leaves_results_and_hides_warnings(graph: Path, tmp_path: Path) -> None:
    convert = ("convert", graph, "--out", tmp_path / "g.json")
    loud = run(*convert)
    assert "warning: " in loud.stderr
    for words in (("-q", *convert), (*convert, "--quiet")):
        quiet = run(*words)
        assert (quiet.stdout, quiet.stderr) == (loud.stdout, "")


def test_quiet_leaves_errors() -> None:
    assert run("validate", "nowhere.csv", "--quiet", code=1).stderr.startswith("error: nowhere.csv does not")


@pytest.mark.parametrize("words", [("-v", "validate"), ("validate", "-v"), ("validate", "--verbose")])
def test_verbose_tells_stages_and_durations_on_standard_error(table: Path, words: tuple[str, ...]) -> None:
    done = run(words[0], *words[1:], table)
    lines = done.stderr.splitlines()
    assert any(line.endswith(" s") and "read 2 sequences with 2 events in " in line for line in lines)
    assert lines[-1].split(" ", 1)[1].startswith("command: done in ")
    assert "read 2 sequences" not in done.stdout


def test_warnings_remain_warnings_beside_the_log(graph: Path, tmp_path: Path) -> None:
    assert "warning: " in run("convert", graph, "--out", tmp_path / "g.json", "-v").stderr


@pytest.mark.parametrize("words", [("-vv",), ("-v", "-v"), ("--verbose", "--verbose")])
def test_twice_verbose_tells_details_with_their_module(table: Path, words: tuple[str, ...]) -> None:
    told = run("validate", table, *words).stderr
    assert "DEBUG eventcargo.cli: command: begins" in told or "INFO eventcargo.io.tables: read" in told
    assert "INFO eventcargo.io.tables: read 2 sequences" in told


def test_verbose_before_and_after_the_command_add_up(table: Path) -> None:
    assert "INFO eventcargo.io.tables: " in run("-v", "validate", table, "-v").stderr


def test_nothing_is_told_without_it_and_nothing_stays_behind(table: Path) -> None:
    run("validate", table, "-vv")
    logger = logging.getLogger("eventcargo")
    assert logger.level == logging.NOTSET
    assert [type(handler) for handler in logger.handlers] == [logging.NullHandler]
    assert "read 2 sequences" not in run("validate", table).stderr


def test_quiet_and_verbose_exclude_each_other(table: Path) -> None:
    for words in (("-q", "-v", "validate"), ("-v", "validate", "-q"), ("validate", "-qv")):
        assert "either --quiet or --verbose" in run(*words, table, code=2).stderr


def test_json_stays_json_beside_the_log(table: Path) -> None:
    assert json.loads(run("validate", table, "--json", "-vv").stdout)


def test_an_error_tells_when_it_came(table: Path) -> None:
    told = run("validate", "nowhere.csv", "-v", code=1).stderr
    assert "command: stopped after " in told
    assert "by DataError" in told


def test_quiet_draws_no_bars(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (table.parent / "l.csv").write_text("sequence_id,label\na,bad\n")
    out = table.parent / "g.json"
    find = ("baseline", "iamb", table, "--labels", table.parent / "l.csv", "--out", out)
    wanted: list[bool] = []

    def noted() -> AbstractContextManager[progress.OnProgress]:
        wanted.append(progress._wanted)
        return progress.progress_bars()

    monkeypatch.setattr("eventcargo.cli.baseline.progress_bars", noted)
    for words in (find, (*find, "--quiet"), ("-q", *find), find):
        run(*words)
    assert wanted == [True, False, False, True]
