"""The messy twin of the regime `clinic`: from CSV files as people export them to causes, by options alone."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eventcargo import Vocabulary, simulate
from eventcargo.simulation.messy import TIME_FORMAT, write_messy
from eventcargo.simulation.records import Records

from ..cli.program import run

QUICK = ("--preset", "fast", "--steps", "5", "--workers", "1", "--json")
NAMES = ("--sequence-id", "subject_id", "--event", "code", "--time-format", TIME_FORMAT)
CLEAN = ("--normalise", "--on-bad-row", "drop")
CUT = ("--label-time", "time", "--lookback", "30d", "--washout", "30d")
LABELS = ("acute kidney injury", "fall", "heart failure", "sepsis")


@pytest.fixture(scope="module")
def clinic() -> Records:
    records: Records = simulate("clinic", seed=0, subjects=2_500)  # type: ignore[assignment]
    return records


@pytest.fixture(scope="module")
def files(clinic: Records, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("messy") / "files"
    write_messy(clinic, folder)
    return folder


def tables(files: Path, outcomes: str = "outcomes.csv") -> tuple[str, ...]:
    return (str(files / "events.csv"), "--labels", str(files / outcomes), *NAMES, *CLEAN)


def folded(names: Any) -> set[str]:
    return {name.casefold() for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("label", LABELS)
def test_the_causes_of_every_outcome_are_found_and_nothing_else(
    label: str, clinic: Records, files: Path, tmp_path: Path
) -> None:
    beside = (
        "--static",
        str(files / "static.csv"),
        "--adjust",
        "site",
        "--parents",
        str(files / "codes.csv"),
    )
    more = ("--numeric-value", "numeric_value", "--only", label, "--out", str(tmp_path / "run"))
    content = json.loads(run("discover", *tables(files), *CUT, *beside, *more, *QUICK).stdout)
    known = Vocabulary.from_json(tmp_path / "run" / "model" / "vocabulary.json").event_names
    assert folded(content["boundaries"][label]) == folded(clinic.truth_for(known).boundary(label))
    assert not folded(content["boundaries"][label]) & folded(clinic.post_outcome[label])


def test_without_the_option_for_the_dates_of_outcomes_nothing_is_read(files: Path, tmp_path: Path) -> None:
    told = run("discover", *tables(files), "--out", str(tmp_path / "run"), *QUICK, code=1)
    assert "outcomes.csv has dates in 'time': give --label-time time" in told.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_records_are_not_trusted_where_outcomes_have_lost_their_dates(
    clinic: Records, files: Path, tmp_path: Path
) -> None:
    text = (files / "outcomes.csv").read_bytes().decode("cp1252").encode()
    undated = pl.read_csv(text, separator=";", infer_schema=False).drop("time")
    undated.write_csv(files / "undated.csv", separator=";")
    told = run("discover", *tables(files, "undated.csv"), "--out", str(tmp_path / "run"), *QUICK)
    content = json.loads(told.stdout)
    recorded = {
        label: content["verdicts"][label]["level"]
        for label, boundary in content["boundaries"].items()
        if folded(boundary) & folded(clinic.post_outcome[label])
    }
    assert recorded.keys() == set(LABELS)
    assert "trust" not in recorded.values()
