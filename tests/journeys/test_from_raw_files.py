"""Three journeys from raw files to the report, with options alone: vehicles, a MEDS folder, alarms."""

import json
from pathlib import Path
from typing import Any

import pytest

from eventcargo import extract
from eventcargo.discovery.data_source import recall
from eventcargo.fusion.vote_store import VoteStore, run_votes
from eventcargo.models.loading import load_model
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.simulation import simulate
from eventcargo.simulation.meds_folder import write_meds

from ..cli.program import run
from .alarms import write_alarms
from .vehicles import write_vehicles

QUICK = ("--preset", "fast", "--steps", "5", "--max-time", "5m", "--json")
VEHICLES = ("--sequence-id", "VIN", "--time", "Datum", "--event", "Code", "--label", "Schaden")


def found(out: Path, *arguments: str) -> dict[str, Any]:
    """What `discover` prints; the report is written and shows the cohort."""
    content: dict[str, Any] = json.loads(run("discover", *arguments, "--out", str(out), *QUICK).stdout)
    page = (out / "report.html").read_text("utf-8")
    assert "events after the index left out" in page
    return content


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "causes"),
    [("turbo failure", {"p0299", "p0045"}), ("gearbox failure", {"p0741", "Modell=Golf 8"})],
)
def test_messy_tables_of_vehicles_give_the_causes_and_no_repair(
    tmp_path: Path, label: str, causes: set[str]
) -> None:
    files = write_vehicles(tmp_path, seed=0).files
    tables = (str(files["codes"]), "--labels", str(files["failures"]), "--static", str(files["vehicles"]))
    cut = ("--label-time", "Datum", "--lookback", "30d", "--washout", "30d", "--only", label)
    clean = ("--time-format", "%d.%m.%Y %H:%M", "--normalise", "--on-bad-row", "drop")
    content = found(tmp_path / "run", *tables, *VEHICLES, *cut, *clean)
    assert set(content["boundaries"][label]) == causes
    assert content["verdicts"][label]["level"] == "trust"


@pytest.mark.slow
def test_a_meds_folder_gives_a_family_and_what_inhibits_it(tmp_path: Path) -> None:
    write_meds(simulate("clinic", seed=0, subjects=2_500), tmp_path / "meds")  # type: ignore[arg-type]
    meds = tmp_path / "meds"
    tables = (str(meds), "--labels", str(meds / "outcomes.parquet"), "--label-time", "time")
    cut = ("--only", "heart failure", "--lookback", "30d", "--washout", "30d")
    more = ("--numeric-value", "numeric_value", "--parents", str(meds / "metadata" / "codes.parquet"))
    content = found(tmp_path / "run", *tables, *cut, *more)
    assert content["boundaries"] == {"heart failure": ["ICD//I50", "MED//spironolactone"]}


@pytest.mark.slow
def test_a_stream_of_alarms_gives_the_causes_and_no_reaction(tmp_path: Path) -> None:
    files = write_alarms(tmp_path, hosts=240, seed=0).files
    names = ("--sequence-id", "host", "--time", "timestamp", "--event", "message", "--label", "kind")
    cut = (
        "--label-time",
        "time",
        "--index",
        "windows",
        "--every",
        "6h",
        "--lookback",
        "24h",
        "--horizon",
        "6h",
    )
    content = found(tmp_path / "run", str(files["alarms"]), "--labels", str(files["incidents"]), *names, *cut)
    assert {label: set(events) for label, events in content["boundaries"].items()} == {
        "outage": {"OOMKilled"},
        "data loss": {"disk latency high", "replica lag"},
    }
    week = write_alarms(tmp_path / "next", hosts=30, seed=1, later=40).files
    update = ("update", str(tmp_path / "run"), str(week["alarms"]), "--labels", str(week["incidents"]))
    added = json.loads(run(*update, "--workers", "1", "--json").stdout)
    assert added["added"]["returning"] == added["added"]["sequences"] > 1000
    assert set(added["boundaries"]["data loss"]) == {"disk latency high", "replica lag"}
    both = recall(tmp_path / "run").data
    model, like = load_model(tmp_path / "run" / "model"), tmp_path / "run" / "edges"
    at_once = VoteStore.of_folder(
        extract(model, both, tmp_path / "once", ExtractConfig(workers=1), like=like)
    )
    one_by_one = run_votes(tmp_path / "run")
    for kind, votes in one_by_one.votes.items():  # sums over groups differ: hosts are in both weeks
        for name in ("counts", "exposed", "tested"):
            assert getattr(votes, name).equals(getattr(at_once.votes[kind], name))
    assert one_by_one.pooled.drop("group_squares").equals(at_once.pooled.drop("group_squares"))


def test_without_the_date_of_the_outcome_nothing_is_believed(tmp_path: Path) -> None:
    files = write_alarms(tmp_path, seed=0).files
    names = ("--sequence-id", "host", "--time", "timestamp", "--event", "message", "--label", "kind")
    told = run(
        "discover", str(files["alarms"]), "--labels", str(files["incidents"]), *names, "--out", "x", code=1
    )
    assert "incidents.csv has dates in 'time': give --label-time time" in told.stderr
