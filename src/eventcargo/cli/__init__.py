"""The command line: one module per command.

Help and usage errors are immediate: a module is imported only when its command runs, and at its top it
imports nothing heavier than numpy. Its body takes the rest from packages that load on first use, as in
`eventcargo.read_graph(path)`. Results go to standard output, everything else (progress, warnings, errors) to
standard error. Exit codes: 0 success, 1 data or configuration error with a message of one paragraph, 2 usage
error.
"""

import atexit
import gc
import logging
import shlex
import sys
import warnings
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from os import PathLike
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from eventcargo import __version__
from eventcargo.cli.shared_options import QUIET, VERBOSE, with_shared_options
from eventcargo.engines.engine import UnitsLeftError
from eventcargo.errors import (
    UNSET,
    EventCargoError,
    EventCargoWarning,
    arguments_shown_by,
    did_you_mean,
    shortened,
    shown_value,
)
from eventcargo.logs import timed

COMMANDS = {
    "discover": "Find the causes of every label: run all stages, from tables to a report.",
    "explain": "Show which events raised or lowered the labels of one sequence, or of many new ones.",
    "predict": "Tell how probable each label of new sequences is, by the model of a run.",
    "update": "Add next week's sequences to a run, with the model it has; tell whether that is too old.",
    "serve": "Answer HTTP requests about new sequences, by the model of a run.",
    "cohort": "Cut sequences out of recorded events: cases, and controls at risk.",
    "simulate": "Simulate events with known causes; choose a regime.",
    "validate": "Read tables of events and labels, summarise them and list problems.",
    "train": "Train the models of the next event and of the labels.",
    "extract": "Find the causes of each label in every sequence (phase 1).",
    "fuse": "Join the edges of all sequences into one graph (phase 2).",
    "verify": "Test the edges of a graph on the data: drop refuted edges, add missing ones.",
    "rules": "Write the boundary of every label as a short rule.",
    "judge": "Judge for every label whether to trust its boundary, and why not.",
    "report": "Write the results of a run as one HTML page.",
    "convert": "Write a graph in another format: a table, a workbook, a network or a figure.",
    "compare": "Show which edges differ between two runs, by the data of both.",
    "without": "Estimate how many fewer sequences would carry a label without an event type.",
    "baseline": "Find the boundary of every label with a classical method.",
    "evaluate": "Score graphs against the true boundaries.",
    "demo": "Simulate a small fleet, find its causes and compare them with the truth.",
}
"""Name and short help of every command; the module `eventcargo.cli.NAME` has its `app`."""

GARBAGE = (200_000, 50, 100)
"""Allocations between two searches for garbage. By default, loading torch and the others is interrupted by
hundreds of searches, which find nothing and take a fifth of the time."""

OUT_OF_MEMORY = (
    "not enough memory; close other programs, use fewer --workers or a smaller --max-memory, or take part of "
    "the data; finished work is kept, continue with --resume"
)

WORKER_LOST = (
    "a worker process ended before its work was done, most likely because memory ran out; use fewer "
    "--workers; finished work is kept, continue with --resume"
)

NO_MEMORY = ("can't allocate memory", "failed to map segment", "Cannot allocate memory")
"""What torch and the loader of libraries say when memory runs out: they have no error of their own for it."""

LOG = logging.getLogger(__name__)

POSITIONAL = ("events", "method")
"""Arguments that have no option on the command line."""

HELD = ExitStack()
"""What the command at hand holds until it ends: the lock of the folder that it writes to."""


class LazyCommands(TyperGroup):
    """A group that lists its commands by name and imports a command only to run it."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (the parent has it)
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 (the parent has it)
        if cmd_name not in COMMANDS:
            return None
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and (meant := did_you_mean(args[0], list(COMMANDS))):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {meant!r}?")
        name, command, rest = super().resolve_command(ctx, args)
        if name is None or command is None:
            return name, command, rest
        module = import_module(f"eventcargo.cli.{name}")
        return name, with_shared_options(typer.main.get_command(module.app)), rest

    def invoke(self, ctx: Any) -> Any:
        try:
            with HELD, timed(LOG, "command"):
                return super().invoke(ctx)
        except KeyboardInterrupt:  # caught here because typer would exit silently
            typer.echo("interrupted; no partial output was written", err=True)
            sys.exit(130)


app = typer.Typer(
    cls=LazyCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(ctx: typer.Context, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        typer.echo(f"eventcargo {__version__}")
        raise typer.Exit


@app.callback()
def eventcargo(
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
    ),
    quiet: QUIET = False,
    verbose: VERBOSE = 0,
) -> None:
    """Find which events cause which outcome: from tables of events and labels to the causes of each label."""


def main() -> None:
    """Run the command line: the installed program `eventcargo`."""
    gc.set_threshold(*GARBAGE)
    atexit.register(gc.freeze)  # or the end searches all of torch for garbage once more: 0.3 s
    warnings.showwarning = partial(_show_warning, printed=set())
    warnings.simplefilter("always", EventCargoWarning)
    try:
        with arguments_shown_by(as_option):
            app()
    except UnitsLeftError as left:  # to be done by other invocations
        typer.echo(str(left))
    except EventCargoError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (MemoryError, RuntimeError, ImportError) as error:
        if type(error).__name__ == "BrokenProcessPool":
            _fail(WORKER_LOST)
        if not is_out_of_memory(error):
            raise
        _fail(OUT_OF_MEMORY)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or what led to it, is that memory ran out."""
    while error is not None:
        if isinstance(error, MemoryError) or any(words in str(error) for words in NO_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def as_option(name: str, value: Any) -> str:
    """An argument as written on the command line.

    >>> as_option("max_time", "2h"), as_option("values", ["mileage", "heat"]), as_option("linear", False)
    ('--max-time 2h', '--values mileage --values heat', '--no-linear')
    """
    if name in POSITIONAL:
        return name.upper() if value is UNSET else f"{name.upper()} {_quoted(value)}"
    option = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return option if value else f"--no-{name.replace('_', '-')}"
    if isinstance(value, list | tuple):
        return " ".join(f"{option} {_quoted(one)}" for one in value) or option
    return option if value is UNSET or value is None else f"{option} {_quoted(value)}"


def _quoted(value: Any) -> str:
    """A value as written on the command line; all but paths in short."""
    if isinstance(value, PathLike):
        return shlex.quote(str(value))
    return shlex.quote(shortened(value) if isinstance(value, str) else shown_value(value))


def _fail(reason: str) -> None:
    typer.echo(f"error: {reason}", err=True)
    sys.exit(1)


def _show_warning(message: Any, category: type[Warning], *_: Any, printed: set[str], **__: Any) -> None:
    """Print a warning once per command, although several of its stages may raise it."""
    if issubclass(category, EventCargoWarning) and str(message) not in printed:
        printed.add(str(message))
        typer.echo(f"warning: {message}", err=True)
