"""What people do with the package, from their own tables to an answer."""

from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from eventcargo import EventDataset, EventSequence, read_meds
from eventcargo.discovery import Cargo
from eventcargo.simulation import simulate

from .cli.program import run, run_json
from .sealed import edit

QUICK = {"preset": "fast", "steps": 3, "n_jobs": 1}
OPTIONS = ("--preset", "fast", "--steps", "3", "--workers", "1")


def rule_data(n_sequences: int, extra: dict[int, str] | None = None) -> list[EventSequence]:
    """Sequences whose label `stall` follows from `P0300` and `P0171` together; `extra` labels by row."""
    rng = np.random.default_rng(0)
    codes = np.array(["P0300", "P0171", "U0100", "B1000", "C0035"])
    sequences = []
    for row in range(n_sequences):
        chosen = [str(name) for name in codes[rng.random(len(codes)) < 0.4]] or ["U0100"]
        stalls = "P0300" in chosen and "P0171" in chosen
        labels = ("stall",) if stalls else ()
        labels += ((extra or {})[row],) if row in (extra or {}) else ()
        times = tuple(float(at) for at in range(len(chosen)))
        sequences.append(EventSequence(f"car{row:04}", tuple(chosen), times, labels))
    return sequences


def test_an_own_csv_with_odd_column_names_and_events_becomes_a_report(tmp_path: Path) -> None:
    sequences = rule_data(400)
    rows = [(s.id, t, f'<b>{e}</b>, "x"') for s in sequences for t, e in zip(s.times, s.events, strict=True)]
    pl.DataFrame(rows, schema=["VIN", "km", "Fault Code"], orient="row").write_csv(tmp_path / "log.csv")
    labels = [(s.id, name) for s in sequences for name in s.labels]
    pl.DataFrame(labels, schema=["VIN", "Outcome"], orient="row").write_csv(tmp_path / "outcome.csv")
    columns = ("--sequence-id", "VIN", "--time", "km", "--event", "Fault Code", "--label", "Outcome")
    data = (str(tmp_path / "log.csv"), "--labels", str(tmp_path / "outcome.csv"), *columns)
    said = run_json("discover", *data, "--out", tmp_path / "run", *OPTIONS)
    assert set(said["boundaries"]["stall"]) == {'<b>P0300</b>, "x"', '<b>P0171</b>, "x"'}
    assert "<b>P0300" not in (tmp_path / "run" / "report.html").read_text("utf-8")
    printed = run("explain", tmp_path / "run", "--sequence", labels[0][0]).stdout
    assert "stall" in printed
    assert "stall" in run("rules", tmp_path / "run").stdout


def test_a_meds_folder_is_read(tmp_path: Path) -> None:
    pytest.importorskip("meds")
    start = pd.Timestamp("2020-01-01")
    frame = pd.DataFrame(
        [
            (row, start + pd.Timedelta(days=time), event, None)
            for row, s in enumerate(rule_data(400))
            for time, event in zip(s.times, s.events, strict=True)
        ],
        columns=["subject_id", "time", "code", "numeric_value"],
    )
    frame["numeric_value"] = frame["numeric_value"].astype("float32")
    frame["time"] = frame["time"].astype("datetime64[us]")
    (tmp_path / "data" / "train").mkdir(parents=True)
    (tmp_path / "metadata").mkdir()
    frame.to_parquet(tmp_path / "data" / "train" / "0.parquet", index=False)
    pd.DataFrame({"code": frame["code"].unique()}).to_parquet(tmp_path / "metadata" / "codes.parquet")
    task = pl.DataFrame(
        {
            "subject_id": range(400),
            "prediction_time": [datetime(2021, 1, 1)] * 400,
            "boolean_value": ["stall" in s.labels for s in rule_data(400)],
        }
    )
    task.write_parquet(tmp_path / "stall.parquet")
    data = read_meds(tmp_path, tmp_path / "stall.parquet")
    assert set(Cargo(**QUICK).fit(data).graph_.boundary("stall")) == {"P0300", "P0171"}


def test_pandas_frames_are_taken() -> None:
    sequences = rule_data(400)
    events = pd.DataFrame(
        [(s.id, t, e) for s in sequences for t, e in zip(s.times, s.events, strict=True)],
        columns=["sequence_id", "time", "event"],
    )
    labels = pd.DataFrame(
        [(s.id, name) for s in sequences for name in s.labels], columns=["sequence_id", "label"]
    )
    cargo = Cargo(**QUICK).fit(events, labels)
    assert set(cargo.graph_.boundary("stall")) == {"P0300", "P0171"}


def test_labels_that_one_sequence_carries_are_doubted_and_stop_nothing() -> None:
    data = EventDataset.from_sequences(rule_data(400, extra={7: "once", 9: "also once"}))
    cargo = Cargo(**QUICK).fit(data)
    assert set(cargo.graph_.boundary("stall")) == {"P0300", "P0171"}
    assert cargo.verdicts_["once"].level == cargo.verdicts_["also once"].level == "doubt"
    assert any("1 sequence" in reason for reason in cargo.verdicts_["once"].reasons)


def test_sequences_of_three_events_are_enough() -> None:
    made = simulate("short", sequences=1500, event_types=30, labels=3, seed=100)
    assert int(made.data.lengths.min()) <= 3
    assert Cargo(**QUICK).fit(made.data).score(made.truth) > 0.95


def test_an_interrupted_run_goes_on_from_python(tmp_path: Path) -> None:
    data = EventDataset.from_sequences(rule_data(400))
    whole = Cargo(**QUICK).fit(data, run=tmp_path / "whole")
    Cargo(**QUICK).fit(data, run=tmp_path / "part")
    for name in ("graph.parquet", "report.html"):
        (tmp_path / "part" / name).unlink()
    edit(tmp_path / "part" / "run.json", done=["train", "extract"])
    again = Cargo(**QUICK).fit(data, run=tmp_path / "part", resume=True)
    assert again.graph_.edges.equals(whole.graph_.edges)
    assert (tmp_path / "part" / "report.html").exists()
