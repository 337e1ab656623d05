"""Survey: a first look at all recorded events: when histories begin and end, numbers, events without time."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.cohort.recording import Recording
from eventcargo.cohort.spool import Rows

MOST_NUMBERS = 4_000_000
"""Numbers from which quantiles are taken; of more, a random part that depends only on the rows."""


@dataclass(frozen=True)
class Survey:
    """What is known of the events before they are cut."""

    first: NDArray[np.float64]
    """the first event of every subject; infinite if it has none with a time"""
    last: NDArray[np.float64]
    occurrences: NDArray[np.int64]
    """events with a time, by event type"""
    outcomes: tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]
    """subject, time and event type of the events that are outcomes"""
    timeless: tuple[NDArray[np.int32], NDArray[np.int32]]
    """subject and event type of the events without a time"""
    numbers: tuple[NDArray[np.int32], NDArray[np.float64]]
    """event type and number of measured numbers"""
    n_rows: int
    n_excluded: int


def survey(
    recording: Recording,
    number_of: NDArray[np.int32],
    n_types: int,
    outcome_types: NDArray[np.int32],
    seed: int,
    measured: bool,
) -> Survey:
    """Look at all rows; `number_of` maps recorded names to event types, -1 to leave out."""
    n_subjects = len(recording.subjects)
    first, last = np.full(n_subjects, np.inf), np.full(n_subjects, -np.inf)
    occurrences = np.zeros(n_types, np.int64)
    outcomes, timeless, numbers = [], [], []
    share = min(1.0, MOST_NUMBERS / max(recording.n_numbers, 1))
    n_excluded = n_rows = 0
    for rows in recording.chunks():
        rows["code"] = number_of[rows["code"]]
        n_rows += len(rows)
        timed = rows[~np.isnan(rows["time"])]
        np.minimum.at(first, timed["subject"], timed["time"])
        np.maximum.at(last, timed["subject"], timed["time"])
        kept = timed[timed["code"] >= 0]
        n_excluded += int(np.count_nonzero(rows["code"] < 0))
        occurrences += np.bincount(kept["code"], minlength=n_types)
        if len(outcome_types):
            outcomes.append(kept[np.isin(kept["code"], outcome_types)])
        timeless.append(rows[np.isnan(rows["time"]) & (rows["code"] >= 0)])
        if measured:
            numbers.append(_sampled(kept[~np.isnan(kept["values"][:, -1])], share, seed))
    found, without = _joined(outcomes), _joined(timeless)
    return Survey(
        first,
        last,
        occurrences,
        (found["subject"], found["time"], found["code"]) if outcomes else _NOTHING,
        (without["subject"], without["code"]),
        tuple(np.concatenate([n[i] for n in numbers]) for i in (0, 1)) if numbers else _NO_NUMBERS,  # type: ignore[arg-type]
        n_rows,
        n_excluded,
    )


_NOTHING = (np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int32))
_NO_NUMBERS = (np.zeros(0, np.int32), np.zeros(0))


def _joined(parts: list[Rows]) -> Rows:
    return np.concatenate(parts) if parts else np.zeros(0)


def _sampled(rows: Rows, share: float, seed: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Event types and numbers of a share of the rows, chosen by their content."""
    if share < 1:
        keys = rows["subject"].astype(np.uint64) << np.uint64(32) | rows["code"].astype(np.uint64)
        mixed = _scrambled(keys ^ _scrambled(rows["time"].view(np.uint64) + np.uint64(seed)))
        rows = rows[mixed < np.uint64(share * 2.0**64)]
    return rows["code"].copy(), rows["values"][:, -1].copy()


def _scrambled(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of 64 bits (the finaliser of splitmix64)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
