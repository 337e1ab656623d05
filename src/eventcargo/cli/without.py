"""`eventcargo without RUN EVENT`: how many fewer sequences would carry a label without an event type."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import eventcargo
import eventcargo.intervention
from eventcargo.cli.output import AS_JSON, print_json, print_lines, print_table
from eventcargo.cli.run_data import graph_and_data
from eventcargo.discovery.run_folder import VERDICTS, is_current
from eventcargo.progress import progress_bars
from eventcargo.verdicts import Verdict, read_verdicts

if TYPE_CHECKING:
    from eventcargo.intervention import Without

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command()
def without(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    event: Annotated[
        list[str], typer.Argument(metavar="EVENT...", help="Event type; of several, none is to occur.")
    ],
    label: Annotated[
        list[str] | None,
        typer.Option(help="Label to count; repeat for more. Default: those whose boundary has an EVENT."),
    ] = None,
    events: Annotated[str | None, typer.Option(help="Events of the run, if they have moved.")] = None,
    labels: Annotated[list[str] | None, typer.Option(help="Table of labels of the run; repeatable.")] = None,
    as_json: AS_JSON = False,
) -> None:
    """Estimate how many fewer sequences would carry a label if an event type, or several, did not occur."""
    with progress_bars() as progress:
        progress("read", 0.0, 1.0, str(run))
        graph, loaded = graph_and_data(run, events, labels)
        progress("read", 1.0, 1.0)
        progress("count", 0.0, 1.0)
        answers = eventcargo.intervention.without(
            graph,
            loaded.data,
            event,
            label,
            verdicts=_verdicts(run),
            n_controls=eventcargo.intervention.sampled_controls(loaded.cohort),
        )
        progress("count", 1.0, 1.0)
    assumptions = eventcargo.intervention.ASSUMPTIONS
    if as_json:
        print_json(
            {
                "events": event,
                "answers": [answer.to_dict() for answer in answers],
                "assumptions": list(assumptions),
            }
        )
        return
    _print(answers)
    print_lines(["This rests on:", *(f"  - {assumption}" for assumption in assumptions)])


def _verdicts(run: Path) -> dict[str, Verdict]:
    """The verdicts on the run's graph; none if there are none, or they are those on another graph."""
    return read_verdicts(run / VERDICTS) if is_current(run, VERDICTS) else {}


def _print(answers: "list[Without]") -> None:
    """Print a table, the answers as sentences, and what speaks against them."""
    columns = [
        "label",
        "with EVENT",
        "of them with the label",
        "labels now",
        "without EVENT",
        "fewer",
        "share",
    ]
    rows = [
        [
            answer.label,
            answer.exposed,
            answer.carrying,
            answer.now,
            f"{answer.without:,.0f} ({answer.without_low:,.0f} to {answer.without_high:,.0f})",
            f"{answer.fewer:,.0f} ({answer.fewer_low:,.0f} to {answer.fewer_high:,.0f})",
            f"{answer.share:.1%}",
        ]
        for answer in answers
    ]
    print_table("Expected labels without " + ", ".join(answers[0].events), columns, rows)
    for answer in answers:
        trust = f"; verdict on the label: {answer.level}" if answer.level else ""
        print_lines([f"{answer.in_words}{trust}.", *(f"  Warning: {reason}." for reason in answer.warnings)])
