"""Tables: what a cohort is made from, and how its tables are opened."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eventcargo.errors import ConfigError
from eventcargo.io.config import ReadConfig
from eventcargo.io.problems import Problems
from eventcargo.io.shards import find_beside, visible_files
from eventcargo.io.sources import READING, Source, open_sources
from eventcargo.io.subjects import open_meds


@dataclass(frozen=True)
class Tables:
    """The tables of events, outcomes, attributes and parents, names of columns, how to read them.

    `outcomes` may be a list of tables. A MEDS folder as `events` has its own names of columns.
    """

    events: Any
    outcomes: Any = None
    static: Any = None
    parents: Any = None
    values: tuple[str, ...] = ()
    sequence_id: str = "sequence_id"
    time: str = "time"
    event: str = "event"
    label: str = "label"
    reading: ReadConfig = READING

    def resolved(self) -> "Tables":
        """The same tables, with the column names of MEDS or the tables found in a folder."""
        if not isinstance(self.events, str | Path) or not Path(self.events).is_dir():
            _check_table(self.events)
            return self
        folder = Path(self.events)
        if (folder / "dataset.json").is_file():
            raise ConfigError(
                f"{folder} is a saved data set, whose sequences are cut already; give its tables"
            )
        if self.is_meds:
            return self._of_meds(folder)
        events = find_beside(folder, "events")
        if events is None:
            return self
        outcomes = find_beside(folder, "labels") if self.outcomes is None else self.outcomes
        return replace(self, events=events, outcomes=outcomes)

    def by_group(self, group: str) -> "Tables":
        """The same tables, with groups as subjects if the events have no column of subjects."""
        has_subjects = any(self.sequence_id in source.columns for source in self.open_events())
        return self if has_subjects else replace(self, sequence_id=group)

    @property
    def is_meds(self) -> bool:
        """Whether the events are a MEDS folder."""
        return is_meds(self.events)

    def open_events(self, problems: Problems | None = None) -> list[Source]:
        """The tables of events; rows that are broken as text are noted in `problems`."""
        if self.is_meds:
            files = visible_files((Path(self.events) / "data").rglob("*.parquet"))
            return open_meds(files, ("subject_id", "time", "code"))
        return open_sources(self.events, "events", self.reading, problems)

    def open_outcomes(self, problems: Problems | None = None) -> list[Source]:
        """The tables of outcomes; rows that are broken as text are noted in `problems`."""
        opened = (open_sources(table, "labels", self.reading, problems) for table in self.outcome_tables)
        return [source for sources in opened for source in sources]

    @property
    def outcome_tables(self) -> Sequence[Any]:
        if self.outcomes is None:
            return ()
        return self.outcomes if isinstance(self.outcomes, list | tuple) else (self.outcomes,)

    def _of_meds(self, folder: Path) -> "Tables":
        beside = folder / "labels"
        outcomes = beside if self.outcomes is None and beside.is_dir() else self.outcomes
        return replace(self, outcomes=outcomes, sequence_id="subject_id", time="time", event="code")


def is_meds(given: Any) -> bool:
    """Whether this is a folder of the Medical Event Data Standard."""
    if not isinstance(given, str | Path):
        return False
    return (Path(given) / "metadata").is_dir() and (Path(given) / "data").is_dir()


def _check_table(events: Any) -> None:
    if isinstance(events, list | tuple):
        raise ConfigError("a cohort is cut from a table of events, not from pairs; give a table")
    if hasattr(events, "event_names"):
        raise ConfigError("a cohort is cut from a table of events, not from a data set; give the table")
