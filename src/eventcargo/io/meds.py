"""`read_meds`: a folder in the Medical Event Data Standard (MEDS 0.4) becomes an `EventDataset`.

A subject's codes are the events, a task is a label. With labels, a sequence is a subject up to one prediction
time, events at that time included: what comes later could not be known and is cut. Numeric values of
measurements are read if asked for, text values are not.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, DataError, EventCargoWarning
from eventcargo.events import EventDataset, Ragged
from eventcargo.io.columns import NameColumn, collect
from eventcargo.io.labels import label_rows
from eventcargo.io.subjects import Static, SubjectColumn, Subjects, open_meds, read_subjects
from eventcargo.io.tasks import Samples, read_tasks


def read_meds(
    root: str | Path,
    labels: str | Path | Mapping[str, str | Path] | None = None,
    *,
    static: Static = "first",
    cohort_only: bool = True,
    values: Sequence[str] = (),
) -> EventDataset:
    """The data set in a MEDS folder.

    Parameters
    ----------
    labels
        A Parquet file or a folder of them (one task, called as the file or folder), a folder of such folders
        (one task each), or a mapping from task names to either. Default: `root/labels` if it is there.
        A Boolean task is a label; a categorical one gives a label "task=value" for each value; numbers must
        be 0 and 1.
    static
        Measurements without time: "first" puts them at the time of the subject's first event, before it;
        "drop" leaves them out, with a warning.
    cohort_only
        Leave out subjects that no task mentions, with a warning: in MEDS they are not known to lack the
        label. False keeps them, uncut and without labels.
    values
        Numeric columns to read beside the codes: ("numeric_value",) for MEDS's own, NaN where it is null.

    A sequence is called as its subject, or "subject@prediction time" where a subject has several prediction
    times. A task that says nothing about a subject at that time counts as absent.

    >>> read_meds("no such folder")
    Traceback (most recent call last):
    eventcargo.errors.DataError: no such folder/data does not exist; give the root of a MEDS data set
    """
    if static not in ("first", "drop"):
        raise ConfigError(f"static={static!r}; allowed are 'first' and 'drop'")
    subjects = read_subjects(Path(root), static, values)
    if labels is None and (Path(root) / "labels").is_dir():
        labels = Path(root) / "labels"
    if labels is None:
        return _dataset(subjects, _whole(subjects, np.arange(len(subjects.ids))), None, values)
    samples = read_tasks(labels)
    return _dataset(subjects, _cut(subjects, samples, cohort_only), samples, values)


def read_meds_splits(root: str | Path, data: EventDataset | None = None) -> dict[str, list[str]]:
    """Subject ids by split name ("train", "tuning", "held_out"); of `data`, if given, its sequence ids.

    >>> read_meds_splits("no such folder")
    Traceback (most recent call last):
    eventcargo.errors.DataError: no such folder/metadata/subject_splits.parquet does not exist; ...
    """
    path = Path(root) / "metadata" / "subject_splits.parquet"
    if not path.is_file():
        raise DataError(f"{path} does not exist; this MEDS data set has no splits, use EventDataset.split")
    subjects, splits = SubjectColumn(), NameColumn("split")
    collect(open_meds([path], ("subject_id", "split")), {"subject_id": subjects, "split": splits})
    codes, names = splits.finish()
    split_of = dict(zip(map(str, subjects.finish().tolist()), codes.tolist(), strict=True))
    ids = list(split_of) if data is None else data.sequence_ids.to_pylist()
    parts: dict[str, list[str]] = {name: [] for name in names.to_pylist()}
    for name in ids:
        code = split_of.get(name.split("@")[0])
        if code is not None:
            parts[names[code].as_py()].append(name)
    return parts


@dataclass(frozen=True)
class Cuts:
    """The sequences: names, first and last rows among the subjects' events, numbers of the samples."""

    names: list[str]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    sample: NDArray[np.int64]


def _whole(subjects: Subjects, which: NDArray[np.int64]) -> Cuts:
    starts, stops = subjects.rows.starts[which], subjects.rows.stops[which]
    return Cuts([str(name) for name in subjects.ids[which]], starts, stops, np.full(len(which), -1))


def _cut(subjects: Subjects, samples: Samples, cohort_only: bool) -> Cuts:
    """Every sample's subject up to its prediction time, then the subjects outside of all cohorts."""
    which = _find_subjects(subjects, samples)
    starts = subjects.rows.starts[which]
    stops = starts.copy()
    for i, (start, stop) in enumerate(zip(starts, subjects.rows.stops[which], strict=True)):
        stops[i] += np.searchsorted(subjects.times[start:stop], samples.times[i], side="right")
    if n_later := int((subjects.rows.stops[which] - stops).sum()):
        _warn(f"{n_later:,} events come after the prediction time and were cut")
    outside = np.setdiff1d(np.arange(len(subjects.ids)), which)
    if cohort_only and len(outside):
        _warn(f"{len(outside):,} of {len(subjects.ids):,} subjects are in no task's cohort and were left out")
        outside = outside[:0]
    rest = _whole(subjects, outside)
    return Cuts(
        samples.names + rest.names,
        np.concatenate([starts, rest.starts]),
        np.concatenate([stops, rest.stops]),
        np.concatenate([np.arange(len(which)), rest.sample]),
    )


def _find_subjects(subjects: Subjects, samples: Samples) -> NDArray[np.int64]:
    which = np.searchsorted(subjects.ids, samples.subjects)
    known = subjects.ids[np.minimum(which, len(subjects.ids) - 1)] == samples.subjects
    if not known.all():
        raise DataError(
            f"labels name {len(np.unique(samples.subjects[~known])):,} subject(s) without any event, "
            f"the first: {samples.subjects[~known][0]}; use labels made for these data"
        )
    return which


def _dataset(
    subjects: Subjects, cuts: Cuts, samples: Samples | None, value_names: Sequence[str]
) -> EventDataset:
    """The sequences sorted by name; those without an event at a known time are left out with a warning."""
    usable = cuts.stops > cuts.starts
    usable[usable] &= np.isfinite(subjects.times[cuts.starts[usable]])
    if n_empty := int((~usable).sum()):
        _warn(
            f"{n_empty:,} sequences have no event with a time (up to the prediction time) and were left out"
        )
    if not usable.any():
        raise DataError("no sequence with events is left; check times and prediction times")
    order = np.array(sorted(np.flatnonzero(usable), key=lambda i: cuts.names[i]))
    rows, labels, names = _labels(cuts.sample[order], samples)
    return EventDataset(
        sequence_ids=pa.array([cuts.names[i] for i in order], pa.large_string()),
        events=subjects.events,
        times=subjects.times,
        rows=Ragged(cuts.starts[order], cuts.stops[order]),
        labels=labels,
        label_rows=rows,
        event_names=subjects.event_names,
        label_names=names,
        time_kind="datetime",
        values=subjects.values,
        value_names=value_names,
    )


def _labels(
    sample_of: NDArray[np.int64], samples: Samples | None
) -> tuple[Ragged, NDArray[np.int32], list[str]]:
    if samples is None:
        return label_rows(np.zeros(0, np.int64), np.zeros(0, np.int32), [], len(sample_of))
    row_of = np.full(len(samples.names), -1)
    row_of[sample_of[sample_of >= 0]] = np.flatnonzero(sample_of >= 0)
    rows = row_of[samples.marked]
    return label_rows(rows[rows >= 0], samples.labels[rows >= 0], samples.label_names, len(sample_of))


def _warn(message: str) -> None:
    warnings.warn(message, EventCargoWarning, stacklevel=4)
