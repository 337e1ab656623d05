"""`read_meds`: read a folder in the Medical Event Data Standard (MEDS 0.4) into an `EventDataset`.

A subject's codes are the events, a task is a label. With labels, a sequence is a subject up to and including
one prediction time: later events could not be known and are dropped. Numeric values of measurements are read
on request, text values are not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, DataError, argument, counted, warn
from eventcargo.events import EventDataset, Ragged
from eventcargo.io.columns import NameColumn, collect
from eventcargo.io.config import ReadConfig
from eventcargo.io.labels import label_rows
from eventcargo.io.problems import Problems
from eventcargo.io.subjects import Static, SubjectColumn, Subjects, open_meds, read_subjects
from eventcargo.io.tasks import Samples, read_tasks


def read_meds(
    root: str | Path,
    labels: str | Path | Mapping[str, str | Path] | None = None,
    *,
    static: Static = "first",
    cohort_only: bool = True,
    values: Sequence[str] = (),
    on_bad_row: Literal["refuse", "drop"] = "refuse",
) -> EventDataset:
    """Read a MEDS folder.

    Parameters
    ----------
    labels
        A Parquet file or a folder of them (one task, named after the file or folder), a folder of such
        folders (one task each), or a mapping from task names to either. Default: `root/labels`, if it exists.
        A Boolean task is a label; a categorical task gives a label "task=value" for each value; numeric
        values must be 0 and 1.
    static
        Measurements without a time: "first" puts them at the time of the subject's first event, before it;
        "drop" drops them, with a warning.
    cohort_only
        Drop subjects that no task mentions, with a warning: in MEDS they are not known to lack the label.
        False keeps them whole and without labels.
    values
        Numeric columns to read beside the codes, such as ("numeric_value",); nulls become NaN.
    on_bad_row
        Rows of measurements without a subject or a code: "refuse" lists them all, "drop" drops them with a
        warning.

    A sequence has the id of its subject, or "subject@prediction time" if a subject has several prediction
    times. A label whose task has no row for the subject at that time is unknown there.

    >>> read_meds("no such folder")
    Traceback (most recent call last):
    eventcargo.errors.DataError: no such folder/data does not exist; give the root of a MEDS data set
    """
    if static not in ("first", "drop"):
        raise ConfigError(f"{argument('static', static)}: use first or drop")
    problems = Problems(ReadConfig(on_bad_row=on_bad_row).on_bad_row)
    subjects = read_subjects(Path(root), static, values, problems)
    if labels is None and (Path(root) / "labels").is_dir():
        labels = Path(root) / "labels"
    if labels is None:
        return _dataset(subjects, _whole(subjects, np.arange(len(subjects.ids))), None, values)
    samples = _with_events(read_tasks(labels), subjects, problems)
    return _dataset(subjects, _cut(subjects, samples, cohort_only), samples, values)


def read_meds_splits(root: str | Path, data: EventDataset | None = None) -> dict[str, list[str]]:
    """Subject ids by split name ("train", "tuning", "held_out"), or the sequence ids of `data` if given.

    >>> read_meds_splits("no such folder")
    Traceback (most recent call last):
    eventcargo.errors.DataError: no such folder/metadata/subject_splits.parquet does not exist: ...
    """
    path = Path(root) / "metadata" / "subject_splits.parquet"
    if not path.is_file():
        raise DataError(f"{path} does not exist: this MEDS data set has no splits; use EventDataset.split")
    subjects, splits = SubjectColumn(), NameColumn("split")
    collect(open_meds([path], ("subject_id", "split")), {"subject_id": subjects, "split": splits})
    codes, names = splits.finish()
    split_of = dict(zip(map(str, subjects.finish().tolist()), codes.tolist(), strict=True))
    ids = list(split_of) if data is None else data.sequence_ids.to_pylist()
    ids_of: dict[str, list[str]] = {name: [] for name in names.to_pylist()}
    for name in ids:
        code = split_of.get(name.split("@")[0])
        if code is not None:
            ids_of[names[code].as_py()].append(name)
    return ids_of


@dataclass(frozen=True)
class Cuts:
    """The sequences: ids, first and last row among the subjects' events, number of the sample."""

    names: list[str]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    sample: NDArray[np.int64]


