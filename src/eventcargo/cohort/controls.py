"""Controls: moments without an outcome, drawn for each case among the subjects at risk (risk-set sampling).

A control is as long after the start of its own history as the case is after the start of its history, and has
an outcome behind it if and only if the case has: otherwise the age of a history, or what follows an outcome,
would look like a cause. The subject must be recorded up to that moment, and no outcome may follow within the
horizon. Control times have the resolution of outcome times: if outcomes fall on midnight, so do controls.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.cohort.outcomes import Outcomes
from eventcargo.cohort.segments import search
from eventcargo.events import Ragged

ROUNDS = 64
"""Attempts to find a control that is at risk and not yet drawn."""

RESOLUTIONS = {"datetime": (86400.0, 3600.0, 60.0, 1.0), "number": (1.0,)}


@dataclass(frozen=True)
class Histories:
    """The first event of every subject, and the end of its recording."""

    first: NDArray[np.float64]
    end: NDArray[np.float64]


@dataclass(frozen=True)
class RiskSets:
    """Who is at risk when: histories and outcomes of all subjects."""

    histories: Histories
    outcomes: Outcomes
    rows: Ragged
    horizon: float
    resolution: float
    washout: float = 0.0

    @property
    def first_outcome(self) -> NDArray[np.float64]:
        """The time of every subject's first outcome, infinite without."""
        first = np.full(len(self.rows.starts), np.inf)
        has = self.rows.lengths > 0
        first[has] = self.outcomes.times[self.rows.starts[has]]
        return first

    def at(self, subjects: NDArray[np.int64], since_start: NDArray[np.float64]) -> NDArray[np.float64]:
        """The moments this long after the start of the subjects' histories."""
        moments = self.histories.first[subjects] + since_start
        if self.resolution:
            moments = np.floor(moments / self.resolution + 0.5) * self.resolution
        return moments

    def are_free(self, subjects: NDArray[np.int64], moments: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether the subjects are recorded up to these moments, without outcome within the horizon.

        Nor may there be one within the washout before.
        """
        rows = self.rows.take(subjects)
        begin = search(self.outcomes.times, rows, moments)
        end = search(self.outcomes.times, rows, moments + self.horizon, inclusive=True)
        is_free = (begin == end) & (moments <= self.histories.end[subjects])
        return is_free & ~self.follows(subjects, moments)

    def follows(self, subjects: NDArray[Any], moments: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether an outcome lies within the washout before these moments."""
        rows = self.rows.take(subjects.astype(np.int64))
        begin = search(self.outcomes.times, rows, moments - self.washout)
        return search(self.outcomes.times, rows, moments) > begin


def follow_up(
    first: NDArray[np.float64], last: NDArray[np.float64], n_events: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How long subjects are recorded: one mean gap between events beyond the last, but not beyond all data.

    A subject is recorded for some time after its last event. Without that time, subjects with few events
    would be controls less often than they are cases.

    >>> follow_up(np.array([0.0, 0.0]), np.array([4.0, 9.0]), np.array([3, 10]))
    array([6., 9.])
    """
    several = n_events > 1
    if not several.any():
        return last
    gaps = np.zeros(len(first))
    gaps[several] = (last[several] - first[several]) / (n_events[several] - 1)
    gaps[~several] = np.median(gaps[several])
    return np.minimum(last + gaps, last.max())


def resolution(times: NDArray[np.float64], time_kind: str) -> float:
    """The coarsest unit of time of which all times are multiples; 0 if there is none.

    >>> resolution(np.array([0.0, 7200.0]), "datetime")
    3600.0
    """
    return next((u for u in RESOLUTIONS.get(time_kind, ()) if not np.mod(times, u).any()), 0.0)


def draw_controls(
    risk: RiskSets, subjects: NDArray[np.int32], times: NDArray[np.float64], per_case: int, seed: int
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
    """Subjects and moments of controls, all distinct, and the number of the case each was drawn for.

    Cases are sorted by subject and time.
    """
    since_start = times - risk.histories.first[subjects]
    has_before = risk.first_outcome[subjects] < times
    random = np.random.default_rng(seed)
    drawn = [
        _draw(risk, since_start, np.flatnonzero(which & (since_start > 0)), status, per_case, random)
        for status, which in ((False, ~has_before), (True, has_before))
    ]
    found, moments, cases = (np.concatenate(columns) for columns in zip(*drawn, strict=True))
    return found.astype(np.int32), moments, cases


def _draw(
    risk: RiskSets,
    since_start: NDArray[np.float64],
    cases: NDArray[np.int64],
    status: bool,
    per_case: int,
    random: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Controls for some cases, all of them with or all without an earlier outcome."""
    pool, lengths = _pool(risk, status)
    open_cases = np.repeat(cases, per_case)
    n_at_risk = len(pool) - np.searchsorted(lengths, since_start[open_cases])
    open_cases, n_at_risk = open_cases[n_at_risk > 0], n_at_risk[n_at_risk > 0]
    found, moments, of_case = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64)
    first_outcome = risk.first_outcome
    for _ in range(ROUNDS):
        if not len(open_cases):
            break
        tried = pool[len(pool) - 1 - (random.random(len(open_cases)) * n_at_risk).astype(np.int64)]
        at = risk.at(tried, since_start[open_cases])
        fits = risk.are_free(tried, at) & ((first_outcome[tried] < at) == status)
        fits[fits] = _are_new(found, moments, tried[fits], at[fits])
        found, moments = np.concatenate([found, tried[fits]]), np.concatenate([moments, at[fits]])
        of_case = np.concatenate([of_case, open_cases[fits]])
        open_cases, n_at_risk = open_cases[~fits], n_at_risk[~fits]
    return found, moments, of_case


def _pool(risk: RiskSets, status: bool) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Subjects that may be at risk without (or with) an earlier outcome, by how long they are, ascending."""
    first, end = risk.histories.first, risk.histories.end
    lengths = (end if status else np.minimum(end, risk.first_outcome)) - first
    pool = np.flatnonzero((lengths > 0) & (np.isfinite(risk.first_outcome) if status else True))
    pool = pool[np.argsort(lengths[pool], kind="stable")]
    return pool, lengths[pool]


def _are_new(
    found: NDArray[np.int64], moments: NDArray[np.float64], tried: NDArray[np.int64], at: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Whether each tried control differs from those found and from those tried before it."""
    subjects, times = np.concatenate([found, tried]), np.concatenate([moments, at])
    order = np.lexsort((times, subjects))
    repeats = np.zeros(len(order), bool)
    repeats[order[1:]] = (np.diff(subjects[order]) == 0) & (np.diff(times[order]) == 0)
    return ~repeats[len(found) :]
