"""The options that name the data of a command, the same for all commands."""

from typing import Annotated

import typer

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
SEQUENCE_ID = Annotated[str, typer.Option(help="Column with the sequence id; default: that of the run.")]
TIME = Annotated[str, typer.Option(help="Column with the time; default: that of the run.")]
EVENT = Annotated[str, typer.Option(help="Column with the event type; default: that of the run.")]
LABEL = Annotated[
    str, typer.Option(help="Column with the label, in a long table of labels; default: that of the run.")
]
