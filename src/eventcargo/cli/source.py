"""The data that commands on a finished run read: those it remembers, or tables that options name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from eventcargo.discovery.data_source import SourceData, new_source, recall, vocabulary_of, with_added
from eventcargo.errors import ConfigError

EVENTS_OF_RUN = Annotated[
    str | None, typer.Argument(metavar="[EVENTS]", help="Events; default: the data of the run.")
]


def check_tables(events: str | None, labels: Sequence[str] | None) -> None:
    """Refuse a table of labels without its events."""
    if labels and events is None:
        raise ConfigError("--labels needs EVENTS; give both or neither")


def data_of(run: Path, events: str | None, labels: Sequence[str] | None, **columns: str) -> SourceData:
    """Read the data named by the options as those of the run were, else the data of the run.

    Columns that are not named are those of the run.
    """
    if events is None:
        check_tables(events, labels)
        return recall(run)
    source = new_source(run, events, labels or (), columns)
    return with_added(run, source.build(like=vocabulary_of(run)))
