"""`eventcargo verify RUN`: test the fused edges of a run on the data."""

import time as clock
from pathlib import Path
from typing import Annotated

import typer

import eventcargo
import eventcargo.fusion
from eventcargo.cli.boundaries import print_boundaries
from eventcargo.cli.data import EVENT, LABEL, LABELS, SEQUENCE_ID, TIME
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines
from eventcargo.cli.run_data import hold
from eventcargo.cli.source import EVENTS_OF_RUN, data_of
from eventcargo.discovery.run_folder import FUSED, GRAPH, knowledge_of_run, warn_of_outdated, write_verified
from eventcargo.errors import DataError, counted
from eventcargo.knowledge import Knowledge
from eventcargo.verification import VerifyConfig

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command()
@with_options(VerifyConfig)
def verify(
    run: Annotated[Path, typer.Argument(help="Folder of a run with fused.parquet; graph.parquet is added.")],
    events: EVENTS_OF_RUN = None,
    labels: LABELS = None,
    sequence_id: SEQUENCE_ID = "",
    time: TIME = "",
    event: EVENT = "",
    label: LABEL = "",
    knowledge: Annotated[
        Path | None,
        typer.Option(help="JSON or YAML file with required, forbidden and allowed edges; default: as fused."),
    ] = None,
    as_json: AS_JSON = False,
    config: VerifyConfig = VerifyConfig(),  # noqa: B008 (frozen)
) -> None:
    """Test the edges of a graph on the data: drop refuted edges, add missing ones."""
    if not (run / FUSED).exists():
        raise DataError(f"{run} has no {FUSED}; run fuse first")
    hold(run)
    data = data_of(run, events, labels, sequence_id=sequence_id, time=time, event=event, label=label).data
    fused, began = eventcargo.read_graph(run / FUSED), clock.perf_counter()
    known = knowledge_of_run(run) if knowledge is None else Knowledge.read(knowledge)
    resolved = None if known is None else known.resolve(list(data.label_names), list(data.event_names))
    graph = eventcargo.verify(fused, data, config, resolved, eventcargo.fusion.untrusted_labels(run))
    write_verified(run, graph, data, config, known)
    warn_of_outdated(run)
    before, after = (set(g.edges.select("label", "event").iter_rows()) for g in (fused, graph))
    counts = {"edges": len(after), "dropped": len(before - after), "added": len(after - before)}
    if as_json:
        print_json({"graph": str(run / GRAPH), **counts, "boundaries": graph.boundaries})
        return
    print_boundaries(graph, data.label_support)
    print_lines(
        [
            f"{counted(counts['edges'], 'edge')}: {counts['dropped']:,} dropped, {counts['added']:,} added "
            f"in {clock.perf_counter() - began:,.1f} s; written to {run / GRAPH} and graph.json."
        ]
    )