def _whole(subjects: Subjects, which: NDArray[np.int64]) -> Cuts:
    starts, stops = subjects.rows.starts[which], subjects.rows.stops[which]
    return Cuts([str(name) for name in subjects.ids[which]], starts, stops, np.full(len(which), -1))


def _cut(subjects: Subjects, samples: Samples, cohort_only: bool) -> Cuts:
    """Every sample's subject up to its prediction time, then the subjects outside all cohorts."""
    which = _find_subjects(subjects, samples)
    starts = subjects.rows.starts[which]
    stops = starts.copy()
    for i, (start, stop) in enumerate(zip(starts, subjects.rows.stops[which], strict=True)):
        stops[i] += np.searchsorted(subjects.times[start:stop], samples.times[i], side="right")
    if n_later := int((subjects.rows.stops[which] - stops).sum()):
        warn(f"dropped {counted(n_later, 'event')} after the prediction time")
    outside = np.setdiff1d(np.arange(len(subjects.ids)), which)
    if cohort_only and len(outside):
        warn(f"dropped {len(outside):,} of {counted(len(subjects.ids), 'subject')}: in no task's cohort")
        outside = outside[:0]
    rest = _whole(subjects, outside)
    return Cuts(
        samples.names + rest.names,
        np.concatenate([starts, rest.starts]),
        np.concatenate([stops, rest.stops]),
        np.concatenate([np.arange(len(which)), rest.sample]),
    )


def _with_events(samples: Samples, subjects: Subjects, problems: Problems) -> Samples:
    """The samples without those of subjects whose rows were all dropped."""
    lost = np.array(sorted(map(int, problems.lost_ids)), np.int64) if problems.drops else subjects.ids[:0]
    is_lost = np.isin(samples.subjects, np.setdiff1d(lost, subjects.ids))
    if not is_lost.any():
        return samples
    warn(f"dropped {counted(int(is_lost.sum()), 'label row')} of subjects of which no event could be used")
    return samples.only(~is_lost)


def _find_subjects(subjects: Subjects, samples: Samples) -> NDArray[np.int64]:
    which = np.searchsorted(subjects.ids, samples.subjects)
    known = subjects.ids[np.minimum(which, len(subjects.ids) - 1)] == samples.subjects
    if not known.all():
        raise DataError(
            f"labels name {counted(len(np.unique(samples.subjects[~known])), 'subject')} without any event, "
            f"the first: {samples.subjects[~known][0]}; use labels made for these data"
        )
    return which


def _dataset(
    subjects: Subjects, cuts: Cuts, samples: Samples | None, value_names: Sequence[str]
) -> EventDataset:
    """The sequences sorted by id; drop those without an event at a known time, with a warning."""
    usable = cuts.stops > cuts.starts
    usable[usable] &= np.isfinite(subjects.times[cuts.starts[usable]])
    if n_empty := int((~usable).sum()):
        warn(f"dropped {counted(n_empty, 'sequence')} without a timed event up to the prediction time")
    if not usable.any():
        raise DataError("no sequence with events remains; check times and prediction times")
    order = np.array(sorted(np.flatnonzero(usable), key=lambda i: cuts.names[i]))
    rows, labels, names = _labels(cuts.sample[order], samples)
    data = EventDataset(
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
    return data.knowing(_known(cuts.sample[order], samples))


def _known(sample_of: NDArray[np.int64], samples: Samples | None) -> NDArray[np.bool_] | None:
    """Which labels are known for which sequence; subjects kept from outside all cohorts lack all labels."""
    if samples is None or samples.known is None:
        return None
    return samples.known[sample_of] | (sample_of < 0)[:, None]


def _labels(
    sample_of: NDArray[np.int64], samples: Samples | None
) -> tuple[Ragged, NDArray[np.int32], list[str]]:
    if samples is None:
        return label_rows(np.zeros(0, np.int64), np.zeros(0, np.int32), [], len(sample_of))
    row_of = np.full(len(samples.names), -1)
    row_of[sample_of[sample_of >= 0]] = np.flatnonzero(sample_of >= 0)
    rows = row_of[samples.marked]
    return label_rows(rows[rows >= 0], samples.labels[rows >= 0], samples.label_names, len(sample_of))
