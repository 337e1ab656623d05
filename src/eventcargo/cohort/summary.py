"""CohortSummary: what a cohort counted, in figures and in one line of words."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from eventcargo.errors import counted


@dataclass(frozen=True)
class CohortSummary:
    """Counts of sequences, subjects and events; every event read is counted once as used or left out."""

    index: str
    lookback: str
    subjects: int
    cases: int
    controls: int
    controls_missing: int
    empty_cases: int
    empty_controls: int
    outcomes_without_events: int
    events_read: int
    events_used: int
    after_index: int
    same_instant: int
    in_gap: int
    before_lookback: int
    no_index: int
    excluded: int
    duplicates: int
    without_time: int
    merged_spellings: int
    rare_types: int
    rare_events: int
    subjects_without_attributes: int
    families: int
    thresholds: int
    groups: int
    grouped_by: str
    labels_also_events: tuple[str, ...]

    @property
    def line(self) -> str:
        """The cohort in one line.

        >>> CohortSummary.example().line
        '12,004 cases, 36,012 controls, look-back 30d, 66,623 events after the index left out'
        """
        return ", ".join(self._words())

    def _words(self) -> Iterator[str]:
        if self.index == "end":
            yield f"{counted(self.cases + self.controls, 'whole history', 'whole histories')}"
        elif self.index == "windows":
            yield f"{counted(self.cases + self.controls, 'window')}, {self.cases:,} with an outcome"
        else:
            yield f"{counted(self.cases, 'case')}, {counted(self.controls, 'control')}"
        if self.lookback:
            yield f"look-back {self.lookback}"
        if self.after_index:
            yield f"{counted(self.after_index, 'event')} after the index left out"

    @property
    def notes(self) -> list[str]:
        """What was left out or merged, one sentence each; nothing that did not happen."""
        counts = (
            (self.same_instant, "event", "at the very moment of the index left out"),
            (self.in_gap, "event", "in the gap left out"),
            (self.before_lookback, "event", "before the look-back left out"),
            (self.no_index, "event", "of subjects that are neither case nor control left out"),
            (self.excluded, "event", "excluded by name"),
            (self.duplicates, "duplicate row", "dropped"),
            (self.without_time, "event", "without a time made attributes"),
            (self.merged_spellings, "spelling", "merged with another of the same event type"),
            (self.rare_types, "rare event type", f"left out, with {counted(self.rare_events, 'event')}"),
            (self.empty_cases, "case", "without any event left out"),
            (self.empty_controls, "control", "without any event left out"),
            (self.controls_missing, "control", "not found: too few subjects at risk"),
            (self.outcomes_without_events, "outcome", "of subjects without events left out"),
            (self.subjects_without_attributes, "subject", "without a row in the static table"),
        )
        return [f"{counted(count, noun)} {words}" for count, noun, words in counts if count] + [
            f"label {name!r} is also an event type: earlier ones may be found as its cause"
            for name in self.labels_also_events
        ]

    def to_dict(self) -> dict[str, Any]:
        """All figures and the line, for JSON."""
        return {**asdict(self), "labels_also_events": list(self.labels_also_events), "line": self.line}

    @classmethod
    def example(cls) -> "CohortSummary":
        """A summary for examples."""
        figures = {name: 0 for name, field in cls.__dataclass_fields__.items() if field.type is int}
        texts = {"index": "outcome", "lookback": "30d", "grouped_by": "subject", "labels_also_events": ()}
        return cls(**{**figures, **texts, "cases": 12_004, "controls": 36_012, "after_index": 66_623})  # type: ignore[arg-type]
