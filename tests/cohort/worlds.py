"""Worlds without causes: outcomes at random times, whatever the events."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eventcargo.cohort import CohortData

DAY = 86_400.0


@dataclass(frozen=True)
class World:
    """How subjects are recorded and when outcomes fall."""

    subjects: int = 200
    with_outcome: float = 0.5
    bursts: int = 1
    """events at each moment of activity, within hours"""
    unequal: bool = False
    """some subjects have far more events than others"""
    terminal: bool = False
    """recording ends with the outcome"""
    recurrent: bool = False
    """up to three outcomes"""
    by_day: bool = False
    """outcomes are dated, events only happen from 6 to 18 o'clock"""

    @cache  # noqa: B019 (worlds live as long as the tests)
    def tables(self, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
        """A table of events and a table of outcomes."""
        random = np.random.default_rng(seed)
        events, outcomes = [], []
        for number in range(self.subjects):
            name = f"s{number:04}"
            times, moments = self._subject(random)
            events += [(name, time, f"e{random.integers(5)}") for time in times]
            outcomes += [(name, time, "bad") for time in moments]
        return (
            _table(events, ["sequence_id", "time", "event"]),
            _table(outcomes, ["sequence_id", "time", "label"]).rename({"time": "when"}),
        )

    def _subject(self, random: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        start, length = random.uniform(0, 30) * DAY, random.uniform(20, 60) * DAY
        activity = random.gamma(2, 0.5) if self.unequal else 1.0
        times = start + random.uniform(0, length, max(random.poisson(activity * length / DAY / 1.5), 1))
        if self.bursts > 1:
            times = (times[:, None] + random.exponential(3600.0, (len(times), self.bursts))).ravel()
        if self.by_day:
            times = np.floor(times / DAY) * DAY + (6 + 12 * (times / DAY % 1)) * 3600
        if random.random() > self.with_outcome:
            return times, np.zeros(0)
        moments = random.uniform(start, start + length, random.integers(1, 4) if self.recurrent else 1)
        if self.by_day:
            moments = np.unique(np.floor(moments / DAY) * DAY)
        return times[times < moments.max()] if self.terminal else times, moments


def _table(rows: list[tuple[str, float, str]], names: list[str]) -> pl.DataFrame:
    table = pl.DataFrame(rows, names, orient="row")
    return table.with_columns(time=pl.from_epoch((pl.col("time") * 1e6).cast(pl.Int64), "us"))


def differences(built: CohortData, events: pl.DataFrame) -> NDArray[np.float64]:
    """Standardised differences between cases and controls: length, time since the last event, position."""
    first = events.group_by("sequence_id").agg(start=pl.col("time").min())
    index = built.index.join(first, left_on="subject", right_on="sequence_id", maintain_order="left")
    ends = index["time"].dt.timestamp("us").to_numpy() / 1e6
    data, cases = built.data, index["case"].to_numpy()
    measures = (
        data.lengths.astype(np.float64),
        np.log1p(ends - data.times[data.rows.stops - 1]),
        ends - index["start"].dt.timestamp("us").to_numpy() / 1e6,
    )
    return np.array([_standardised(measure[cases], measure[~cases]) for measure in measures])


def _standardised(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float((one.mean() - other.mean()) / np.sqrt(one.var() / len(one) + other.var() / len(other)))
