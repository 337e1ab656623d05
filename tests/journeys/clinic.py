"""A clinic in MEDS folders: until a day, and after it. Patients return, and new ones come.

The second folder begins one look-back and one washout before that day, so that no sequence lacks what came
before it.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from eventcargo.simulation import simulate
from eventcargo.simulation.meds_folder import write_meds
from eventcargo.simulation.records import Records

DAY = datetime(2022, 10, 1, tzinfo=UTC)
BEFORE = timedelta(days=60)
LABEL = "heart failure"
SENT = 6


def write_clinic(folder: Path, subjects: int = 2_000, seed: int = 0) -> Records:
    """Write the MEDS folders first, second and waiting; what was recorded of the patients who are waiting.

    Those are some new patients shortly before their heart failure. A fourth folder, new, has of the second
    the new patients alone.
    """
    records: Records = simulate("clinic", seed=seed, subjects=subjects, codes=40)  # type: ignore[assignment]
    time, seen = pl.col("time"), records.events.group_by("subject_id").agg(pl.col("time").min())
    is_new = _is_one_of(seen.filter(time >= DAY))
    failed = records.outcomes.filter(is_new, label=LABEL).group_by("subject_id").agg(until=time.min())
    failed = failed.sort("subject_id").head(SENT)
    is_waiting = _is_one_of(failed)
    waiting = replace(
        _where(records, is_waiting),
        events=records.events.join(failed, on="subject_id").filter(time < pl.col("until")).drop("until"),
    )
    write_meds(_where(records, time < DAY), folder / "first")
    write_meds(_where(records, (time >= DAY - BEFORE) & ~is_waiting), folder / "second")
    write_meds(_where(records, is_new & ~is_waiting), folder / "new")
    write_meds(waiting, folder / "waiting")
    return waiting


def _where(records: Records, condition: pl.Expr) -> Records:
    """What was recorded under a condition, with the attributes of those whom it is about."""
    events, outcomes = records.events.filter(condition), records.outcomes.filter(condition)
    return replace(
        records, events=events, outcomes=outcomes, static=records.static.filter(_is_one_of(events))
    )


def _is_one_of(table: pl.DataFrame) -> pl.Expr:
    return pl.col("subject_id").is_in(table["subject_id"].unique().implode())
