"""`eventcargo report RUN`: one page with everything that a run found, made of what its folder holds."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from eventcargo.cli.data import EVENT, LABEL, LABELS, SEQUENCE_ID, TIME
from eventcargo.cli.output import AS_JSON, print_json, print_lines
from eventcargo.cli.source import DataSource, recall
from eventcargo.edges import EdgeFolder, EdgeTable
from eventcargo.errors import DataError
from eventcargo.events import EventDataset
from eventcargo.io import read_graph
from eventcargo.report import ReportInput, write_report
from eventcargo.rules import read_rules
from eventcargo.verdicts import read_verdicts

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

Found = TypeVar("Found")

TOLD = {"test": "test of phase 1", "threshold": "least strength, nats", "model": "model", "seed": "seed"}
"""Settings of the edges that the page tells, and what it calls them."""


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="Folder of a run with graph.parquet.")],
    events: Annotated[
        str | None, typer.Argument(help="Events, where the run does not know them or they have moved.")
    ] = None,
    labels: LABELS = None,
    out: Annotated[Path | None, typer.Option(help="File to write; by default RUN/report.html.")] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="Graph to compare with; by default RUN/baseline.parquet, if there.")
    ] = None,
    sequence_id: SEQUENCE_ID = "sequence_id",
    time: TIME = "time",
    event: EVENT = "event",
    label: LABEL = "label",
    as_json: AS_JSON = False,
) -> None:
    """Write one page with everything a run found; it opens from disk and needs no network."""
    if not (run / "graph.parquet").exists():
        raise DataError(f"{run} has no graph.parquet, so there is nothing to report; run fuse first")
    source = DataSource(events, labels, sequence_id, time, event, label) if events else None
    content = _content(run, source.read() if source else recall(run), baseline)
    target = out or run / "report.html"
    write_report(target, content)
    size = target.stat().st_size
    if as_json:
        print_json({"report": str(target), "bytes": size, "labels": len(content.graph.labels)})
    else:
        print_lines([f"{content.graph}", f"Open {target} in a browser ({size / 1e6:,.1f} MB)."])


def _content(run: Path, data: EventDataset, baseline: Path | None) -> ReportInput:
    """What the folder of a run holds; only the graph must be there."""
    compared = baseline or _there(run / "baseline.parquet")
    return ReportInput(
        graph=read_graph(run / "graph.parquet"),
        data=data,
        edges=EdgeTable.read(run / "edges") if (run / "edges").exists() else None,
        quality=_read(run / "model" / "quality.json", _parse),
        rules=_read(run / "rules.json", read_rules) or {},
        verdicts=_read(run / "verdicts.json", read_verdicts) or {},
        baseline=read_graph(compared) if compared else None,
        about=_about(run),
    )


def _about(run: Path) -> Mapping[str, str]:
    if not (run / "edges").exists():
        return {}
    plan = EdgeFolder.open(run / "edges").plan
    return {words: str(plan[name]) for name, words in TOLD.items() if name in plan}


def _there(path: Path) -> Path | None:
    return path if path.exists() else None


def _read(path: Path, reader: Callable[[Path], Found]) -> Found | None:
    return reader(path) if path.exists() else None


def _parse(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}; train the model again") from None
    if not isinstance(content, dict):
        raise DataError(f"{path} holds no quality of a model; train the model again")
    return content
