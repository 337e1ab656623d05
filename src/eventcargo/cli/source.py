"""DataSource: where the data of a run are, saved in RUN/data.json for later commands."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eventcargo.cli.data import read
from eventcargo.errors import ConfigError, DataError
from eventcargo.files import read_document, write_document

if TYPE_CHECKING:
    from eventcargo.events import EventDataset

FORMAT, FORMAT_VERSION = "eventcargo-data", 1


@dataclass(frozen=True)
class DataSource:
    """The tables of events and labels, and the names of their columns."""

    events: str
    labels: str | None = None
    sequence_id: str = "sequence_id"
    time: str = "time"
    event: str = "event"
    label: str = "label"
    values: tuple[str, ...] = ()

    def read(self) -> "EventDataset":
        """Read the data set."""
        return read(
            self.events, self.labels, self.sequence_id, self.time, self.event, self.label, self.values
        )


EVENTS_OF_RUN = Annotated[
    str | None, typer.Argument(metavar="[EVENTS]", help="Events; default: the data of the run.")
]


def remember(run: Path, source: DataSource) -> None:
    """Write RUN/data.json, with absolute paths."""
    named = asdict(source)
    for name in ("events", "labels"):
        if named[name] is not None:
            named[name] = str(Path(named[name]).absolute())
    write_document(run / "data.json", FORMAT, FORMAT_VERSION, named)


def source_of(run: Path) -> DataSource:
    """The source of a run's data, from RUN/data.json."""
    path = run / "data.json"
    if not path.exists():
        raise DataError(f"{run} has no data.json; name the table of events")
    content = read_document(path, FORMAT, FORMAT_VERSION, "name the table of events")
    try:
        return DataSource(**{**content, "values": tuple(content.get("values", ()))})
    except TypeError:
        raise DataError(f"{path} has unexpected entries: {sorted(content)}") from None


def recall(run: Path) -> "EventDataset":
    """Read the data of a run from RUN/data.json's source."""
    source = source_of(run)
    for path in filter(None, (source.events, source.labels)):
        if not any(mark in path for mark in "*?[") and not Path(path).exists():
            raise DataError(f"{path}, the data of {run}, does not exist; name the table of events")
    return source.read()


def check_tables(events: str | None, labels: str | None) -> None:
    """Refuse a table of labels without its events."""
    if labels is not None and events is None:
        raise ConfigError("--labels needs EVENTS; give both or neither")


def data_of(
    run: Path,
    events: str | None,
    labels: str | None,
    sequence_id: str,
    time: str,
    event: str,
    label: str,
) -> "EventDataset":
    """Read the data named by the options, else the data of the run."""
    if events is not None:
        return DataSource(events, labels, sequence_id, time, event, label).read()
    check_tables(events, labels)
    return recall(run)
