"""The examples run, on tables that they make or on recorded data where those are at hand, and find causes."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"

pytestmark = pytest.mark.slow
recorded = pytest.mark.skipif(not DATA.is_dir(), reason=f"no folder {DATA}")


def printed(example: str, *arguments: Path) -> list[str]:
    """What an example prints, line by line."""
    command = [sys.executable, ROOT / "examples" / f"{example}.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def after(lines: list[str], title: str) -> list[str]:
    """The indented lines below a title."""
    below = lines[lines.index(title) + 1 :]
    end = next((at for at, line in enumerate(below) if not line.startswith(" ")), len(below))
    return [line.strip() for line in below[:end]]


def test_messy_tables_of_vehicles_give_causes_rules_and_the_vehicles_at_risk() -> None:
    lines = printed("vehicles")
    shown = (ROOT / "README.md").read_text("utf-8").split("```text\n")[1].split("```")[0]
    assert shown in "\n".join(lines)
    assert after(lines, "turbocharger")[:2] == ["causes: p0299, p0045", "rule: p0299 & p0045"]
    assert after(lines, "gearbox")[:2] == ["causes: p0741, model=Golf", "rule: p0741 & model=Golf"]
    assert [after(lines, part)[2].split(":")[0] for part in ("turbocharger", "gearbox")] == ["trust"] * 2
    (moved,) = [line for line in lines if line.startswith("What moves the turbocharger of")]
    assert {move.split(";")[0] for move in after(lines, moved)} == {"p0299", "p0045"}
    assert any(line.startswith("Without p0299, 0 instead of") for line in lines)


def test_records_of_patients_give_a_threshold_and_causes_within_sites() -> None:
    lines = printed("clinic")
    causes, rule, verdict = after(lines, "acute kidney injury")
    assert causes == "causes: creatinine >= 1.96, MED//vancomycin, PROC//Röntgen mit Kontrastmittel"
    assert rule == 'rule: "creatinine >= 1.96" | (MED//vancomycin & "PROC//Röntgen mit Kontrastmittel")'
    assert verdict.startswith("trust: ")
    assert "creatinine >= 1.96; without it" in " ".join(lines)
    assert after(lines, "sepsis")[0].endswith("site=north")
    assert lines[-1] == "sepsis within sites: ICD//N39.0, PROC//urinary catheter"


def test_a_stream_of_alarms_gives_causes_and_explains_a_window() -> None:
    lines = printed("alarms")
    assert after(lines, "outage")[0] == "causes: OOMKilled"
    assert after(lines, "data loss")[0] == "causes: disk latency high, replica lag"
    sentences = after(lines, next(line for line in lines if line.startswith("P(data loss")))
    assert [line.split(",")[0] for line in sentences] == [
        "Without disk latency high",
        "Without replica lag",
    ]
    assert any(line.startswith("Without OOMKilled, ") for line in lines)


@recorded
def test_the_errors_that_lead_to_failures_are_told() -> None:
    lines = printed("maintenance", DATA / "azure_pdm")
    errors = {"comp1": {"error1"}, "comp2": {"error2", "error3"}, "comp3": {"error4"}, "comp4": {"error5"}}
    for component, expected in errors.items():
        causes, rule, verdict = after(lines, component)
        told = causes.removeprefix("causes: ").split(", ")
        assert {event for event in told if event.startswith("error")} == expected
        assert all(event in rule for event in expected)
        assert verdict.startswith("trust: ")


@recorded
def test_an_alarm_is_explained_by_the_signal_that_raised_it() -> None:
    lines = printed("explain_one_alarm", DATA / "causrca")
    moves = [line.split()[0] for line in lines if line.startswith("  ")]
    assert moves[0] == "Hyd_Level_Ok=False"
    assert "Hyd_Level_Ok=False" in lines[-1]


@recorded
def test_cargo_names_fewer_wrong_signals_than_the_textbook_method() -> None:
    lines = printed("textbook", DATA / "causrca")
    assert "Cargo: Hyd_Temp_lt_80*" in after(lines, "Hyd_A_700204")  # not _70, which falls before it does
    figures = {line.split(":")[0]: line.split() for line in lines if "precision" in line}
    precision, recall = (
        {method: float(words[at].strip(",")) for method, words in figures.items()} for at in (2, 4)
    )
    assert precision["Cargo"] > precision["IAMB"] + 0.1
    assert recall["Cargo"] >= recall["IAMB"]
