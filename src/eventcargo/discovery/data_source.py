"""DataSource: where the data of a run are, saved in RUN/data.json and RUN/cohort.json for later commands.

Sequences that `update` added are kept as they were read, in RUN/added; with them, the data of a run are those
of several tables.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import eventcargo
import eventcargo.cohort
import eventcargo.leaks
from eventcargo.cohort.config import COHORT, TIMING, Cohort, read_cohort
from eventcargo.discovery.run_folder import write_cohort_of_run
from eventcargo.errors import ConfigError, DataError, shown_value
from eventcargo.files import read_document, write_document
from eventcargo.io.config import ReadConfig
from eventcargo.io.shards import find_shards
from eventcargo.typed import parse_as

if TYPE_CHECKING:
    import polars as pl

    from eventcargo.cohort.tables import Tables
    from eventcargo.events import EventDataset
    from eventcargo.vocabulary import Vocabulary

SOURCE, FORMAT, FORMAT_VERSION = "data.json", "eventcargo-data", 1

ADDED, PART_NAME = "added", re.compile(r"\d{4,9}")
"""Folder, in that of a run, with the sequences that were added to its data."""

LIKE_RUN = ("sequence_id", "time", "event", "label", "unknown_labels", "values", "static", "parents")
"""What new tables have as the run's own, unless it is given."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Names of columns, and the tables beside those of events and labels."""

    panel: ClassVar[str] = "Tables"

    sequence_id: str = "sequence_id"
    """column with the sequence id, or with the subject of a cohort"""
    time: str = "time"
    """column with the time; without this column, the order of rows counts"""
    event: str = "event"
    """column with the event type"""
    label: str = "label"
    """column with the label, in a long table of labels"""
    unknown_labels: Literal["refuse", "drop"] = "refuse"
    """labels of sequences without events: refuse them, or drop them with a warning; cohorts drop them"""
    values: tuple[str, ...] = ()
    """numeric column of the events, such as mileage; repeat for more columns"""
    static: str = ""
    """table of attributes of subjects, such as model or sex: a row per subject"""
    parents: str = ""
    """table of families of event types: code and parent, or code and parent_codes as in MEDS"""


@dataclass(frozen=True)
class DataSource(Columns):
    """The tables of events and labels, the names of their columns, and the cohort to make of them."""

    events: str
    labels: tuple[str, ...] = ()
    cohort: Cohort = Cohort()  # noqa: RUF009 (frozen)
    reading: ReadConfig = ReadConfig()  # noqa: RUF009 (frozen)

    def __post_init__(self) -> None:
        given: Any = self.labels
        tables = (given,) if isinstance(given, str) else tuple(given or ())
        object.__setattr__(self, "labels", tables)

    @classmethod
    def of(
        cls,
        events: str,
        labels: Sequence[str] | None,
        columns: Columns,
        cohort: Cohort,
        reading: ReadConfig = ReadConfig(),  # noqa: B008 (frozen)
    ) -> "DataSource":
        """The source that the options of a command name."""
        return cls(events, tuple(labels or ()), **asdict(columns), cohort=cohort, reading=reading)

    @property
    def paths(self) -> tuple[str, ...]:
        """The tables."""
        return tuple(filter(None, (self.events, *self.labels, self.static, self.parents)))

    @property
    def is_saved(self) -> bool:
        """Whether the events are a saved data set."""
        return (Path(self.events) / "dataset.json").is_file()

    @property
    def is_cohort(self) -> bool:
        """Whether a cohort is made of the tables, instead of reading them as they are."""
        return bool(self.cohort.cuts or self.static or self.parents)

    def build(
        self, out: Path | None = None, always: bool = False, like: "Vocabulary | None" = None
    ) -> "SourceData":
        """The data set and what its cohort counted; `out` is a folder for it, `always` makes a cohort.

        With `like`, the event types that a cohort makes are those of a model.
        """
        check_tables_exist(*self.paths)
        if self.is_cohort or always:
            built = eventcargo.cohort.build_cohort(self.cohort, self.tables(), out, like)
            figures, notes = built.summary.to_dict(), built.summary.notes
            return SourceData(built.data, self.cohort, figures, notes, built.timing)
        if self.is_saved:
            loaded = SourceData(
                self._read(), *saved_cohort(Path(self.events)), timing=_timing_in(Path(self.events))
            )
            return loaded.excluding(self.cohort.exclude)
        if self.labels and self.cohort.index == "" and not self.is_meds:
            eventcargo.cohort.refuse_dates(self.tables())
        return SourceData(self._read(), None).excluding(self.cohort.exclude)

    @property
    def is_meds(self) -> bool:
        return all((Path(self.events) / name).is_dir() for name in ("metadata", "data"))

    def tables(self) -> "Tables":
        """The tables as a cohort takes them."""
        return eventcargo.cohort.Tables(
            self.events,
            list(self.labels) or None,
            self.static or None,
            self.parents or None,
            self.values,
            self.sequence_id,
            self.time,
            self.event,
            self.label,
            self.reading,
        )

    def _read(self) -> "EventDataset":
        columns = (self.sequence_id, self.time, self.event, self.label, self.values)
        return read(self.events, self.labels, *columns, self.reading, self.unknown_labels)


