"""Grouping: which sequences a split must not tear apart.

Sequences of one subject overlap, so the subject is their group unless a column names a larger one. A few
streams cut into windows would be a few groups, too few to hold some of them out; there, a group is a block of
time much longer than the look-back.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eventcargo.cohort.config import Cohort
from eventcargo.cohort.durations import parse_duration, parse_lookback
from eventcargo.cohort.index_times import IndexTimes
from eventcargo.cohort.recording import Recording
from eventcargo.errors import ConfigError, DataError, argument, counted

FEW_STREAMS = 20
"""With fewer streams, windows are grouped by blocks of time."""

BLOCK_LOOKBACKS, BLOCK_WINDOWS = 10, 100
"""Length of a block in look-backs, or in windows if the look-back is a number of events."""


@dataclass(frozen=True)
class Grouping:
    """The group of every moment of an index, None if each is its own, and how groups were made."""

    groups: NDArray[np.int64] | None
    words: str

    def of_moments(self, moments: NDArray[np.int64]) -> NDArray[np.int32] | None:
        """The groups of some moments, numbered from 0."""
        if self.groups is None:
            return None
        return np.unique(self.groups[moments], return_inverse=True)[1].astype(np.int32)


def group_index(
    index: IndexTimes,
    recording: Recording,
    static: pl.DataFrame | None,
    cohort: Cohort,
    kind: str,
    time_kind: str,
) -> Grouping:
    """The groups of an index: by a column of the events or of the static table, else by subject."""
    subjects = index.subjects.astype(np.int64)
    if cohort.group and len(recording.groups[0]):
        return Grouping(recording.groups[0].astype(np.int64)[subjects], cohort.group)
    if cohort.group and static is not None and cohort.group in static.columns:
        return Grouping(_from_static(static, recording, cohort.group)[subjects], cohort.group)
    if cohort.group and kind != "windows" and cohort.group != static_key(static):
        raise ConfigError(
            f"{argument('group', cohort.group)}: neither the events nor the static table have this column"
        )
    if kind == "windows" and len(recording.subjects) < FEW_STREAMS:
        return _blocks(index, cohort, time_kind)
    if kind == "end":
        return Grouping(None, "sequence")
    return Grouping(subjects, "subject")


def static_key(static: pl.DataFrame | None) -> str:
    return "" if static is None else static.columns[0]


def _from_static(static: pl.DataFrame, recording: Recording, group: str) -> NDArray[np.int64]:
    key = static.columns[0]
    place = pl.DataFrame({key: pl.Series(recording.subjects).cast(pl.String)})
    found = place.join(static.select(key, group), on=key, how="left", maintain_order="left")[group]
    if found.null_count():
        raise DataError(
            f"{counted(found.null_count(), 'subject')} without {group!r} in the static table; every "
            "subject needs a group"
        )
    numbers: NDArray[np.int64] = found.cast(pl.String).rank("dense").to_numpy().astype(np.int64)
    return numbers


def _blocks(index: IndexTimes, cohort: Cohort, kind: str) -> Grouping:
    every = parse_duration("every", cohort.every, kind)
    lookback = parse_lookback(cohort.lookback, kind)
    block = BLOCK_WINDOWS * every if lookback.events is not None else BLOCK_LOOKBACKS * lookback.time
    block = max(block, every)
    numbers = np.floor(index.times / block).astype(np.int64)
    numbers -= numbers.min(initial=0)
    width = int(numbers.max(initial=0)) + 1
    return Grouping(index.subjects.astype(np.int64) * width + numbers, "block of time")
