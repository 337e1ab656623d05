"""`eventcargo fuse RUN [RUN ...] [--out RUN]`: one graph from the edges of all sequences."""

import time as clock
from pathlib import Path
from typing import Annotated

import typer

from eventcargo.cli.boundaries import print_boundaries
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines
from eventcargo.discovery.run_folder import write_fused
from eventcargo.errors import ConfigError
from eventcargo.fusion import FuseConfig, fuse
from eventcargo.fusion.vote_store import join_runs, run_votes
from eventcargo.graphs import LabelGraph
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
    store = run_votes(home) if out is None else join_runs(runs, out)
    graph = fuse(store, config, knowledge=known)
    write_fused(home, graph)
    if as_json:
        print_json(_content(home, graph, config))
        return
    print_boundaries(graph)
    filled = sum(bool(events) for events in graph.boundaries.values())
    seconds = clock.perf_counter() - began
    print_lines(
        [
            f"{len(graph):,} edges into {filled:,} of {len(graph.support):,} labels, by the criterion "
            f"{config.criterion}, in {seconds:,.1f} s; in {home / 'graph.parquet'} and graph.json.",
            f"Test them on the data with `eventcargo verify {home}`.",
        ]
    )


def _content(home: Path, graph: LabelGraph, config: FuseConfig) -> dict[str, object]:
    return {
        "graph": str(home / "graph.parquet"),
        "criterion": config.criterion,
        "edges": len(graph),
        "labels": len(graph.support),
        "boundaries": graph.boundaries,
    }
