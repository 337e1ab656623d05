import json
from pathlib import Path
from typing import Any

import pytest

from .program import run, run_json

TEXTS = {
    "run.yaml": "preset: fast\nmax_time: 9m\nvalues: [km]\nseed: 7\nfocused: no\nsequence-id: 007\n",
    "run.toml": 'preset = "fast"\nmax_time = "9m"\nvalues = ["km"]\nseed = 7\n'
    'focused = false\n"sequence-id" = "007"\n',
    "run.json": json.dumps(
        {
            "preset": "fast",
            "max_time": "9m",
            "values": ["km"],
            "seed": 7,
            "focused": False,
            "sequence-id": "007",
        }
    ),
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Events and labels in one place, with columns of odd names."""
    (tmp_path / "e.csv").write_text("007,time,event,km\na,0,x,1\nb,1,y,2\n")
    (tmp_path / "l.csv").write_text("007,label\na,bad\nb,worse\n")
    return tmp_path / "e.csv"


def plan(table: Path, *options: str | Path) -> Any:
    """The settings of a run that is not begun."""
    labels = ("--labels", table.with_name("l.csv"))
    return run_json("discover", table, *labels, "--out", "run", "--dry-run", *options)["settings"]


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize("name", TEXTS)
def test_options_come_from_a_file(table: Path, name: str) -> None:
    settings = plan(table, "--config", write(table.parent, name, TEXTS[name]))
    assert [settings[key] for key in ("preset", "max_time", "seed", "focused")] == ["fast", "9m", 7, False]


def test_the_command_line_wins_over_the_file(table: Path) -> None:
    path = write(table.parent, "run.yaml", TEXTS["run.yaml"])
    settings = plan(table, "--config", path, "--seed", "3", "--focused")
    assert (settings["seed"], settings["focused"], settings["preset"]) == (3, True, "fast")


def test_a_command_finds_its_options_under_its_name_and_leaves_those_of_others(table: Path) -> None:
    text = "sequence_id: '007'\nseed: 1\ndiscover:\n  seed: 2\ntrain:\n  size: tiny\n"
    assert plan(table, "--config", write(table.parent, "run.yaml", text))["seed"] == 2


def test_a_command_may_have_the_name_of_an_option_of_another(tmp_path: Path) -> None:
    path = write(tmp_path, "run.yaml", "baseline: {alpha: 0.01}\n")  # `report` has an option --baseline
    assert "nowhere" in run("report", tmp_path / "nowhere", "--config", path, code=1).stderr


def test_arguments_and_required_options_may_be_in_the_file(table: Path) -> None:
    path = write(
        table.parent,
        "run.json",
        json.dumps(
            {
                "events": str(table),
                "labels": [str(table.with_name("l.csv"))],
                "sequence_id": "007",
                "out": "r",
            }
        ),
    )
    assert "About " in run("discover", "--config", path, "--dry-run").stdout


def test_a_regime_finds_its_options_under_its_command(tmp_path: Path) -> None:
    path = write(
        tmp_path, "run.yaml", "simulate:\n  seed: 5\n  chain:\n    sequences: 12\n  fleet: {labels: 3}\n"
    )
    shown = run_json("simulate", "chain", tmp_path / "data", "--config", path)
    assert (shown["sequences"], shown["seed"]) == (12, 5)


def test_a_dry_run_tells_which_settings_are_not_the_default(table: Path) -> None:
    path = write(table.parent, "run.yaml", TEXTS["run.yaml"])
    shown = run(
        "discover", table, "--labels", table.with_name("l.csv"), "--out", "r", "--config", path, "--dry-run"
    )
    assert "not the default: preset fast, max_time 9m, focused False, seed 7." in " ".join(
        shown.stdout.split()
    )


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.yaml", "presett: fast", "a.yaml: presett is no option of discover; did you mean preset?"),
        ("a.yaml", "xyzzy: 1", "a.yaml: xyzzy is no option of discover; `"),
        ("a.yaml", f"{'x' * 99}: 1", f"a.yaml: {'x' * 60}... is no option of discover; `"),
        ("a.yaml", "discovr: {seed: 1}", "a.yaml: discovr is no option of discover; did you mean discover?"),
        ("a.yaml", "config: b.yaml", "a.yaml: config is no option of discover"),
        ("a.toml", 'seed = "many"', "a.toml: seed is 'many': "),
        ("a.json", '{"seed": [1, 2]}', "a.json: seed is ['1', '2']; give one value"),
        ("a.json", '{"values": [["a"]]}', "a.json: values is [['a']]; give a value or a list of values"),
        ("a.json", '{"values": {"a": 1}}', "a.json: values has entries of its own; give a value"),
        ("a.yaml", "seed:", "a.yaml: seed is None; give one value"),
        ("a.yaml", "resume: perhaps", "a.yaml: resume is 'perhaps': "),
        (
            "a.yaml",
            "max_time: 9m\nmax-time: 8m",
            "a.yaml: max-time and max_time are the same option; keep one",
        ),
        ("a.yaml", "seed: 1\nseed: 2", "a.yaml: the key 'seed' appears twice"),
        ("a.yaml", "discover: {seed: -4}", "a.yaml: seed -4: use a whole number of at least 0"),
        ("a.yaml", "max_time: soon", "a.yaml: max_time 'soon': "),
        ("a.yaml", "- seed", "a.yaml is ['seed'], not options by their names"),
        ("a.yaml", "a: !!python/object:os.system x", "a.yaml: line 1 has 'x', which YAML reads as"),
        ("a.toml", "seed = ", "a.toml: is not TOML: "),
        ("a.json", "{", "a.json: is not JSON: "),
        ("a.ini", "", "a.ini: the ending '.ini' is unknown; use .json, .yaml, .yml, .toml"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words_of_the_file(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    path = write(tmp_path, name, text)
    stderr = run("discover", "nowhere.csv", "--out", "run", "--config", path, code=1).stderr
    assert told in " ".join(stderr.replace(f"{tmp_path}/", "").split())


def test_an_error_in_an_option_of_the_command_line_names_the_option(table: Path) -> None:
    path = write(table.parent, "run.yaml", TEXTS["run.yaml"])
    stderr = run("discover", table, "--out", "run", "--config", path, "--seed", "-1", code=1).stderr
    assert stderr.startswith("error: --seed -1: ")


def test_a_file_that_grows_without_end_is_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]" for at in range(1, 9)]
    path = write(tmp_path, "a.yaml", "\n".join(lines))
    assert "once its aliases are written out" in run("validate", "e.csv", "--config", path, code=1).stderr


def test_a_file_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    for name, text in (("a.json", "[" * 100_000), ("a.toml", f"a = {'[' * 100_000}"), ("a.yaml", "[" * 3000)):
        told = run("validate", "e.csv", "--config", write(tmp_path, name, text), code=1).stderr
        assert "is nested too deeply" in told
