"""The commands of README's "Your own data" end well, as they stand, on tables with the columns they name."""

import re
import shlex
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eventcargo import read_graph
from eventcargo.cohort.config import read_cohort

from ..cli.program import run

README = Path(__file__).parents[2] / "README.md"
START = datetime(2024, 1, 1)
QUICK = {"discover": ["--preset", "fast", "--steps", "5"]}
"""What may be added for speed."""


def section(title: str = "Your own data") -> str:
    return README.read_text("utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]


def commands(title: str = "Your own data") -> list[list[str]]:
    """The commands of the code blocks, and those within sentences."""
    text = section(title)
    blocks = re.findall(r"^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    sentences = [found for found in re.findall(r"`(eventcargo [^`]+)`", text) if "COMMAND" not in found]
    return [shlex.split(line, comments=True)[1:] for line in [*lines, *sentences]]


def options() -> list[str]:
    """The options named in sentences, with their values."""
    prose = re.sub(r"^```\n.*?^```", "", section(), flags=re.DOTALL | re.MULTILINE)
    return [text for text in re.findall(r"`([^`]+)`", prose) if text.startswith("--")]


DATED, PLAIN, *LATER = commands()
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
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_outcomes_with_dates_are_discovered_explained_and_judged(tables: Path) -> None:
    quickly(DATED)
    for command in LATER:
        quickly(command)
    assert read_graph(tables / "run" / "graph.parquet").boundaries == CAUSES
    assert (tables / "run" / "report.html").exists()
    assert set(pl.read_csv(tables / "why.csv")["label"]) == {"turbo failure"}

    shutil.copytree(tables / "run", tables / "last_year")
    for command in commands("What if, and what has changed"):
        quickly(command)
    assert "0</b> of 1 edge changed" in (tables / "page.html").read_text("utf-8")


def test_labels_of_whole_sequences_are_discovered_explained_and_judged(tables: Path) -> None:
    quickly(PLAIN)
    for command in LATER:
        quickly(command)
    assert "WS:turbo replaced" in read_graph(tables / "run" / "graph.parquet").boundary("turbo failure")


COMPLETED = {
    "--static vehicles.csv": "",
    "--adjust site": "--static vehicles.csv",
    "--numeric-value": "value",
    "--parents codes.parquet": "",
    "--exclude 'WS:*'": "",
    "--dry-run": "",
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
    tried = {*COMPLETED, "--resume", "--washout", "--engine ray", "--shards 3/16"}
    assert {text for text in options() if not text.startswith("--index windows")} == tried
