"""`eventcargo fuse RUN [RUN ...] [--out RUN]`: join the edges of all sequences into one graph."""

import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import eventcargo
import eventcargo.fusion
from eventcargo.cli.boundaries import print_boundaries
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines
from eventcargo.cli.run_data import hold
from eventcargo.discovery.run_folder import warn_of_outdated, write_fused
from eventcargo.errors import ConfigError, counted
from eventcargo.fusion import FuseConfig
from eventcargo.knowledge import Knowledge

if TYPE_CHECKING:
    from eventcargo.graphs import LabelGraph

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command("fuse")
@with_options(FuseConfig)
def run(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders of runs with edges/ or votes/.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the votes and graph of several runs; default RUN.")
    ] = None,
    knowledge: Annotated[
        Path | None, typer.Option(help="JSON or YAML file with required, forbidden and allowed edges.")
    ] = None,
    as_json: AS_JSON = False,
    config: FuseConfig = FuseConfig(),  # noqa: B008 (frozen)
) -> None:
    """Join the edges of all sequences into one graph: phase 2."""
    began = clock.perf_counter()
    if out is None and len(runs) > 1:
        raise ConfigError(f"{len(runs)} runs need a folder for the joined graph; name it with --out")
    home = out or runs[0]
    known = None if knowledge is None else Knowledge.read(knowledge)
    fusion = eventcargo.fusion
    if home.exists():
        hold(home)
    store = fusion.run_votes(home) if out is None else fusion.join_runs(runs, out)
    graph = eventcargo.fuse(store, config, knowledge=known)
    write_fused(home, graph, config, known)
    warn_of_outdated(home)
    if as_json:
        print_json(_content(home, graph, config))
        return
    print_boundaries(graph, store.label_positives)
    filled = sum(bool(events) for events in graph.boundaries.values())
    seconds = clock.perf_counter() - began
    print_lines(
        [
            f"{counted(len(graph), 'edge')} for {filled:,} of {counted(len(graph.support), 'label')} by the "
            f"criterion {config.criterion} in {seconds:,.1f} s, written to {home / 'graph.parquet'} and "
            "graph.json.",
            f"Test the edges on the data with `eventcargo verify {home}`.",
        ]
    )


def _content(home: Path, graph: "LabelGraph", config: FuseConfig) -> dict[str, object]:
    return {
        "graph": str(home / "graph.parquet"),
        "criterion": config.criterion,
        "edges": len(graph),
        "labels": len(graph.support),
        "boundaries": graph.boundaries,
    }
