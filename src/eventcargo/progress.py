"""Progress: how long work reports how far it has come, and the bars that show it on standard error.

Every function that takes long has a parameter `progress`: it is called with the stage, how much of it is
done, of how much in all, and a message. Where `total` is a count, the message names what is counted
("sequences"); where it is 1.0, `done` is a share and the message is shown as it is.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

BAR_WIDTH = 16
"""Characters of a bar, so that its message has room in 80 columns."""


class OnProgress(Protocol):
    """A function that is told how far a stage has come."""

    def __call__(self, stage: str, done: float, total: float, message: str = "", /) -> None: ...


_wanted = True


@contextmanager
def no_bars() -> Iterator[None]:
    """Draw no bars until the block ends, as `--quiet` asks."""
    global _wanted  # noqa: PLW0603 (a program has one standard error)
    before, _wanted = _wanted, False
    try:
        yield
    finally:
        _wanted = before


@contextmanager
def progress_bars(show: bool = True) -> Iterator[OnProgress]:
    """A bar for each stage with count, rate and time left; draws nothing off a terminal or in `no_bars`."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(BAR_WIDTH),
        TaskProgressColumn(),
        TextColumn("{task.fields[message]}"),
        console=Console(stderr=True),
        disable=not (show and _wanted and sys.stderr.isatty()),
    )
    stages: dict[str, tuple[Any, _Pace]] = {}
    with bars:

        def update(stage: str, done: float, total: float, message: str = "", /) -> None:
            if stage not in stages:
                stages[stage] = (bars.add_task(stage, message=""), _Pace(time.monotonic(), done))
            task, pace = stages[stage]
            bars.update(task, completed=done, total=total, message=pace.words(done, total, message))

        yield update


@dataclass(frozen=True)
class _Pace:
    """When a stage was first heard of, and how much of it was done then."""

    began: float
    first: float

    def words(self, done: float, total: float, message: str) -> str:
        """What stands beside the bar: count, rate and time left, unless the message gives the time itself."""
        gained, elapsed = done - self.first, max(time.monotonic() - self.began, 1e-9)
        parts = [message] if total <= 1 else [f"{done:,.0f} of {total:,.0f} {message}".rstrip()]
        if total > 1 and gained > 0:
            parts.append(f"{gained / elapsed:,.1f}/s")
        if "left" not in message and gained > 0 and done < total:
            minutes, seconds = divmod(round(elapsed * (total - done) / gained), 60)
            parts.append(f"{minutes}:{seconds:02} left")
        return ", ".join(filter(None, parts))
