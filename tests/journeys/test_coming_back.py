"""New vehicles through a saved run: the same figures from the command line and from Python."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eventcargo import Cargo

from ..cli.program import run, run_json

NAMES = {"sequence_id": "vin", "time": "seen", "event": "code"}
SPELLED = ("--sequence-id", "vin", "--time", "seen", "--event", "code")
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def garage(seed: int, vehicles: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Events and failures: 'P2, high' brings the pump down within two days."""
    random = np.random.default_rng(seed)
    events: list[tuple[str, datetime, str]] = []
    failures: list[tuple[str, datetime, str]] = []
    for number in range(vehicles):
        vin = f"V{seed}{number:04}"
        times = np.sort(random.uniform(0, 60, random.integers(6, 14)))
        codes = random.choice(["P1", "P2, high", "P3", "U4", "U5"], len(times), p=[0.3, 0.06, 0.24, 0.2, 0.2])
        events += [(vin, BEGIN + timedelta(days=t), code) for t, code in zip(times, codes, strict=True)]
        if "P2, high" in codes and random.random() < 0.9:
            when = times[list(codes).index("P2, high")] + random.uniform(0.1, 2)
            failures.append((vin, BEGIN + timedelta(days=when), "pump"))
            events.append((vin, BEGIN + timedelta(days=when + 0.01), "W:replaced"))
    return (
        pl.DataFrame(events, ["vin", "seen", "code"], orient="row"),
        pl.DataFrame(failures, ["vin", "when", "label"], orient="row"),
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on last year's vehicles, and this week's vehicles, of which one has a code never seen before."""
    folder = tmp_path_factory.mktemp("coming_back")
    events, failures = garage(1, 500)
    events.write_csv(folder / "events.csv")
    failures.write_csv(folder / "failures.csv")
    (folder / "known.json").write_text(json.dumps({"forbidden": {"pump": ["U5"]}}))
    outcome = ("--labels", folder / "failures.csv", "--label-time", "when", "--lookback", "30d")
    more = ("--exclude", "W:*", "--knowledge", folder / "known.json", "--preset", "fast", "--steps", "2")
    run("discover", folder / "events.csv", *outcome, *SPELLED, *more, "--out", folder / "run")
    week, _ = garage(2, 60)
    strange = pl.DataFrame([("V20000", BEGIN + timedelta(days=61), "Z9")], week.columns, orient="row")
    pl.concat([week, strange]).write_parquet(folder / "week.parquet")
    return folder


def test_probabilities_are_those_of_python(home: Path) -> None:
    out = home / "risk.csv"
    printed = run("predict", home / "run", home / "week.parquet", "--out", out)
    assert "60 sequences in" in printed.stdout
    assert "sequences a second" not in printed.stdout
    assert "1 event type" in printed.stderr
    assert "Z9 (1)" in printed.stderr
    with pytest.warns(match="Z9"):
        python = Cargo.load(home / "run").predict_proba(pl.read_parquet(home / "week.parquet"), **NAMES)
    told = pl.read_csv(out)
    assert told["sequence_id"].to_list() == python["sequence_id"].to_list()
    assert told["pump"].to_list() == pytest.approx(python["pump"].to_list())
    asked = run_json("predict", home / "run", home / "week.parquet")["probabilities"]
    assert [row["pump"] for row in asked] == pytest.approx(python["pump"].to_list())


def test_all_new_vehicles_are_explained_with_names_and_dates(home: Path) -> None:
    out = home / "why.parquet"
    printed = run("explain", home / "run", home / "week.parquet", "--out", out, "--label", "pump").stdout
    assert "of 60 sequences in" in printed
    assert "sequences a second" in printed
    table, week = pl.read_parquet(out), pl.read_parquet(home / "week.parquet")
    assert not {"U5", "W:replaced", "Z9"} & set(table["event"])
    assert "P2, high" in set(table["event"])
    first = table.filter(event="P2, high").row(0, named=True)
    own = week.filter((pl.col("vin") == first["sequence_id"]) & (pl.col("code") == "P2, high"))
    assert first["first_time"] in own["seen"].to_list()
    with pytest.warns(match="Z9"):
        assert Cargo.load(home / "run").explain(week, ["pump"], **NAMES).equals(table)


def test_one_new_vehicle_is_explained_as_in_the_table(home: Path) -> None:
    table = run_json("explain", home / "run", home / "week.parquet")["causes"]
    chosen = table[0]
    alone = run_json("explain", home / "run", home / "week.parquet", "--sequence", chosen["sequence_id"])
    assert alone["probabilities"]["pump"] == pytest.approx(chosen["probability"])
    move = next(one for one in alone["moves"] if one["event"] == chosen["event"])
    assert move["effect"] == pytest.approx(chosen["effect"])
    assert (move["time"], move["position"]) == (chosen["first_time"], chosen["first_position"])
    printed = run("explain", home / "run", home / "week.parquet", "--sequence", chosen["sequence_id"]).stdout
    assert move["time"][:10] in printed


def test_event_types_with_commas_are_given_as_json(home: Path) -> None:
    told = run_json("explain", home / "run", "--events", '["P1", "P2, high"]', "--label", "pump")
    assert [move["event"] for move in told["moves"]] == ["P1", "P2, high"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--events", "[1]"), "--events '[1]': use names separated by commas, or JSON"),
        (("--times", "1"), "give either --sequence"),
        (("--out", "x.parquet", "--events", "P1"), "--out x.parquet is for all sequences of a table"),
    ],
)
def test_options_that_do_not_go_together_are_refused(home: Path, options: tuple[str, ...], told: str) -> None:
    assert told in run("explain", home / "run", *options, code=1).stderr


def test_an_ending_that_cannot_be_written_is_refused_before_any_work(home: Path) -> None:
    for command in ("explain", "predict"):
        told = run(command, home / "run", home / "week.parquet", "--out", "x.xls", code=1).stderr
        assert "x.xls has an unknown ending" in told
