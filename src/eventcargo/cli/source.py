"""DataSource: where the data of a run are, saved in RUN/data.json and RUN/cohort.json for later commands."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import eventcargo.cohort
import eventcargo.leaks
from eventcargo.cli.data import Columns, check_tables_exist, read
from eventcargo.cohort.config import COHORT, TIMING, Cohort, read_cohort
from eventcargo.discovery.run_folder import write_cohort_of_run
from eventcargo.errors import ConfigError, DataError
from eventcargo.files import read_document, write_document
from eventcargo.io.config import ReadConfig
from eventcargo.typed import parse_as

if TYPE_CHECKING:
    import polars as pl

    from eventcargo.cohort.tables import Tables
    from eventcargo.events import EventDataset
    from eventcargo.vocabulary import Vocabulary

FORMAT, FORMAT_VERSION = "eventcargo-data", 1


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
            loaded = SourceData(self._read(), *saved_cohort(Path(self.events)), timing=self._saved_timing())
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

    def _saved_timing(self) -> "pl.DataFrame | None":
        import polars as pl

        path = Path(self.events) / TIMING
        return pl.read_parquet(path) if path.is_file() else None

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


EVENTS_OF_RUN = Annotated[
    str | None, typer.Argument(metavar="[EVENTS]", help="Events; default: the data of the run.")
]


def remember(run: Path, source: DataSource, loaded: SourceData | None = None) -> None:
    """Write RUN/data.json, with absolute paths, and what is known of the cohort, if the data are one."""
    named = asdict(source)
    del named["cohort"]
    for name in ("events", "static", "parents"):
        named[name] = str(Path(named[name]).absolute()) if named[name] else named[name]
    named["labels"] = [str(Path(path).absolute()) for path in source.labels]
    write_document(run / "data.json", FORMAT, FORMAT_VERSION, named)
    cohort = source.cohort if loaded is None or loaded.cohort is None else loaded.cohort
    if not cohort.is_plain or source.is_cohort:
        figures, timing = (None, None) if loaded is None else (loaded.summary, loaded.timing)
        write_cohort_of_run(run, cohort, figures or {}, timing)


def source_of(run: Path) -> DataSource:
    """The source of a run's data, from RUN/data.json and RUN/cohort.json."""
    path = run / "data.json"
    if not path.exists():
        raise DataError(f"{run} has no data.json; name the table of events")
    content = read_document(path, FORMAT, FORMAT_VERSION, "name the table of events")
    try:
        source: DataSource = parse_as(DataSource, content, "its content")
    except (ConfigError, DataError) as error:
        raise DataError(f"{path} is damaged: {error}; name the table of events") from None
    try:
        return _through(source, run)
    except OSError as error:  # such as a name that no file can have
        raise DataError(f"{path} names no table: {error.strerror}; name the table of events") from None


def _through(source: DataSource, run: Path) -> DataSource:
    """A source that is read as the data of a run were: cut, or a saved data set without what was excluded."""
    cohort = saved_cohort(run)[0] or Cohort()
    if not source.is_saved:
        return replace(source, cohort=cohort)
    before = saved_cohort(Path(source.events))[0] or Cohort()
    own = tuple(pattern for pattern in cohort.exclude if pattern not in before.exclude)
    return replace(source, cohort=Cohort(exclude=own))


def recall(run: Path) -> "SourceData":
    """Read the data of a run from RUN/data.json's source."""
    source = source_of(run)
    for path in source.paths:
        if not any(mark in path for mark in "*?[") and not Path(path).exists():
            raise DataError(f"{path}, the data of {run}, does not exist; name the table of events")
    return source.build()


def check_tables(events: str | None, labels: Sequence[str] | None) -> None:
    """Refuse a table of labels without its events."""
    if labels and events is None:
        raise ConfigError("--labels needs EVENTS; give both or neither")


def data_of(
    run: Path,
    events: str | None,
    labels: Sequence[str] | None,
    sequence_id: str,
    time: str,
    event: str,
    label: str,
) -> "SourceData":
    """Read the data named by the options through the cohort of the run, else the data of the run."""
    if events is None:
        check_tables(events, labels)
        return recall(run)
    columns = Columns(sequence_id=sequence_id, time=time, event=event, label=label)
    source = DataSource.of(events, labels, columns, Cohort())
    source = _through(source, run)
    if not source.is_saved and (run / "data.json").exists():
        before = source_of(run)
        source = replace(source, static=before.static, parents=before.parents)
    return source.build(like=_vocabulary(run))


def _vocabulary(run: Path) -> "Vocabulary | None":
    """The event types of a run's model; None if there is none."""
    from eventcargo.vocabulary import Vocabulary

    path = run / "model" / "vocabulary.json"
    return Vocabulary.from_json(path) if path.exists() else None
