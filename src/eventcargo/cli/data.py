"""The options that name the data of a command, the same for all commands."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import eventcargo
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
    str | None,
    typer.Option("--labels", help="Table of labels: long (sequence_id, label) or wide (0/1 columns)."),
]
SEQUENCE_ID = Annotated[str, typer.Option(help="Column with the sequence id.")]
TIME = Annotated[
    str, typer.Option(help="Column with the time; without this column, the order of rows counts.")
]
EVENT = Annotated[str, typer.Option(help="Column with the event type.")]
LABEL = Annotated[str, typer.Option(help="Column with the label, in a long table of labels.")]
VALUES = Annotated[
    list[str] | None,
    typer.Option("--values", help="Numeric column of the events, such as mileage; repeat for more columns."),
]


def read(
    events: str,
    labels: str | None,
    sequence_id: str,
    time: str,
    event: str,
    label: str,
    values: Sequence[str] | None = None,
) -> "EventDataset":
    """Read the data set that the options name; a folder with `metadata/` and `data/` is read as MEDS."""
    root = Path(events)
    if (root / "metadata").is_dir() and (root / "data").is_dir():
        return eventcargo.read_meds(root, labels, values=values or ())
    for table in filter(None, (events, labels)):
        if not Path(table).is_dir():
            find_shards(table)  # refuses a missing file before the readers are loaded
    return eventcargo.read_events(
        events, labels, sequence_id=sequence_id, time=time, event=event, label=label, values=values or ()
    )
