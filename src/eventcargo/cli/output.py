"""Print results: tables for people, JSON for scripts."""

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

AS_JSON = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]


SHORT = 20
"""Values up to this length are not wrapped."""

SMALL = 0.01
"""Numbers below this show two significant digits, because three decimals would lose them."""


def print_json(content: Mapping[str, Any]) -> None:
    """Print JSON to standard output."""
    typer.echo(json.dumps(content, indent=1, ensure_ascii=False, default=datetime.isoformat))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table with numbers right-aligned; names are never read as markup."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for at, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[at], int | float) or row[at] is None for row in rows)
        short = at > 0 and all(len(show(row[at])) <= SHORT for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold", no_wrap=short)
    for row in rows:
        table.add_row(*(Text(show(value)) for value in row))
    _console().print(table)


def print_lines(lines: Sequence[str]) -> None:
    """Print plain lines."""
    for line in lines:
        _console().print(Text(line))


def show(value: Any) -> str:
    """Format a value for people: thousands separators, three decimals or more, a dash for None."""
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


def _console() -> Console:
    """A console on standard output; wide if it is not a terminal, so that nothing is cut."""
    return Console(width=None if sys.stdout.isatty() else 160)
