"""Small runs to serve: plain tables with numbers as times, and a cohort with dates and attributes."""

from pathlib import Path
from typing import Any

import polars as pl

from ..cli.program import run

QUICK = ("--preset", "fast", "--steps", "2", "--workers", "1")

COHORT = (
    *("--sequence-id", "subject_id", "--event", "code", "--label-time", "time", "--lookback", "90d"),
    *("--numeric-value", "numeric_value", "--normalise", "--adjust", "site", "--exclude", "admin*"),
)

FEW = 6
"""Subjects that are sent."""


def make_chain(folder: Path) -> Path:
    """A run on sequences with numbers for times."""
    data = folder / "chain"
    run("simulate", "chain", data, "--sequences", "300", "--labels", "2", "--seed", "100")
    return _discover(data, folder / "run", "events.parquet", "labels.parquet")


def make_clinic(folder: Path) -> Path:
    """A run on a cohort, and tables of a few subjects beside it: new.csv, static.csv, sent.json."""
    data = folder / "clinic"
    size = ("--subjects", "150", "--codes", "15", "--days-max", "400")
    run("simulate", "clinic", data, *size, "--seed", "100", "--format", "csv")
    static = ("--static", data / "static.csv")
    return _discover(data, folder / "run", "events.csv", "outcomes.csv", *static, *COHORT)


def _discover(data: Path, out: Path, events: str, labels: str, *more: str | Path) -> Path:
    run("discover", data / events, "--labels", data / labels, "--out", out, *more, *QUICK)
    return out


def subjects_to_send(made: Path) -> tuple[list[dict[str, Any]], Path, Path]:
    """A few subjects of the clinic as a request sends them, and as tables."""
    data = made.parent / "clinic"
    events, static = (pl.read_csv(data / f"{name}.csv") for name in ("events", "static"))
    ids = events["subject_id"].unique().sort().head(FEW)
    tables = {name: made.parent / f"few_{name}.csv" for name in ("events", "static")}
    few, known = (table.filter(pl.col("subject_id").is_in(ids.implode())) for table in (events, static))
    few.write_csv(tables["events"])
    known.write_csv(tables["static"])
    sequences = [
        {
            "id": name,
            "events": [_event(row) for row in few.filter(subject_id=name).iter_rows(named=True)],
            "attributes": known.filter(subject_id=name).drop("subject_id").row(0, named=True),
        }
        for name in ids
    ]
    return sequences, tables["events"], tables["static"]


def _event(row: dict[str, Any]) -> dict[str, Any]:
    values = {} if row["numeric_value"] is None else {"values": {"numeric_value": row["numeric_value"]}}
    return {"name": row["code"], "time": row["time"], **values}


def sequences_of(made: Path, n: int) -> list[dict[str, Any]]:
    """The first sequences of the chain as a request sends them."""
    events = pl.read_parquet(made.parent / "chain" / "events.parquet")
    ids = events["sequence_id"].unique().sort().head(n)
    return [
        {
            "id": name,
            "events": [
                {"name": row["event"], "time": row["time"]}
                for row in events.filter(sequence_id=name).iter_rows(named=True)
            ],
        }
        for name in ids
    ]
