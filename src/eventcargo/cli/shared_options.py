"""The options of every command: how much is told (--quiet, --verbose), and a file of options (--config)."""

import logging
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from eventcargo.errors import EventCargoWarning
from eventcargo.logs import LEVELS, shown_logs
from eventcargo.progress import no_bars

PANEL = "Every command"

QUIET_KEY, VERBOSE_KEY = "eventcargo.quiet", "eventcargo.verbose"
"""Where the contexts of a command line keep what was asked for before and after the name of the command."""

FORMATS = ("", "%(asctime)s %(message)s", "%(asctime)s %(levelname)s %(name)s: %(message)s")
"""A line of the log, by the number of `-v`."""


class StandardError(logging.Handler):
    """Log messages on standard error, beside progress bars."""

    def emit(self, record: logging.LogRecord) -> None:
        typer.echo(self.format(record), err=True)


def _be_quiet(ctx: typer.Context, value: bool) -> None:
    if value and not ctx.resilient_parsing and not ctx.meta.get(QUIET_KEY):
        ctx.meta[QUIET_KEY] = True
        _refuse_both(ctx)
        ctx.with_resource(no_bars())
        ctx.with_resource(warnings.catch_warnings())
        warnings.simplefilter("ignore", EventCargoWarning)


def _be_verbose(ctx: typer.Context, value: int) -> None:
    if not value or ctx.resilient_parsing:
        return
    ctx.meta[VERBOSE_KEY] = level = min(ctx.meta.get(VERBOSE_KEY, 0) + value, len(LEVELS) - 1)
    _refuse_both(ctx)
    handler = ctx.meta.get(StandardError.__name__)
    if handler is None:
        handler = ctx.meta[StandardError.__name__] = StandardError()
    handler.setFormatter(logging.Formatter(FORMATS[level], "%H:%M:%S"))
    ctx.find_root().with_resource(shown_logs(handler, LEVELS[level]))


def _refuse_both(ctx: typer.Context) -> None:
    if ctx.meta.get(QUIET_KEY) and ctx.meta.get(VERBOSE_KEY):
        ctx.fail("Give either --quiet or --verbose.")


def _take_config(ctx: typer.Context, value: Path | None) -> None:
    if value is not None and not ctx.resilient_parsing:
        from eventcargo.cli.config_file import take_options

        take_options(ctx, value)


QUIET = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Print results and errors only: no warnings, no progress.",
        callback=_be_quiet,
        expose_value=False,
        rich_help_panel=PANEL,
    ),
]
VERBOSE = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        show_default=False,
        help="Tell on standard error what is done and how long it takes; -vv tells details.",
        callback=_be_verbose,
        expose_value=False,
        rich_help_panel=PANEL,
    ),
]
CONFIG = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Take options from this YAML, TOML or JSON file; those on the command line win.",
        callback=_take_config,
        expose_value=False,
        is_eager=True,
        rich_help_panel=PANEL,
    ),
]


def with_shared_options(command: Any) -> Any:
    """A command, or a group with its commands, that takes the options of every command."""
    for one in getattr(command, "commands", {}).values() or [command]:
        known = {name for param in one.params for name in param.opts}
        one.params.extend(param for param in _made() if not known.intersection(param.opts))
    return command


def _made() -> list[Any]:
    """The options as typer makes them from an annotated function."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def options(config_file: CONFIG = None, quiet: QUIET = False, verbose: VERBOSE = 0) -> None: ...

    return list(typer.main.get_command(app).params)