@dataclass(frozen=True)
class SourceData:
    """A data set with the cohort it was made by, None without, its figures, and what to tell of it."""

    data: "EventDataset"
    cohort: Cohort | None
    summary: Mapping[str, Any] | None = None
    notes: Sequence[str] = ()
    timing: "pl.DataFrame | None" = None

    @property
    def after_outcome(self) -> list[str]:
        """Event types that record their outcome, in words."""
        late = [] if self.timing is None else eventcargo.leaks.find_late(self.timing)
        return [f"{one.reason}: it may be a record of the outcome; sequences end before it" for one in late]

    @property
    def lines(self) -> list[str]:
        """The cohort in words, for people."""
        heading = [] if self.summary is None else [f"Cohort: {self.summary['line']}."]
        return [*heading, *(f"  {note}" for note in self.notes)]

    def excluding(self, patterns: tuple[str, ...]) -> "SourceData":
        """The same without the event types that match a pattern."""
        if not patterns:
            return self
        rest, before = eventcargo.cohort.exclude(self.data, patterns), self.cohort or Cohort()
        cohort = replace(before, exclude=tuple(dict.fromkeys((*before.exclude, *patterns))))
        return replace(self, data=rest.data, cohort=cohort, notes=(*self.notes, *rest.notes))


def saved_cohort(folder: Path) -> tuple[Cohort | None, dict[str, Any] | None]:
    """The cohort of a saved data set or a run, and its figures; None without."""
    path = folder / COHORT
    return read_cohort(path) if path.is_file() else (None, None)


@dataclass(frozen=True)
class Added:
    """Sequences that were added to the data of a run: where from, how many, and their fingerprint."""

    folder: str
    data: str
    """fingerprint of the new sequences as they were read"""
    sequences: int
    events: str = ""
    """the table they were read from; empty: given in Python"""
    labels: tuple[str, ...] = ()


def remember(run: Path, source: DataSource, loaded: SourceData | None = None) -> None:
    """Write RUN/data.json, with absolute paths, and what is known of the cohort, if the data are one."""
    write_document(run / SOURCE, FORMAT, FORMAT_VERSION, _as_saved(source))
    cohort = source.cohort if loaded is None or loaded.cohort is None else loaded.cohort
    if not cohort.is_plain or source.is_cohort:
        figures, timing = (None, None) if loaded is None else (loaded.summary, loaded.timing)
        write_cohort_of_run(run, cohort, figures or {}, timing)


def _as_saved(source: DataSource) -> dict[str, Any]:
    """A source as RUN/data.json has it."""
    named = asdict(source)
    del named["cohort"]
    for name in ("events", "static", "parents"):
        named[name] = absolute(named[name])
    named["labels"] = [absolute(path) for path in source.labels]
    return named


def absolute(path: str) -> str:
    """The absolute path of a table; an empty one stays empty."""
    return str(Path(path).absolute()) if path else path


def add_part(run: Path, part: Added) -> None:
    """Write into RUN/data.json that sequences, which are in RUN/added, belong to the data of the run.

    A run whose data were given in Python has no such file before; it then names the parts alone.
    """
    content = read_document(run / SOURCE, FORMAT, FORMAT_VERSION) if (run / SOURCE).exists() else {}
    parts = [*added(run), part]
    content[ADDED] = [asdict(one) for one in parts]
    write_document(run / SOURCE, FORMAT, FORMAT_VERSION, content)


def added(run: Path) -> tuple[Added, ...]:
    """What was added to the data of a run, in order."""
    path = run / SOURCE
    if not path.exists():
        return ()
    content = read_document(path, FORMAT, FORMAT_VERSION, "name the table of events").get(ADDED, [])
    parts: tuple[Added, ...] = parse_as(tuple[Added, ...], content, f"{path}: {ADDED}")
    for part in parts:
        if not PART_NAME.fullmatch(part.folder):
            raise DataError(
                f"{path} names the folder {shown_value(part.folder, 40)} in {ADDED}/, whose folders have "
                "numbers such as 0001; put the file back, or start the run again in a new folder"
            )
    return parts


def has_source(run: Path) -> bool:
    """Whether a run knows the tables it began with; one that was given data in Python does not."""
    path = run / SOURCE
    if not path.exists():
        return False
    content = read_document(path, FORMAT, FORMAT_VERSION, "name the table of events")
    return "events" in content or ADDED not in content


def source_of(run: Path) -> DataSource:
    """The source of the data that a run began with, from RUN/data.json and RUN/cohort.json."""
    path = run / SOURCE
    if not has_source(run):
        raise DataError(f"{run} has no {SOURCE}; name the table of events")
    content = read_document(path, FORMAT, FORMAT_VERSION, "name the table of events")
    content.pop(ADDED, None)
    try:
        source: DataSource = parse_as(DataSource, content, "its content")
    except (ConfigError, DataError) as error:
        raise DataError(f"{path} is damaged: {error}; name the table of events") from None
    try:
        return _through(source, run)
    except OSError as error:  # such as a name that no file can have
        raise DataError(f"{path} names no table: {error.strerror}; name the table of events") from None


