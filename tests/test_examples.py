"""The examples run on the data that they are about, where those are at hand, and find the known causes."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not DATA.is_dir(), reason=f"no folder {DATA}")]


def printed(example: str, data: str) -> list[str]:
    """What an example prints, line by line."""
    command = [sys.executable, str(ROOT / "examples" / f"{example}.py"), str(DATA / data)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def after(lines: list[str], title: str) -> list[str]:
    """The indented lines below a title."""
    below = lines[lines.index(title) + 1 :]
    end = next((at for at, line in enumerate(below) if not line.startswith(" ")), len(below))
    return [line.strip() for line in below[:end]]


def test_the_errors_that_lead_to_failures_are_told() -> None:
    lines = printed("maintenance", "azure_pdm")
    errors = {"comp1": {"error1"}, "comp2": {"error2", "error3"}, "comp3": {"error4"}, "comp4": {"error5"}}
    for component, expected in errors.items():
        causes, rule, verdict = after(lines, component)
        told = causes.removeprefix("causes: ").split(", ")
        assert {event for event in told if event.startswith("error")} == expected
        assert all(event in rule for event in expected)
        assert verdict.startswith("trust: ")


def test_an_alarm_is_explained_by_the_signal_that_raised_it() -> None:
    lines = printed("explain_one_alarm", "causrca")
    moves = [line.split()[0] for line in lines if line.startswith("  ")]
    assert moves[0] == "Hyd_Level_Ok=False"
    assert "Hyd_Level_Ok=False" in lines[-1]


def test_cargo_names_fewer_wrong_signals_than_the_textbook_method() -> None:
    lines = printed("textbook", "causrca")
    assert "Cargo: Hyd_Temp_lt_80*" in after(lines, "Hyd_A_700204")  # not _70, which falls before it does
    figures = {line.split(":")[0]: line.split() for line in lines if "precision" in line}
    precision, recall = (
        {method: float(words[at].strip(",")) for method, words in figures.items()} for at in (2, 4)
    )
    assert precision["Cargo"] > precision["IAMB"] + 0.1
    assert recall["Cargo"] >= recall["IAMB"]
