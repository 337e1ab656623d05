"""IndexTimes: the moments at which sequences end, and the labels that belong to them."""

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventcargo.cohort.controls import Histories, RiskSets, draw_controls, resolution
from eventcargo.cohort.outcomes import Outcomes
from eventcargo.cohort.segments import by_owner, members, search
from eventcargo.errors import ConfigError, DataError, EventCargoWarning, counted
from eventcargo.events import Ragged
from eventcargo.io.tasks import read_tasks
from eventcargo.known_labels import KnownLabels

MOST_WINDOWS = 100_000_000
"""More windows than this are refused."""


@dataclass(frozen=True)
class IndexTimes:
    """Moments sorted by subject and time; `labels` are numbers among `label_names`, ragged by moment."""

    subjects: NDArray[np.int32]
    times: NDArray[np.float64]
    label_rows: Ragged
    labels: NDArray[np.int32]
    label_names: tuple[str, ...]
    inclusive: bool = False
    """whether events at the moment itself are read: so it is with whole histories and prediction times"""
    known: KnownLabels | None = None
    """which labels are known at which moment; None: all"""

    def __len__(self) -> int:
        return len(self.subjects)

    @property
    def are_cases(self) -> NDArray[np.bool_]:
        """Which moments have a label."""
        return self.label_rows.lengths > 0

    def of_subjects(self, n_subjects: int) -> Ragged:
        return by_owner(self.subjects, n_subjects)


def at_outcomes(
    outcomes: Outcomes,
    histories: Histories,
    horizon: float,
    washout: float,
    controls: int,
    seed: int,
    time_kind: str,
) -> tuple[IndexTimes, int]:
    """Every time of an outcome, with controls at random; and how many controls could not be found.

    Outcomes within the washout after another are no index. Every label is a study of its own: it is known at
    its cases and at the controls drawn for them, which are as long after the start of their histories.
    """
    rows = outcomes.of_subjects(len(histories.first))
    risk = RiskSets(histories, outcomes, rows, horizon, resolution(outcomes.times, time_kind), washout)
    is_new = np.ones(len(outcomes), bool)
    is_new[1:] = (np.diff(outcomes.subjects) != 0) | (np.diff(outcomes.times) != 0)
    is_new &= ~risk.follows(outcomes.subjects, outcomes.times)
    subjects, times = outcomes.subjects[is_new], outcomes.times[is_new]
    n_cases = len(subjects)
    others, moments, of_case = draw_controls(risk, subjects, times, controls, seed)
    missing = controls * int((times > histories.first[subjects]).sum()) - len(others)
    subjects, times = np.concatenate([subjects, others]), np.concatenate([times, moments])
    order = np.lexsort((times, subjects))
    index = _labelled(subjects[order], times[order], outcomes, rows, horizon, True)
    if len(index.label_names) > 1:
        case_of = np.concatenate([np.arange(n_cases), of_case])[order]
        known = KnownLabels(index.label_rows.take(np.argsort(order)[case_of]), index.labels)
        index = replace(index, known=known)
    return index, missing


def in_windows(outcomes: Outcomes, histories: Histories, every: float, horizon: float) -> IndexTimes:
    """A moment every so often, at multiples of `every`, from the start to the end of each history."""
    first = np.floor(histories.first / every) + 1
    last = np.floor(histories.end / every)
    counts = np.maximum(last - first + 1, 0)
    if counts.sum() > MOST_WINDOWS:
        raise ConfigError(
            f"{counts.sum():,.0f} windows, more than {MOST_WINDOWS:,}; use a larger time between them (every)"
        )
    subjects = np.repeat(np.arange(len(first), dtype=np.int32), counts.astype(np.int64))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    times = (np.arange(len(subjects)) - starts[subjects] + first[subjects]) * every
    rows = outcomes.of_subjects(len(histories.first))
    return _labelled(subjects, times, outcomes, rows, horizon, False)


def _labelled(
    subjects: NDArray[np.int32],
    times: NDArray[np.float64],
    outcomes: Outcomes,
    rows: Ragged,
    horizon: float,
    closed: bool,
) -> IndexTimes:
    """Moments with the labels of outcomes from then to the end of the horizon, which counts if `closed`."""
    own = rows.take(subjects.astype(np.int64))
    begin = search(outcomes.times, own, times)
    end = search(outcomes.times, own, times + horizon, inclusive=closed)
    at, owner = members(Ragged(begin, end))
    return with_labels(subjects, times, owner, outcomes.labels[at], outcomes.label_names)


def with_labels(
    subjects: NDArray[np.int32],
    times: NDArray[np.float64],
    marked: NDArray[Any],
    labels: NDArray[Any],
    label_names: tuple[str, ...],
    inclusive: bool = False,
) -> IndexTimes:
    """Moments sorted by subject and time, with labels as pairs (moment, label) in any order."""
    width = max(len(label_names), 1)
    keys = np.unique(marked.astype(np.int64) * width + labels)
    rows = by_owner((keys // width).astype(np.int32), len(subjects))
    return IndexTimes(subjects, times, rows, (keys % width).astype(np.int32), label_names, inclusive)


def at_end(
    last: NDArray[np.float64], owners: NDArray[Any], labels: NDArray[Any], label_names: tuple[str, ...]
) -> IndexTimes:
    """One moment per subject: that of its last event, which is read too."""
    subjects = np.arange(len(last), dtype=np.int32)
    return with_labels(subjects, last, owners, labels, label_names, inclusive=True)


def check_nothing_follows(outcomes: Outcomes, last: NDArray[np.float64]) -> None:
    """Refuse whole histories if events are at or after the outcome they are to explain."""
    late = np.unique(outcomes.subjects[last[outcomes.subjects] >= outcomes.times])
    if len(late):
        raise DataError(
            f"index='end', but {counted(len(late), 'subject')} of "
            f"{len(np.unique(outcomes.subjects)):,} with an outcome have events at or after it, which cannot "
            "cause it; use index='outcome' to end sequences there"
        )


def at_predictions(labels: str | Path, subjects: pa.Array) -> IndexTimes:
    """The prediction times of MEDS labels, with and without a label; events at that time are known."""
    samples = read_tasks(labels)
    ids = pa.array(samples.subjects).cast(pa.large_string())
    found = pc.index_in(ids, value_set=subjects).fill_null(-1).to_numpy(zero_copy_only=False)
    if (found < 0).any():
        warnings.warn(
            f"dropped {counted(int((found < 0).sum()), 'prediction time')} of subjects without events",
            EventCargoWarning,
            stacklevel=4,
        )
    order = np.lexsort((samples.times, found))
    order = order[found[order] >= 0]
    place = np.full(len(found), -1)
    place[order] = np.arange(len(order))
    marked = place[samples.marked] >= 0
    index = with_labels(
        found[order].astype(np.int32),
        samples.times[order],
        place[samples.marked[marked]],
        samples.labels[marked],
        tuple(samples.label_names),
        inclusive=True,
    )
    return index if samples.known is None else replace(index, known=KnownLabels.of(samples.known[order]))
