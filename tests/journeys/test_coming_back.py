"""New vehicles through a saved run: the same figures from the command line, from Python and over HTTP.

Then their failures come in, and the run takes them in.
"""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from eventcargo import Cargo, EventDataset, compare, extract, read_graph
from eventcargo.discovery.data_source import recall
from eventcargo.discovery.run_folder import knowledge_of_run
from eventcargo.fusion.vote_store import VoteStore, write_votes
from eventcargo.models.loading import load_model
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.service import as_json

from ..cli.program import run, run_json
from ..cli.serving import serving

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


@pytest.fixture(scope="module")
def second(home: Path) -> Path:
    """The run after the second week, with new vehicles and their failures."""
    updated = Path(shutil.copytree(home / "run", home / "updated"))
    events, failures = garage(3, 150)
    events.write_csv(home / "events2.csv")
    failures.write_csv(home / "failures2.csv")
    said = run_json("update", updated, home / "events2.csv", "--labels", home / "failures2.csv")
    assert said["is_new"]
    assert said["added"]["sequences"] > 50
    assert not said["drift"]["is_out_of_date"]
    assert said["boundaries"]["pump"] == ["P2, high"]
    return updated


def test_two_weeks_one_after_the_other_are_one_run_over_both(second: Path, tmp_path: Path) -> None:
    both, known = recall(second).data, knowledge_of_run(second)
    model, config = load_model(second / "model"), ExtractConfig(workers=1)
    edges = extract(model, both, tmp_path / "edges", config, knowledge=known, like=second / "edges")
    write_votes(VoteStore.of_folder(edges), tmp_path / "votes")
    names = [path.name for path in (second / "votes").glob("*.parquet")]
    assert "pooled.parquet" in names
    assert "total-present-group_votes.parquet" in names
    for name in names:
        assert (tmp_path / "votes" / name).read_bytes() == (second / "votes" / name).read_bytes(), name
    assert not {"W:replaced"} & set(both.event_names)
    before = read_graph(second / "graph.parquet").edges
    run("verify", second)
    assert read_graph(second / "graph.parquet").edges.equals(before)


def test_the_second_week_is_compared_with_the_first(home: Path, second: Path) -> None:
    told = run_json("compare", home / "run", second)
    python = compare(str(home / "run"), second)
    assert python.counts == told["counts"]
    assert python.counts["lost"] == python.counts["reversed"] == 0
    assert python.edges.drop_nulls("ratio")["event"].to_list() == ["P2, high"]


def test_a_vehicle_of_the_second_week_is_explained_from_what_the_run_remembers(second: Path) -> None:
    new = EventDataset.load(second / "added" / "0001")
    vehicle = next(one for one in new if one.labels)
    told = run_json("explain", second, "--sequence", vehicle.id)
    cargo = Cargo.load(second)
    python = cargo.explain(cargo.data_[vehicle.id])
    assert told["probabilities"] == pytest.approx(python.probabilities)  # type: ignore[union-attr]
    assert told["carries"] == ["pump"]


def to_send(events: pl.DataFrame) -> list[dict[str, Any]]:
    """Vehicles as a request has them."""
    return [
        {
            "id": vin,
            "events": [
                {"name": code, "time": time.isoformat()} for code, time in zip(codes, times, strict=True)
            ],
        }
        for vin, codes, times in events.group_by("vin", maintain_order=True).agg("code", "seen").iter_rows()
    ]


def test_new_vehicles_are_explained_alike_by_command_python_and_http(home: Path, second: Path) -> None:
    week = home / "week.parquet"
    causes, predicted = run_json("explain", second, week)["causes"], run_json("predict", second, week)
    cargo = Cargo.load(second)
    with pytest.warns(match="Z9"):
        assert json.loads(as_json(cargo.explain(week, **NAMES).to_dicts())) == causes
    with serving(second) as service:
        status, told = service.ask("/explain", to_send(pl.read_parquet(week)))
        (label,) = service.ask("/labels")[1]["labels"]
    assert status == 200
    vehicles = told["sequences"]
    assert [{"sequence_id": one["id"], **cause} for one in vehicles for cause in one["causes"]] == causes
    risks = [{"sequence_id": one["id"], **one["probabilities"]} for one in vehicles]
    assert risks == predicted["probabilities"]
    assert told["unknown_events"] == predicted["unknown_events"]
    assert [(one["event"], one["occurrences"]) for one in told["unknown_events"]] == [("Z9", 1)]
    rule = cargo.rules_["pump"]
    assert rule is not None
    assert (label["rule"]["text"], label["rule"]["support"]) == (rule.text, rule.support)
    assert told["verdicts"] == {"pump": label["verdict"]["level"]} == {"pump": cargo.verdicts_["pump"].level}


def test_the_same_week_again_is_recognised_and_one_without_labels_refused(home: Path, second: Path) -> None:
    again = run("update", second, home / "events2.csv", "--labels", home / "failures2.csv")
    assert "sequences already; nothing was changed." in again.stdout
    told = run("update", second, home / "events2.csv", code=1).stderr
    assert "--labels is missing: an update counts which new sequences carry a label" in told
    whole = ("discover", home / "events.csv", "--labels", home / "failures.csv", "--label-time", "when")
    more = ("--lookback", "30d", *SPELLED, "--exclude", "W:*", "--knowledge", home / "known.json")
    more = (*more, "--preset", "fast", "--steps", "2", "--out", second, "--resume")
    assert "was updated with 1 new table since" in run(*whole, *more, code=1).stderr
