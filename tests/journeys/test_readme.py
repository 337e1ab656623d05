"""The commands of README end well, as they stand, on tables with the columns they name."""

import re
import shlex
import shutil
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eventcargo import read_graph
from eventcargo.cli import COMMANDS
from eventcargo.cohort.config import read_cohort

from ..cli.program import run

README = Path(__file__).parents[2] / "README.md"
START = datetime(2024, 1, 1)
QUICK = {"discover": ["--preset", "fast", "--steps", "5"]}
"""What may be added for speed."""


OTHER = re.compile("COMMAND|RUN EVENTS|--install-completion|eventcargo serve")
"""Commands that stand for others, change the shell, or end only when they are stopped."""


def section(title: str) -> str:
    return README.read_text("utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]


def blocks(text: str, language: str = "") -> str:
    """The code blocks of a language; those of commands have none."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return "".join(block for name, block in found if name == language)


def commands(text: str) -> list[list[str]]:
    """The commands of the code blocks, and those within sentences."""
    lines = blocks(text).replace("\\\n", " ").splitlines()
    sentences = [found for found in re.findall(r"`(eventcargo\s[^`]+)`", text) if not OTHER.search(found)]
    every = [shlex.split(line, comments=True) for line in [*lines, *sentences]]
    return [command[1:] for command in every if command and command[0] == "eventcargo"]


def options() -> list[str]:
    """The options named in sentences, with their values."""
    prose = re.sub(r"^```.*?^```$", "", section("Your own data"), flags=re.DOTALL | re.MULTILINE)
    return [text for text in re.findall(r"`([^`]+)`", prose) if text.startswith("--")]


VALIDATE, DATED, PLAIN = commands(section("Your first answer"))
LATER = commands(section("What you get"))
AGAIN = commands(section("Your own data"))
(BASELINE,) = commands(section("Results"))
CAUSES = {"gearbox failure": [], "turbo failure": ["P0300"]}


def quickly(command: list[str]) -> None:
    """Run a command, quicker."""
    run(*command, *QUICK.get(command[0], []))


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tables that README names: a turbo fails days after P0300 where P0171 came before."""
    random, events, failures = np.random.default_rng(0), [], []
    for number in range(400):
        vin, days = f"WVW{number}", np.sort(random.uniform(0, 300, 25))
        codes = [f"P0{random.integers(300, 308)}" for _ in days]
        hits = [day for day, code in zip(days, codes, strict=True) if code == "P0300"]
        events += [(vin, day, code, random.uniform(1, 9)) for day, code in zip(days, codes, strict=True)]
        if hits and (number == 123 or random.random() < 0.8):
            failures.append((vin, hits[0] + random.uniform(1, 5), "turbo failure"))
            events.append((vin, failures[-1][1] + 1, "WS:turbo replaced", None))
        if random.random() < 0.2:
            failures.append((vin, random.uniform(50, 300), "gearbox failure"))
    table = pl.DataFrame(events, ["VIN", "day", "Fault Code", "value"], orient="row")
    date = pl.lit(START) + pl.col("day") * timedelta(days=1)
    dated = table.select(
        "VIN", "Fault Code", "value", date=date.dt.truncate("1s"), km=(pl.col("day") * 50).round()
    )
    dated.write_csv(tmp_path / "events.csv")
    dated.filter(pl.col("VIN").str.len_chars() < 5).write_csv(tmp_path / "week.csv")
    outcomes = pl.DataFrame(failures, ["VIN", "day", "Outcome"], orient="row")
    outcomes = outcomes.select("VIN", "Outcome", date.dt.truncate("1s").alias("Failed on"))
    outcomes.write_csv(tmp_path / "outcomes.csv")
    outcomes.select("VIN", "Outcome").unique(maintain_order=True).write_csv(tmp_path / "labels.csv")
    vins = [f"WVW{number}" for number in range(400)]
    vehicles = {"VIN": vins, "model": ["Golf 8", "Polo"] * 200, "site": ["n", "n", "s", "s"] * 100}
    pl.DataFrame(vehicles).write_csv(tmp_path / "vehicles.csv")
    codes = [f"P0{number}" for number in range(304, 308)]
    pl.DataFrame({"code": codes, "parent": "P030x"}).write_parquet(tmp_path / "codes.parquet")
    (tmp_path / "run.yaml").write_text("lookback: 90d\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_outcomes_with_dates_are_validated_discovered_and_asked_on(tables: Path) -> None:
    assert "'WS:turbo replaced' first occurs after 'turbo failure'" in run(*VALIDATE).stdout
    quickly(DATED)
    assert read_graph(tables / "run" / "graph.parquet").boundaries == CAUSES
    assert (tables / "run" / "report.html").exists()
    shutil.copytree(tables / "run", tables / "last_year")
    for command in [*LATER, *AGAIN]:
        quickly(command)
    assert set(pl.read_csv(tables / "why.csv")["label"]) == {"turbo failure"}
    assert "0</b> of 1 edge changed" in (tables / "page.html").read_text("utf-8")


def test_labels_of_whole_sequences_are_discovered_and_asked_on(tables: Path) -> None:
    quickly(PLAIN)
    for command in LATER:
        if command[0] not in ("without", "compare"):  # they are about the run with dates
            quickly(command)
    assert "WS:turbo replaced" in read_graph(tables / "run" / "graph.parquet").boundary("turbo failure")


def test_the_simpler_method_runs_on_the_same_tables(tables: Path) -> None:
    """README leaves its tables to the reader."""
    run(*BASELINE, *[part for part in DATED[1:] if part not in ("--out", "run")], "--out", "baseline.csv")
    assert "P0300" in read_graph(tables / "baseline.csv").boundary("turbo failure")


def test_no_command_of_the_program_is_left_untried() -> None:
    tried = [VALIDATE, DATED, PLAIN, *LATER, *AGAIN, BASELINE]
    assert sorted(commands(README.read_text("utf-8"))) == sorted(tried)


def test_commands_of_make_exist() -> None:
    targets = set(re.findall(r"\bmake (\w+)`", README.read_text("utf-8")))
    assert targets >= {"setup", "demo", "test", "docs"}
    for target in targets:
        subprocess.run(["make", "--dry-run", target], cwd=README.parent, capture_output=True, check=True)


def test_names_in_sentences_are_commands() -> None:
    named = set(re.findall(r"`(\w+)`", section("Your own data").split("runs the stages")[1]))
    assert named <= set(COMMANDS)


COMPLETED = {
    "--static vehicles.csv": "",
    "--adjust site": "--static vehicles.csv",
    "--numeric-value": "value",
    "--parents codes.parquet": "",
    "--exclude 'WS:*'": "",
    "--dry-run": "",
    "--max-time 30m": "",
    "--max-memory 4G": "",
    "--config run.yaml": "",
}
"""What README leaves to the reader, behind each option of its sentences."""


@pytest.mark.parametrize("option", [text for text in options() if text in COMPLETED])
def test_options_named_in_sentences_work(option: str, tables: Path) -> None:
    quickly([*DATED, *shlex.split(f"{option} {COMPLETED[option]}")])
    if option != "--dry-run":
        quickly([*DATED, *shlex.split(f"{option} {COMPLETED[option]}"), "--resume"])
        assert read_graph(tables / "run" / "graph.parquet").boundaries == CAUSES


def test_streams_without_ids_are_cut_into_windows(tables: Path) -> None:
    (windows,) = [text for text in options() if text.startswith("--index windows")]
    for name in ("events", "outcomes"):
        table = pl.read_csv(tables / f"{name}.csv").filter(pl.col("VIN").str.len_chars() < 5)
        table.rename({"VIN": "host"}).write_csv(tables / f"{name}.csv")
    quickly([*DATED, *shlex.split(windows)])
    cohort, summary = read_cohort(tables / "run" / "cohort.json")
    assert (cohort.index, cohort.every, cohort.group) == ("windows", "1h", "host")
    assert summary["cases"] + summary["empty_cases"] > 0  # failures come days after the last event
    assert (tables / "run" / "report.html").exists()


def test_every_option_named_in_a_sentence_is_tried() -> None:
    tried = {*COMPLETED, "--resume", "--engine ray", "--shards 3/16"}
    assert {text for text in options() if not text.startswith("--index windows")} == tried
