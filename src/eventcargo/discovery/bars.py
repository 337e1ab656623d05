"""Bars on standard error that say how far each stage of a run has come."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from eventcargo.discovery.stages import Tell


@contextmanager
def stage_bars(show: bool = True) -> Iterator[Tell]:
    """A function to call with (stage, share done, words); where nobody watches it draws nothing."""
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[words]}"),
        console=Console(stderr=True),
        disable=not (show and sys.stderr.isatty()),
    )
    tasks: dict[str, TaskID] = {}
    with bars:

        def tell(stage: str, share: float, words: str) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=1.0, words="")
            bars.update(tasks[stage], completed=share, words=words)

        yield tell
