from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest

from eventcargo import DataError, __version__, read_events
from eventcargo.cli import COMMANDS, _show_warning, as_option
from eventcargo.errors import UNSET

from .program import run


def test_help_lists_every_command() -> None:
    printed = run("--help").stdout
    assert all(name in printed for name in COMMANDS)


def test_every_command_has_help_of_its_own() -> None:
    for name in COMMANDS:
        assert f"eventcargo {name}" in run(name, "--help").stdout


def test_help_says_what_every_command_does() -> None:
    printed = " ".join(run("-h").stdout.replace("│", " ").split())
    assert all(text in printed for text in COMMANDS.values())


def test_without_a_command_the_help_is_shown() -> None:
    done = run(code=2)
    assert "validate" in done.stdout + done.stderr


def test_version_is_printed() -> None:
    assert run("--version").stdout.strip() == f"eventcargo {__version__}"


def test_an_unknown_command_is_a_usage_error() -> None:
    assert "frobnicate" in run("frobnicate", code=2).stderr


def test_a_command_that_is_most_like_an_unknown_one_is_named() -> None:
    assert "Did you mean 'discover'?" in run("discovr", code=2).stderr


def test_an_option_that_is_most_like_an_unknown_one_is_named() -> None:
    assert "--sequence-id" in run("validate", "e.csv", "--sequence-idd", "x", code=2).stderr


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("sequence_id", UNSET, "--sequence-id"),
        ("time_format", "%d.%m.%Y %H:%M", "--time-format '%d.%m.%Y %H:%M'"),
        ("min_frequency", 2.0, "--min-frequency 2.0"),
        ("values", ["mileage", "outer heat"], "--values mileage --values 'outer heat'"),
        ("resume", True, "--resume"),
        ("linear", False, "--no-linear"),
        ("labels", None, "--labels"),
        ("method", "x", "METHOD x"),
        ("out", Path("my runs", "7" * 300), f"--out 'my runs/{'7' * 300}'"),
        ("size", "9" * 5_000, f"--size {'9' * 200}..."),
        pytest.param("tau", 10**5_000, "--tau 'a number with thousands of digits'", id="tau"),
    ],
)
def test_an_argument_is_shown_as_an_option(name: str, value: object, shown: str) -> None:
    assert as_option(name, value) == shown


def test_errors_speak_of_options_on_the_command_line_and_of_keywords_in_python(tmp_path: Path) -> None:
    table = tmp_path / "e.csv"
    pl.DataFrame({"vin": ["a"], "Event": ["x"]}).write_csv(table)
    assert "name the right one with --sequence-id" in run("validate", table, code=1).stderr
    said = run("validate", table, "--sequence-id", "vin", code=1).stderr
    assert "did you mean --event Event?" in " ".join(said.split())
    said = run("baseline", "iamb", table, "--out", tmp_path / "g.csv", "--alpha", "2", code=1).stderr
    assert said.startswith("error: --alpha 2.0: use a number")
    with pytest.raises(DataError, match="did you mean event='Event'"):
        read_events(table, sequence_id="vin")


def test_a_missing_argument_is_a_usage_error() -> None:
    assert "events" in run("validate", code=2).stderr.lower()


def test_an_interrupt_is_told_and_leaves_no_graph(fleet: Path, tmp_path: Path) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    tables = (fleet / "events.parquet", "--labels", fleet / "labels.parquet")
    with patch("eventcargo.baselines.find.edge_statistics", stop):
        said = run("baseline", "iamb", *tables, "--out", tmp_path / "g.csv", code=130).stderr
    assert "interrupted" in said
    assert list(tmp_path.iterdir()) == []


def foreign_label(folder: Path) -> tuple[str | Path, ...]:
    """A command that warns: the graph has a label that the truth lacks."""
    pl.DataFrame({"label": ["a", "b"], "event": ["x", "x"]}).write_csv(folder / "g.csv")
    pl.DataFrame({"label": ["a"], "event": ["x"]}).write_csv(folder / "t.csv")
    return "evaluate", folder / "g.csv", "--truth", folder / "t.csv"


def test_a_warning_is_one_line_on_standard_error_every_time(tmp_path: Path) -> None:
    command = foreign_label(tmp_path)
    for _ in range(2):
        done = run(*command)
        assert done.stderr.startswith("warning: left out 1 of 2 labels of the graph")
        assert "warning: " not in done.stdout


def test_a_warning_that_a_command_raises_twice_is_printed_once(tmp_path: Path) -> None:
    command = foreign_label(tmp_path)
    truth = pl.DataFrame({"label": ["a", "a"], "event": ["x", "y"], "sign": [1, -1]})
    truth.write_csv(tmp_path / "t.csv")  # with a negated literal a graph is scored twice
    assert run(*command).stderr.count("warning: ") == 1


def test_warnings_of_other_packages_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    _show_warning("old", DeprecationWarning, "file.py", 1, printed=set())
    assert capsys.readouterr().err == ""


def test_an_error_goes_to_standard_error_alone() -> None:
    done = run("validate", "nowhere.parquet", code=1)
    assert done.stdout == ""
    assert done.stderr.count("error: ") == 1


def test_an_error_of_the_system_names_the_file(fleet: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    truth = fleet / "truth.parquet"
    said = run("evaluate", truth, "--truth", truth, "--out", tmp_path / "file" / "s.json", code=1).stderr
    assert said.strip() == f"error: {tmp_path / 'file'}: File exists"


def test_an_error_of_the_system_without_a_file_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "is_dir", fail)
    assert run("validate", "e.csv", code=1).stderr.strip() == "error: the disk is full"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "not enough memory; close other programs"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "not enough memory"),
        (ImportError("libx.so: failed to map segment from shared object"), "not enough memory"),
        (BrokenProcessPool("a child process terminated abruptly"), "a worker process ended"),
    ],
    ids=["Python", "torch", "loader", "worker"],
)
def test_memory_that_runs_out_is_told_in_one_sentence(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("eventcargo.cli.app", fail)
    stderr = run("validate", "x.csv", code=1).stderr
    assert stderr.startswith(f"error: {said}")
    assert stderr.count("\n") == 1


def test_other_errors_of_these_kinds_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("eventcargo.cli.app", fail)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        run("validate", "x.csv")
