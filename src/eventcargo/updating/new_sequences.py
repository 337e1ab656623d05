"""NewSequences: which of the sequences of new tables a run can take in, and what it cannot do with them."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eventcargo.errors import DataError, counted, warn
from eventcargo.events import EventDataset
from eventcargo.joining import check_distinct, labelled_as, subjects
from eventcargo.models.density import DensityModel
from eventcargo.prediction.probabilities import unknown_events, warn_of_unknown

SHOWN = 3
"""Names in a message; run.json has all."""


@dataclass(frozen=True)
class NewSequences:
    """New sequences with the labels of a run, and what was left out or is not known of them."""

    data: EventDataset
    unknown_labels: dict[str, int]
    """labels that the model does not know, and how many of the sequences carry each"""
    absent_labels: tuple[str, ...]
    """labels of the run that no new sequence carries"""
    unknown_events: dict[str, int]
    """event types that the model does not know, and how often they occur"""
    early: int
    """sequences left out, because their subject was looked at until later than they end"""
    returning: int
    """sequences of subjects that the run has already"""

    @classmethod
    def of(cls, new: EventDataset, data: EventDataset, model: DensityModel) -> "NewSequences":
        """What a run on `data` can take in of new sequences; sequences that it has already are refused."""
        known_subjects = set(subjects(data)) if data.groups is not None else set()
        is_early = _early(new, data, known_subjects)
        kept = new.select(~is_early)
        if not len(kept):
            raise DataError(
                f"none of {counted(len(new), 'new sequence')} ends after the data of the run do; give tables "
                "that reach beyond them"
                if len(new)
                else "there are no new sequences; name a table that has some"
            )
        check_distinct([data, kept])
        strange = unknown_events(model, kept)
        found = cls(
            labelled_as(kept, model.label_names),
            _unknown_labels(kept, model.label_names),
            tuple(name for name in model.label_names if not kept.label_support.get(name)),
            dict(strange.select("event", "occurrences").iter_rows()),
            int(is_early.sum()),
            sum(name in known_subjects for name in subjects(kept)),
        )
        warn_of_unknown(strange, kept)
        found._warn()
        return found

    def _warn(self) -> None:
        if self.unknown_labels:
            some = _listed([f"{name} ({n:,})" for name, n in self.unknown_labels.items()])
            warn(
                f"the model does not know {counted(len(self.unknown_labels), 'label')} of the new sequences: "
                f"{some}; nothing is said of them until a model is trained with them"
            )
        if self.early:
            warn(
                f"left out {counted(self.early, 'new sequence')} that end before the data of the run do, of "
                "subjects that it has already"
            )
        if self.returning:
            warn(
                f"{self.returning:,} of {counted(len(self.data), 'new sequence')} are of subjects that the "
                "run has already: in votes and evidence they count as groups of their own, and their "
                "look-back reaches no further than the new tables do"
            )

    def to_dict(self) -> dict[str, Any]:
        """What run.json keeps of it."""
        return {
            "sequences": len(self.data),
            "unknown_labels": self.unknown_labels,
            "absent_labels": list(self.absent_labels),
            "unknown_events": self.unknown_events,
            "left_out": self.early,
            "returning": self.returning,
        }


def _unknown_labels(data: EventDataset, known: Collection[str]) -> dict[str, int]:
    carried = {name: n for name, n in data.label_support.items() if n and name not in set(known)}
    return dict(sorted(carried.items(), key=lambda item: (-item[1], item[0])))


def _early(new: EventDataset, data: EventDataset, known_subjects: set[str]) -> NDArray[np.bool_]:
    """Sequences of known subjects whose index time is not after the last one of the run."""
    times, before = (index_times(each) if data.groups is not None else None for each in (new, data))
    if times is None or before is None or not len(before):
        return np.zeros(len(new), bool)
    is_known = np.array([name in known_subjects for name in subjects(new)], bool)
    return is_known & (times <= before.max())


def index_times(data: EventDataset) -> NDArray[np.float64] | None:
    """The index times in the names that a cohort gave its sequences; None if there are none.

    >>> from eventcargo.events import EventSequence
    >>> cut = EventDataset.from_sequences([EventSequence("car1@7.5", ("x",), (0.0,), ())])
    >>> index_times(cut)
    array([7.5])
    """
    texts = pl.Series(data.sequence_ids.to_pylist(), dtype=pl.String).str.extract("@([^@]+)$")
    if data.time_kind == "datetime":
        times = texts.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
        seconds = times.cast(pl.Int64).cast(pl.Float64) / 1e6
    else:
        seconds = texts.cast(pl.Float64, strict=False)
    return None if seconds.null_count() else seconds.to_numpy()


def _listed(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
