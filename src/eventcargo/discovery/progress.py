"""Bars on standard error that say how far each stage of a run has come."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from eventcargo.discovery.stages import OnProgress

WIDTH = 16
"""Characters of a bar, so that its words have room in 80 columns."""


@contextmanager
def stage_bars(show: bool = True) -> Iterator[OnProgress]:
    """A function to call with (stage, share done, words); where nobody watches it draws nothing."""
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(WIDTH),
        TaskProgressColumn(),
        TextColumn("{task.fields[words]}"),
        console=Console(stderr=True),
        disable=not (show and sys.stderr.isatty()),
    )
    tasks: dict[str, tuple[TaskID, float, float]] = {}  # with when it began and with which share
    with bars:

        def tell(stage: str, share: float, words: str) -> None:
            if stage not in tasks:
                tasks[stage] = (bars.add_task(stage, total=1.0, words=""), time.monotonic(), share)
            task, began, first = tasks[stage]
            bars.update(task, completed=share, words=words + _left(words, began, share - first, 1 - share))

        yield tell


def _left(words: str, began: float, gained: float, missing: float) -> str:
    """The time left at the speed so far, where the words do not say it."""
    if "left" in words or gained <= 0 or missing <= 0:
        return ""
    minutes, seconds = divmod(round((time.monotonic() - began) * missing / gained), 60)
    return f", {minutes}:{seconds:02} left"
