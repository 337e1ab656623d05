"""Drift: what is different in new sequences, in words and as a document."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eventcargo.errors import counted
from eventcargo.files import read_document, write_document
from eventcargo.typed import parse_as

DRIFT, FORMAT, FORMAT_VERSION = "drift.json", "eventcargo-drift", 1

SHOWN = 3
"""Names in a sentence; the document has all."""


@dataclass(frozen=True)
class Change:
    """How frequent an event type or a label was to be expected, and is."""

    name: str
    expected: float
    """occurrences in a sequence before; share of new sequences that the model expects to carry the label"""
    found: float
    ratio: float
    p_value: float


@dataclass(frozen=True)
class Drift:
    """What is different in new sequences, and whether the model should be trained anew for it."""

    sequences: int
    """new sequences"""
    event_types: tuple[Change, ...]
    """those that changed, the surest first"""
    labels: tuple[Change, ...]
    n_event_types: int
    """event types that were looked at"""
    n_labels: int
    noticeable_event_types: int
    """event types of which a doubling would have been found"""
    noticeable_labels: int
    unknown_before: float
    """share of events whose type the model does not know, in the data it was trained on"""
    unknown: float
    """the same in the new sequences"""
    unknown_types: tuple[str, ...]
    """types the model does not know, the most frequent first"""
    is_more_unknown: bool

    @property
    def is_out_of_date(self) -> bool:
        """Whether the model should be trained anew."""
        return bool(self.event_types or self.labels or self.is_more_unknown)

    @property
    def sentence(self) -> str:
        """All of it in plain words."""
        if not self.is_out_of_date:
            return (
                f"No sign that the model is out of date, by {counted(self.sequences, 'new sequence')}; a "
                f"doubling would have been noticed of {self.noticeable_event_types:,} of "
                f"{counted(self.n_event_types, 'event type')} and {self.noticeable_labels:,} of "
                f"{counted(self.n_labels, 'label')}."
            )
        return f"The model is out of date, train it anew: {'; '.join(self._reasons)}."

    @property
    def _reasons(self) -> list[str]:
        reasons = []
        if self.event_types:
            some = _listed([f"{one.name} {_times(one.ratio)}" for one in self.event_types])
            which = f"{len(self.event_types):,} of {counted(self.n_event_types, 'event type')}"
            reasons.append(f"{which} occur more or less often than before ({some})")
        if self.labels:
            some = _listed([f"{one.name} {_times(one.ratio)}" for one in self.labels])
            which = f"{len(self.labels):,} of {counted(self.n_labels, 'label')}"
            reasons.append(f"{which} occur more or less often than the model expects ({some})")
        if self.is_more_unknown:
            some = _listed(list(self.unknown_types))
            reasons.append(
                f"{self.unknown:.1%} of the new events are of types that the model does not know ({some}), "
                f"{self.unknown_before:.1%} of those before"
            )
        return reasons

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {"is_out_of_date": self.is_out_of_date, "sentence": self.sentence, **asdict(self)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], place: str = "drift") -> "Drift":
        """The drift that `to_dict` gave; raises `DataError` for anything else."""
        own = {name: value for name, value in content.items() if name not in ("is_out_of_date", "sentence")}
        drift: Drift = parse_as(cls, own, place)
        return drift


def _times(ratio: float) -> str:
    """A ratio in words.

    >>> _times(2.04), _times(0.5)
    ('2.0 times', '0.50 times')
    """
    return f"{ratio:.1f} times" if ratio >= 1 else f"{ratio:.2f} times"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")


def write_drift(folder: Path, drift: Drift) -> None:
    """Write drift.json to a folder."""
    write_document(folder / DRIFT, FORMAT, FORMAT_VERSION, drift.to_dict())


def read_drift(folder: Path) -> Drift | None:
    """The drift in a folder; None if it was not looked for."""
    path = folder / DRIFT
    if not path.exists():
        return None
    content = read_document(path, FORMAT, FORMAT_VERSION, "update the run again")
    return Drift.from_dict(content, f"{path}: its content")
