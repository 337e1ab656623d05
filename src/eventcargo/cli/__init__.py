"""The command line: one command per arrow of the data's way, one module per command.

Modules are imported only when their command runs, so that `eventcargo --help` is immediate. Results go to
standard output, everything else (progress, warnings, errors) to standard error. Exit codes: 0 good, 1 data or
configuration error told in one paragraph, 2 usage.
"""

import sys
import warnings
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from eventcargo import __version__
from eventcargo.errors import EventCargoError, EventCargoWarning

COMMANDS = {
    "discover": "Find the causes of every label: train, extract, fuse and report in one go.",
    "explain": "Say which events moved the labels of one sequence.",
    "simulate": "Make events with known causes: choose a regime.",
    "validate": "Read tables of events and labels, summarise them and say what is wrong.",
    "train": "Train the models of the next event and of the labels.",
    "extract": "Find the events that moved each label in every sequence (phase 1).",
    "fuse": "Join the edges of all sequences into one graph (phase 2).",
    "verify": "Test the edges of a graph on the data: drop those refuted, add those missing.",
    "rules": "Write the boundary of every label as a short rule.",
    "judge": "Say for every label whether to believe its boundary, and why not.",
    "report": "Write one page with everything a run found.",
    "baseline": "Find the boundary of every label by a classical method.",
    "evaluate": "Score a graph against the known truth.",
    "demo": "Simulate a small fleet, find its causes, compare them with the true ones.",
}
"""Name and short help of every command; `eventcargo.cli.NAME` holds its `app`."""


class LazyCommands(TyperGroup):
    """A group that knows its commands by name and imports one when it is run."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (the parent has it)
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 (the parent has it)
        if cmd_name not in COMMANDS:
            return None
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if name is None or command is None:
            return name, command, rest
        module = import_module(f"eventcargo.cli.{name}")
        return name, typer.main.get_command(module.app), rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # caught here because typer would exit without a word
            typer.echo("interrupted; nothing half-written is left behind", err=True)
            sys.exit(130)


app = typer.Typer(
    cls=LazyCommands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"eventcargo {__version__}")
        raise typer.Exit


@app.callback()
def eventcargo(
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
    ),
) -> None:
    """Which events cause which outcome: tables of events and labels in, boundaries of labels out."""


def main() -> None:
    """Run the command line; the installed program `eventcargo`."""
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", EventCargoWarning)
    try:
        app()
    except EventCargoError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _fail(reason: str) -> None:
    typer.echo(f"error: {reason}", err=True)
    sys.exit(1)


def _show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, EventCargoWarning):
        typer.echo(f"warning: {message}", err=True)