def new_source(
    run: Path,
    events: str,
    labels: Sequence[str] = (),
    given: Mapping[str, Any] | None = None,
    reading: ReadConfig = ReadConfig(),  # noqa: B008 (frozen)
) -> DataSource:
    """The source of new tables for a run: columns, tables beside them, reading and cohort as its own data.

    What is `given`, and the settings of `reading` that are not their defaults, go before those of the run.
    """
    source = DataSource.of(events, labels, Columns(), Cohort(), reading)
    if not source.is_saved and has_source(run):
        before = source_of(run)
        source = replace(source, **{name: getattr(before, name) for name in LIKE_RUN})
        source = replace(source, reading=_over(before.reading, reading))
    source = replace(source, **{name: value for name, value in (given or {}).items() if value})
    return _through(source, run)


def _over(before: ReadConfig, given: ReadConfig) -> ReadConfig:
    """The settings that are given, and those of before where the default is given."""
    changed = {one.name: getattr(given, one.name) for one in fields(given)}
    usual = asdict(ReadConfig())
    return replace(before, **{name: value for name, value in changed.items() if value != usual[name]})


def _through(source: DataSource, run: Path) -> DataSource:
    """A source that is read as the data of a run were: cut, or a saved data set without what was excluded."""
    cohort = saved_cohort(run)[0] or Cohort()
    if not source.is_saved:
        return replace(source, cohort=cohort)
    before = saved_cohort(Path(source.events))[0] or Cohort()
    own = tuple(pattern for pattern in cohort.exclude if pattern not in before.exclude)
    return replace(source, cohort=Cohort(exclude=own))


def vocabulary_of(run: Path) -> "Vocabulary | None":
    """The event types of a run's model; None if there is none."""
    from eventcargo.vocabulary import Vocabulary

    path = run / "model" / "vocabulary.json"
    return Vocabulary.from_json(path) if path.exists() else None


def recall(run: Path, advice: str = "name the table of events") -> SourceData:
    """Read the data of a run, those it began with and those that were added; refuses data that are gone."""
    if not has_source(run):
        raise DataError(f"{run} does not know its data: it has no {SOURCE}; {advice}")
    source = source_of(run)
    for path in source.paths:
        if not any(mark in path for mark in "*?[") and not Path(path).exists():
            raise DataError(f"the data of {run} are gone: {path} does not exist; {advice}")
    return with_added(run, source.build())


def with_added(run: Path, loaded: SourceData) -> SourceData:
    """Data that a run began with, and what was added to it; data that have it already stay as they are."""
    from eventcargo.events import EventDataset
    from eventcargo.joining import join_data

    parts, ids = list[Path](), set(loaded.data.sequence_ids.to_pylist()) if added(run) else set()
    for part in added(run):
        data = EventDataset.load(run / ADDED / part.folder)
        if not ids.issuperset(data.sequence_ids.to_pylist()):
            parts.append(run / ADDED / part.folder)
    if not parts:
        return loaded
    data = join_data([loaded.data, *(EventDataset.load(part) for part in parts)])
    return replace(loaded, data=data, timing=join_timing(loaded.timing, *map(_timing_in, parts)))


def join_timing(*tables: "pl.DataFrame | None") -> "pl.DataFrame | None":
    """What occurred before and after the outcomes in all parts; None if no part knows."""
    import polars as pl

    known = [table for table in tables if table is not None]
    if not known:
        return None
    return pl.concat(known).group_by("label", "event").sum().sort("label", "event")


def _timing_in(folder: Path) -> "pl.DataFrame | None":
    from eventcargo.cohort.timing import read_timing

    return read_timing(folder) if (folder / TIMING).exists() else None


def read(
    events: str,
    labels: str | Sequence[str] | None,
    sequence_id: str,
    time: str,
    event: str,
    label: str,
    values: Sequence[str] | None = None,
    reading: ReadConfig = ReadConfig(),  # noqa: B008 (frozen)
    unknown_labels: Literal["refuse", "drop"] = "refuse",
) -> "EventDataset":
    """Read the data set that the options name; a folder with `metadata/` and `data/` is read as MEDS."""
    root = Path(events)
    tables = (labels,) if isinstance(labels, str) else tuple(labels or ())
    given: Any = (None if not tables else tables[0]) if len(tables) < 2 else list(tables)
    if (root / "metadata").is_dir() and (root / "data").is_dir():
        return eventcargo.read_meds(root, given, values=values or (), on_bad_row=reading.on_bad_row)
    check_tables_exist(events, *tables)
    return eventcargo.read_events(
        events,
        given,
        sequence_id=sequence_id,
        time=time,
        event=event,
        label=label,
        values=values or (),
        unknown_labels=unknown_labels,
        reading=reading,
    )


def check_tables_exist(*tables: str) -> None:
    """Refuse a missing file before the readers are loaded."""
    for table in filter(None, tables):
        if not Path(table).is_dir():
            find_shards(table)
