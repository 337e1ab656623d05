"""The options that name the data of a command, the same for all commands."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

import eventcargo
from eventcargo.io.config import ReadConfig
from eventcargo.io.shards import find_shards

if TYPE_CHECKING:
    from eventcargo.events import EventDataset

EVENTS = Annotated[
    str,
    typer.Argument(
        help="Events: Parquet, CSV or JSONL (also .gz, a folder or a glob), a saved data set, a MEDS folder."
    ),
]
LABELS = Annotated[
    list[str] | None,
    typer.Option(
        "--labels",
        help="Table of labels: long (sequence_id, label) or wide (0/1 columns); repeat for more tables.",
    ),
]
SEQUENCE_ID = Annotated[str, typer.Option(help="Column with the sequence id.")]
TIME = Annotated[
    str, typer.Option(help="Column with the time; without this column, the order of rows counts.")
]
EVENT = Annotated[str, typer.Option(help="Column with the event type.")]
LABEL = Annotated[str, typer.Option(help="Column with the label, in a long table of labels.")]


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
