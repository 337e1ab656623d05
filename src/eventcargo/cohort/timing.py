"""Timing: for each label and event type, subjects in whom it first occurs before, at or after the outcome.

An event type that first occurs almost only after its outcome records it, and does not cause it. Counted are
subjects with the outcome, against their first outcome of that label: events of one are not independent.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eventcargo.cohort.config import TIMING
from eventcargo.cohort.outcomes import Outcomes
from eventcargo.cohort.segments import by_owner, members
from eventcargo.cohort.spool import Rows
from eventcargo.leaks.late import TIMES
from eventcargo.sealed_tables import read_table, write_table

SCHEMA: dict[str, Any] = {"label": pl.Int32, "event": pl.Int32, **dict.fromkeys(TIMES, pl.Int64)}


COLUMNS = {"label": pl.String(), "event": pl.String(), **dict.fromkeys(TIMES, pl.Int64())}
"""Columns of the finished table."""


class TimingCounts:
    """Counts over all parts of the rows."""

    def __init__(self, outcomes: Outcomes, n_subjects: int) -> None:
        is_first = _first_of_each(outcomes)
        self._times, self._labels = outcomes.times[is_first], outcomes.labels[is_first]
        self._rows = by_owner(outcomes.subjects[is_first], n_subjects)
        self._parts: list[pl.DataFrame] = []

    def add(self, rows: Rows, codes: NDArray[np.int32]) -> None:
        """Count the events of a part; `rows` are those of `codes`, families and thresholds included."""
        counted = self._rows.lengths[rows["subject"]] > 0
        rows, codes = rows[counted], codes[counted]
        at, owner = members(self._rows.take(rows["subject"].astype(np.int64)))
        times = rows["time"][owner]
        frame = pl.DataFrame(
            {
                "subject": rows["subject"][owner],
                "label": self._labels[at],
                "event": codes[owner],
                "before": times < self._times[at],
                "same": times == self._times[at],
                "after": times > self._times[at],
            }
        )
        # rows are sorted by subject and time, and no subject is in two parts
        frame = frame.unique(["subject", "label", "event"], keep="first", maintain_order=True)
        self._parts.append(frame.group_by("label", "event").agg(pl.col(TIMES).sum().cast(pl.Int64)))

    @staticmethod
    def empty() -> pl.DataFrame:
        """The table without a row."""
        return pl.DataFrame(schema={**SCHEMA, "label": pl.String, "event": pl.String})

    def table(self, event_names: list[str], label_names: tuple[str, ...]) -> pl.DataFrame:
        """A row for each pair of label and event type that occurs, sorted by name."""
        total = pl.concat([pl.DataFrame(schema=SCHEMA), *self._parts])
        total = total.group_by("label", "event").agg(pl.col(TIMES).sum())
        return total.with_columns(
            label=pl.Series(label_names, dtype=pl.String).gather(total["label"]),
            event=pl.Series(event_names, dtype=pl.String).gather(total["event"]),
        ).sort("label", "event")


def write_timing(folder: Path, timing: pl.DataFrame) -> None:
    """Write the table to a folder of sequences or of a run."""
    write_table(folder / TIMING, timing.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items()))


def read_timing(folder: Path) -> pl.DataFrame:
    """The table of a folder."""
    return read_table(folder / TIMING, COLUMNS, "make the cohort again", is_sealed=False)


def _first_of_each(outcomes: Outcomes) -> NDArray[np.int64]:
    """The first outcome of every subject and label, by subject."""
    order = np.lexsort((outcomes.times, outcomes.labels, outcomes.subjects))
    subjects, labels = outcomes.subjects[order], outcomes.labels[order]
    is_first = np.ones(len(order), bool)
    is_first[1:] = (np.diff(subjects) != 0) | (np.diff(labels) != 0)
    return order[is_first]
