"""`eventcargo cohort EVENTS --labels OUTCOMES --out DATA`: cut sequences out of what was recorded."""

from pathlib import Path
from typing import Annotated

import typer

from eventcargo.cli.data import EVENTS, LABELS
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines
from eventcargo.cohort.config import Cohort
from eventcargo.discovery.data_source import Columns, DataSource
from eventcargo.errors import ConfigError
from eventcargo.files import check_new_folder
from eventcargo.io.config import ReadConfig

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command("cohort")
@with_options(Columns, Cohort, ReadConfig)
def make_cohort(
    events: EVENTS,
    out: Annotated[Path, typer.Option(help="Folder to write: a data set, for all other commands.")],
    labels: LABELS = None,
    as_json: AS_JSON = False,
    columns: Columns = Columns(),  # noqa: B008 (frozen)
    cohort: Cohort = Cohort(),  # noqa: B008 (frozen)
    reading: ReadConfig = ReadConfig(),  # noqa: B008 (frozen)
) -> None:
    """Cut sequences out of recorded events: cases that end before their outcome, and matched controls."""
    check_new_folder(out)
    source = DataSource.of(events, labels, columns, cohort, reading)
    if not source.is_cohort and not labels and not source.is_meds:
        raise ConfigError("a cohort needs outcomes: give --labels with --label-time, or --outcomes")
    built = source.build(out, always=True)
    if as_json:
        print_json({"data": str(out), **(built.summary or {}), "notes": list(built.notes)})
        return
    print_lines([*built.lines, f"{built.data!r}", f"Written to {out}."])
