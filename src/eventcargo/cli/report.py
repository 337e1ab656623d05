"""`eventcargo report RUN`: write the results of a run as one HTML page."""

from pathlib import Path
from typing import Annotated

import typer

import eventcargo.discovery
import eventcargo.report
from eventcargo.cli.data import EVENT, LABEL, LABELS, SEQUENCE_ID, TIME
from eventcargo.cli.output import AS_JSON, print_json, print_lines
from eventcargo.cli.run_data import hold
from eventcargo.cli.source import data_of
from eventcargo.discovery.run_folder import GRAPH, REPORT, record_report
from eventcargo.errors import DataError

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="Folder of a run with graph.parquet.")],
    events: Annotated[
        str | None, typer.Argument(help="Events, if they have moved or the run does not know them.")
    ] = None,
    labels: LABELS = None,
    out: Annotated[Path | None, typer.Option(help="File to write; default RUN/report.html.")] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="Graph to compare with; default RUN/baseline.parquet, if it exists.")
    ] = None,
    sequence_id: SEQUENCE_ID = "",
    time: TIME = "",
    event: EVENT = "",
    label: LABEL = "",
    as_json: AS_JSON = False,
) -> None:
    """Write the results of a run as one HTML page that opens from disk and needs no network."""
    if not (run / GRAPH).exists():
        raise DataError(f"{run} has no {GRAPH}; run fuse first")
    hold(run)
    data = data_of(run, events, labels, sequence_id=sequence_id, time=time, event=event, label=label).data
    content = eventcargo.discovery.read_report_input(run, data, baseline)
    target = out or run / REPORT
    eventcargo.report.write_report(target, content)
    if target == run / REPORT:
        record_report(run, data)
    size = target.stat().st_size
    if as_json:
        print_json({"report": str(target), "bytes": size, "labels": len(content.graph.labels)})
    else:
        print_lines([f"{content.graph}", f"Open {target} in a browser ({size / 1e6:,.1f} MB)."])
