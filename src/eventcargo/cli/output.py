"""What commands print: one table, as a drawing for people or as JSON for scripts, and a progress bar."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

AS_JSON = Annotated[bool, typer.Option("--json", help="Print the same content as JSON on standard output.")]


SHORT = 20
"""Values up to this length are not broken over lines; names and lists are."""

SMALL = 0.01
"""Numbers below are shown with two significant digits, because three decimals would not tell them apart."""


def print_json(content: Mapping[str, Any]) -> None:
    """ReportInput for scripts, on standard output."""
    typer.echo(json.dumps(content, indent=1, ensure_ascii=False))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table for people; numbers to the right. Names are shown as they are, never as markup."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for at, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[at], int | float) or row[at] is None for row in rows)
        short = at > 0 and all(len(show(row[at])) <= SHORT for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold", no_wrap=short)
    for row in rows:
        table.add_row(*(Text(show(value)) for value in row))
    _console().print(table)


def print_lines(lines: Sequence[str]) -> None:
    """Plain lines below or between tables."""
    for line in lines:
        _console().print(Text(line))


def show(value: Any) -> str:
    """A value as people read it: thousands separated, three decimals or more, a dash for None."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if 0 < abs(value) < SMALL:
            return f"{value:.2g}"
        return f"{value:.3f}" if abs(value) < 1000 else f"{value:,.0f}"
    return str(value)


@contextmanager
def stage_bars(unit: str = "") -> Iterator[Callable[[str, int, int], None]]:
    """A bar on standard error for each stage; call the function with (stage, done, in all)."""
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )
    tasks: dict[str, TaskID] = {}
    with bars:

        def update(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total, rate="")
            speed = bars.tasks[tasks[stage]].speed
            rate = f"{speed:,.1f}{unit and ' ' + unit}/s" if speed else ""
            bars.update(tasks[stage], completed=done, total=total, rate=rate)

        yield update


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """One bar with rate and time left; call the function with (done, in all)."""
    with stage_bars() as update:
        yield lambda done, total: update(what, done, total)


def _console() -> Console:
    """A console on standard output; wide where nobody watches, so that nothing is cut."""
    return Console(width=None if sys.stdout.isatty() else 160)
