"""Source: where the data of a run came from, kept in RUN/data.json so that later commands find them."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from eventcargo.atomic import atomic_file
from eventcargo.cli.data import read
from eventcargo.errors import DataError
from eventcargo.events import EventDataset

FORMAT, FORMAT_VERSION = "eventcargo-data", 1


@dataclass(frozen=True)
class Source:
    """Tables of events and labels with the names of their columns."""

    events: str
    labels: str | None = None
    sequence_id: str = "sequence_id"
    time: str = "time"
    event: str = "event"
    label: str = "label"
    values: tuple[str, ...] = ()

    def read(self) -> EventDataset:
        """The data set."""
        return read(
            self.events, self.labels, self.sequence_id, self.time, self.event, self.label, self.values
        )


def remember(run: Path, source: Source) -> None:
    """Write RUN/data.json, with paths that hold from any folder."""
    named = asdict(source)
    for name in ("events", "labels"):
        if named[name] is not None:
            named[name] = str(Path(named[name]).absolute())
    with atomic_file(run / "data.json") as target:
        content = {"format": FORMAT, "version": FORMAT_VERSION, **named}
        target.write_text(json.dumps(content, ensure_ascii=False, indent=1), "utf-8")


def source_of(run: Path) -> Source:
    """Where the data of a run came from."""
    path = run / "data.json"
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise DataError(f"{run} does not say where its data are; name the table of events") from None
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}; name the table of events") from None
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise DataError(f"{path} was not written by eventcargo; name the table of events")
    if content.pop("version", None) != FORMAT_VERSION:
        raise DataError(f"{path} is of another release; this one reads version {FORMAT_VERSION}")
    try:
        return Source(**{**content, "values": tuple(content.get("values", ()))})
    except TypeError:
        raise DataError(f"{path} has other entries than it should: {sorted(content)}") from None


def recall(run: Path) -> EventDataset:
    """The data of a run, read from where they were when it was made."""
    source = source_of(run)
    for path in filter(None, (source.events, source.labels)):
        if not any(mark in path for mark in "*?[") and not Path(path).exists():
            raise DataError(f"{path}, the data of {run}, is gone; name the table of events")
    return source.read()
