"""A cohort on the command line: one vehicle part fails some time after its code, and is then replaced."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eventcargo import EventDataset, EventSequence, simulate, write_events
from eventcargo.cohort import Cohort, read_cohort
from eventcargo.discovery.data_source import recall, source_of

from .program import run, run_json
from .test_report import overview

QUICK = ("--preset", "fast", "--steps", "3", "--workers", "1")
START = datetime(2024, 1, 1)


@pytest.fixture(scope="module")
def garage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("garage")
    random = np.random.default_rng(1)
    events, outcomes = [], []
    for number in range(250):
        name, times = f"V{number:03}", np.sort(random.uniform(0, 300, random.poisson(20) + 2))
        codes = random.integers(0, 8, len(times))
        events += [
            (name, START + timedelta(days=time), f"P{code}") for time, code in zip(times, codes, strict=True)
        ]
        causes = times[codes == 3]
        if len(causes) and random.random() < 0.6:
            failure = START + timedelta(days=causes[0] + random.exponential(3))
            outcomes.append((name, failure, "turbo"))
            events.append((name, failure + timedelta(days=1), "WS:turbo replaced"))
    pl.DataFrame(events, ["vin", "seen", "code"], orient="row").write_csv(folder / "events.csv")
    pl.DataFrame(outcomes, ["vin", "when", "label"], orient="row").write_csv(folder / "labels.csv")
    static = {"vin": [f"V{number:03}" for number in range(250)], "site": ["n", "s"] * 125}
    pl.DataFrame(static).write_csv(folder / "static.csv")
    return folder


@pytest.fixture(scope="module")
def tables(garage: Path) -> tuple[str, ...]:
    names = ("--sequence-id", "vin", "--time", "seen", "--event", "code")
    return (str(garage / "events.csv"), "--labels", str(garage / "labels.csv"), *names)


CUT = ("--label-time", "when", "--lookback", "60d")


def test_a_cohort_is_a_data_set_for_every_command(tables: tuple[str, ...], tmp_path: Path) -> None:
    printed = run("cohort", *tables, *CUT, "--out", tmp_path / "data").stdout
    assert "look-back 60d" in printed
    data = EventDataset.load(tmp_path / "data")
    assert "WS:turbo replaced" not in {name for s in data if s.labels for name in s.events}
    found = run_json("baseline", "iamb", tmp_path / "data", "--out", tmp_path / "graph.csv")
    assert found["boundaries"] == {"turbo": ["P3"]}
    index = pl.read_parquet(tmp_path / "data" / "index.parquet")
    assert index["sequence_id"].to_list() == data.sequence_ids.to_pylist()
    assert index.filter("case")["labels"].explode().unique().to_list() == ["turbo"]


def test_the_counts_of_a_cohort_are_told_to_scripts(tables: tuple[str, ...], tmp_path: Path) -> None:
    told = run_json("cohort", *tables, *CUT, "--out", tmp_path / "data")
    cohort, summary = read_cohort(tmp_path / "data" / "cohort.json")
    assert cohort == Cohort(label_time="when", lookback="60d")
    assert {name: told[name] for name in summary} == summary
    assert told["line"].startswith(f"{told['cases']} cases, {told['controls']} controls, look-back 60d")


def test_the_date_of_an_outcome_is_never_ignored(tables: tuple[str, ...]) -> None:
    told = run("validate", *tables, code=1).stderr
    assert "labels.csv has dates in 'when': give --label-time when" in told
    assert "or --index end" in told
    run("validate", *tables, "--index", "end")


def test_whole_histories_are_refused_if_events_follow_the_outcome(tables: tuple[str, ...]) -> None:
    told = run("validate", *tables, "--label-time", "when", "--index", "end", code=1).stderr
    assert "have events at or after it" in told


def test_commands_that_read_data_take_a_cohort(tables: tuple[str, ...], tmp_path: Path) -> None:
    told = run_json("validate", *tables, *CUT, "--exclude", "WS:*")
    assert told["cohort"]["excluded"] > 0
    assert "Cohort: " in run("validate", *tables, *CUT).stdout
    found = run_json("baseline", "iamb", *tables, *CUT, "--out", tmp_path / "graph.csv")
    assert found["boundaries"] == {"turbo": ["P3"]}


def test_a_run_keeps_its_cohort_and_reads_its_data_through_it(
    garage: Path, tables: tuple[str, ...], tmp_path: Path
) -> None:
    home = tmp_path / "run"
    static = ("--static", garage / "static.csv", "--adjust", "site")
    told = run_json("discover", *tables, *CUT, *static, "--out", home, *QUICK)
    assert json.loads((home / "cohort.json").read_text())["summary"]["line"] == told["cohort"]["line"]
    source = source_of(home)
    assert source.cohort == Cohort(label_time="when", lookback="60d", adjust=("site",))
    data = recall(home).data
    assert (len(data), data.kinds.adjusted) == (
        told["cohort"]["cases"] + told["cohort"]["controls"],
        ("site=n", "site=s"),
    )
    assert overview(home / "report.html")["data"]["cohort"] == told["cohort"]["line"]
    run("rules", home, "--again")
    timing = pl.read_parquet(home / "timing.parquet").filter(event="WS:turbo replaced")
    assert timing.select("label", "before", "same").rows() == [("turbo", 0, 0)]
    explained = run_json("explain", home, "--sequence", data[0].id)
    assert [move["event"] for move in explained["moves"]] == list(data[0].events[1:])
    assert data[0].events[0].startswith("site=")
    run("discover", *tables, *CUT, *static, "--out", home, *QUICK, "--resume")
    run("judge", home, *tables)


def test_a_run_on_a_saved_cohort_shows_it(tables: tuple[str, ...], tmp_path: Path) -> None:
    run("cohort", *tables, *CUT, "--out", tmp_path / "data")
    told = run_json("discover", tmp_path / "data", "--out", tmp_path / "run", *QUICK)
    assert overview(tmp_path / "run" / "report.html")["data"]["cohort"] == told["cohort"]["line"]
    assert len(recall(tmp_path / "run").data) == told["cohort"]["cases"] + told["cohort"]["controls"]


@pytest.fixture(scope="module")
def bad_repairs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """A part fails days after P3 and is replaced; half of the replaced ones fail again after days."""
    folder = tmp_path_factory.mktemp("repairs")
    random = np.random.default_rng(2)
    events, outcomes = [], []
    for number in range(300):
        name, times = f"V{number:03}", np.sort(random.uniform(0, 300, random.poisson(20) + 2))
        codes = random.integers(0, 8, len(times))
        days = [(time, f"P{code}") for time, code in zip(times, codes, strict=True)]
        failures = [time + random.exponential(2) for time in times[codes == 3][:1] if random.random() < 0.7]
        if failures and random.random() < 0.5:
            failures.append(failures[0] + 1 + random.exponential(2))
        days += [(day + 0.9, "WS:replaced") for day in failures]
        events += [(name, START + timedelta(days=day), code) for day, code in days]
        outcomes += [(name, START + timedelta(days=day), "turbo") for day in failures]
    pl.DataFrame(events, ["vin", "seen", "code"], orient="row").write_csv(folder / "events.csv")
    pl.DataFrame(outcomes, ["vin", "when", "label"], orient="row").write_csv(folder / "labels.csv")
    names = ("--sequence-id", "vin", "--time", "seen", "--event", "code")
    return (str(folder / "events.csv"), "--labels", str(folder / "labels.csv"), *names)


@pytest.mark.parametrize("saved", [False, True])
def test_what_follows_an_outcome_is_never_trusted_as_cause_of_the_next(
    saved: bool, bad_repairs: tuple[str, ...], tmp_path: Path
) -> None:
    cut, source = ("--label-time", "when", "--lookback", "20d"), (tmp_path / "data",)
    if saved:
        run("cohort", *bad_repairs, *cut, "--out", tmp_path / "data")
    given = source if saved else (*bad_repairs, *cut)
    told = run_json("discover", *given, "--out", tmp_path / "run", *QUICK)
    assert "WS:replaced" in told["boundaries"]["turbo"]
    again = run_json("judge", tmp_path / "run")
    for verdict in (told["verdicts"]["turbo"], again["turbo"]):
        assert verdict["level"] != "trust"
        assert any("'WS:replaced' first occurs after 'turbo' in" in reason for reason in verdict["reasons"])
        assert any("--exclude WS:replaced" in reason for reason in verdict["reasons"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "a cohort needs outcomes"),
        (("--label-time", "when"), "--label-time when needs a table of labels"),
        (("--lookback", "soon"), "--lookback soon: use a duration such as 30d"),
        (("--index", "birth"), "--index birth: use outcome, windows, end or prediction"),
    ],
)
def test_what_a_cohort_lacks_is_said(
    options: tuple[str, ...], said: str, tables: tuple[str, ...], tmp_path: Path
) -> None:
    told = run("cohort", tables[0], *tables[3:], *options, "--out", tmp_path / "data", code=1).stderr
    assert said in told
    assert not (tmp_path / "data").exists()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Simulated sequences as tables, as a saved data set and as a MEDS folder; records end them."""
    folder = tmp_path_factory.mktemp("plain")
    simulated = simulate("chain", sequences=400, labels=1, event_types=30, seed=100)
    sequences = [
        EventSequence(s.id, (*s.events, f"WS:{label}"), (*s.times, s.times[-1]), s.labels)
        for s in simulated.data
        for label in s.labels or ("nothing",)
    ]
    data = EventDataset.from_sequences(sequences)
    write_events(data, folder)
    data.save(folder / "saved")
    table = pl.read_parquet(folder / "events.parquet").rename({"sequence_id": "subject_id", "event": "code"})
    epoch = pl.from_epoch((pl.col("time") * 1e6).cast(pl.Int64), "us")
    number = pl.col("subject_id").rank("dense").cast(pl.Int64)
    (folder / "meds" / "data").mkdir(parents=True)
    (folder / "meds" / "metadata").mkdir()
    measured = table.with_columns(epoch.alias("time"), number.alias("subject_id"))
    measured = measured.with_columns(numeric_value=pl.lit(None, pl.Float32)).sort("subject_id", "time")
    measured.write_parquet(folder / "meds" / "data" / "0.parquet")
    ids = data.sequence_ids.to_pylist()
    rows = [(ids.index(s.id) + 1, datetime(2100, 1, 1), bool(s.labels)) for s in data]
    labels = pl.DataFrame(rows, ["subject_id", "prediction_time", "boolean_value"], orient="row")
    labels.write_parquet(folder / "L000.parquet")
    return folder


@pytest.mark.parametrize("given", ["tables", "saved", "meds"])
def test_event_types_are_excluded_without_any_cohort(given: str, plain: Path, tmp_path: Path) -> None:
    sources = {
        "tables": (plain / "events.parquet", "--labels", plain / "labels.parquet"),
        "saved": (plain / "saved",),
        "meds": (plain / "meds", "--labels", plain / "L000.parquet"),
    }
    home, excluded = tmp_path / "run", ("--exclude", "WS:*")
    told = run_json("discover", *sources[given], *excluded, "--out", home, *QUICK)
    assert not any(name.startswith("WS:") for name in told["boundaries"]["L000"])
    assert told["boundaries"]["L000"]
    assert "WS:" not in (home / "model" / "vocabulary.json").read_text()
    assert not any("WS:" in reason for reason in told["verdicts"]["L000"]["reasons"])
    assert not any(name.startswith("WS:") for name in recall(home).data.event_names)
    assert run_json("judge", home)["L000"] == told["verdicts"]["L000"]
    assert "events excluded by name" in run("validate", *sources[given], *excluded).stdout
