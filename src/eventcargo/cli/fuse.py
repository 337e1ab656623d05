"""`eventcargo fuse RUN [RUN ...] [--out RUN]`: one graph from the edges of all sequences."""

import time as clock
from pathlib import Path
from typing import Annotated

import typer

from eventcargo.cli.boundaries import print_boundaries
from eventcargo.cli.data import EVENT, LABEL, LABELS, SEQUENCE_ID, TIME
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines
from eventcargo.cli.source import Source, recall
from eventcargo.errors import ConfigError
from eventcargo.events import EventDataset
from eventcargo.fusion import FuseConfig, fuse
from eventcargo.fusion.records import join_runs, poll_of
from eventcargo.graphs import LabelGraph
from eventcargo.io import write_graph
from eventcargo.knowledge import Knowledge

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command("fuse")
@with_options(FuseConfig)
def run(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders of runs with edges/ or votes/.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for votes and graph of several runs; without it RUN itself.")
    ] = None,
    events: Annotated[
        str | None, typer.Option(help="Events, for --verify; without it the data that RUN was made from.")
    ] = None,
    labels: LABELS = None,
    sequence_id: SEQUENCE_ID = "sequence_id",
    time: TIME = "time",
    event: EVENT = "event",
    label: LABEL = "label",
    knowledge: Annotated[
        Path | None, typer.Option(help="JSON or YAML file with required, forbidden and allowed edges.")
    ] = None,
    as_json: AS_JSON = False,
    config: FuseConfig = FuseConfig(),  # noqa: B008 (frozen)
) -> None:
    """Join the edges of all sequences into one graph: phase 2."""
    began = clock.perf_counter()
    if out is None and len(runs) > 1:
        raise ConfigError(f"{len(runs)} runs are joined into a folder of their own; name it with --out")
    home = out or runs[0]
    known = None if knowledge is None else Knowledge.read(knowledge)
    source = None if events is None else Source(events, labels, sequence_id, time, event, label)
    data = _data(runs, source) if config.verify else None
    poll = poll_of(home) if out is None else join_runs(runs, out)
    graph = fuse(poll, config, data=data, knowledge=known)
    for name in ("graph.parquet", "graph.json"):
        write_graph(graph, home / name)
    if as_json:
        print_json({**_content(home, graph, config), "verified": data is not None})
        return
    print_boundaries(graph)
    filled = sum(bool(events) for events in graph.boundaries.values())
    seconds = clock.perf_counter() - began
    lines = [
        f"{len(graph):,} edges into {filled:,} of {len(graph.support):,} labels, by the rule "
        f"{config.rule}, in {seconds:,.1f} s; in {home / 'graph.parquet'} and graph.json."
    ]
    if config.verify and data is None:
        lines.append("Not verified on the data, because it is not known where they are; name --events.")
    print_lines(lines)


def _data(runs: list[Path], source: Source | None) -> EventDataset | None:
    """The data to verify edges on; None where it is not known which they are."""
    if source is not None:
        return source.read()
    return recall(runs[0]) if len(runs) == 1 and (runs[0] / "data.json").exists() else None


def _content(home: Path, graph: LabelGraph, config: FuseConfig) -> dict[str, object]:
    return {
        "graph": str(home / "graph.parquet"),
        "rule": config.rule,
        "edges": len(graph),
        "labels": len(graph.support),
        "boundaries": graph.boundaries,
    }
