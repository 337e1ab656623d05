"""`eventcargo baseline METHOD EVENTS --labels LABELS --out GRAPH`: run a classical method on all labels."""

import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import eventcargo
from eventcargo.baselines import METHODS, BaselineConfig, check_method
from eventcargo.cli.data import EVENTS, LABELS
from eventcargo.cli.options import completing, with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines, print_table
from eventcargo.cohort.config import Cohort
from eventcargo.discovery.data_source import Columns, DataSource
from eventcargo.engines.config import EngineConfig, make_engine
from eventcargo.errors import DataError, counted
from eventcargo.io.config import ReadConfig
from eventcargo.io.graph_paths import WRITABLE, check_graph_path
from eventcargo.progress import progress_bars

if TYPE_CHECKING:
    from eventcargo.graphs import LabelGraph

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

SHOWN_LABELS = 20
SHOWN_EVENTS = 8


@app.command()
@with_options(BaselineConfig, EngineConfig, Columns, Cohort, ReadConfig)
def baseline(
    method: Annotated[
        str, typer.Argument(help=f"One of {', '.join(METHODS)}.", autocompletion=completing(METHODS))
    ],
    events: EVENTS,
    out: Annotated[Path, typer.Option(help=f"Graph to write: {', '.join(WRITABLE)}.")],
    labels: LABELS = None,
    as_json: AS_JSON = False,
    config: BaselineConfig = BaselineConfig(),  # noqa: B008 (frozen)
    where: EngineConfig = EngineConfig(),  # noqa: B008 (frozen)
    columns: Columns = Columns(),  # noqa: B008 (frozen)
    cohort: Cohort = Cohort(),  # noqa: B008 (frozen)
    reading: ReadConfig = ReadConfig(),  # noqa: B008 (frozen)
) -> None:
    """Find the boundary of every label with a classical method on event presence."""
    check_method(method)
    check_graph_path(out)
    loaded = DataSource.of(events, labels, columns, cohort, reading).build()
    data = loaded.data
    if not data.label_names:
        raise DataError(f"{events} has no labels; name their table with --labels")
    started = clock.perf_counter()
    shared = None if where == EngineConfig() else Path(f"{out}.work")  # this machine needs no folder
    with progress_bars() as update, make_engine(where, shared, config.workers) as engine:
        graph = eventcargo.find_boundaries(data, method, config, progress=update, engine=engine)
        eventcargo.write_graph(graph, out)
        engine.discard()
    if as_json:
        print_json({"method": method, "graph": str(out), "edges": len(graph), "boundaries": graph.boundaries})
    else:
        print_lines(loaded.lines)
        _print_boundaries(method, graph)
        seconds = clock.perf_counter() - started
        print_lines([f"{counted(len(graph), 'edge')} in {seconds:,.1f} s, written to {out}"])


def _print_boundaries(method: str, graph: "LabelGraph") -> None:
    labels = sorted(graph.labels, key=lambda name: -(graph.support[name] or 0))
    rows = [[label, graph.support[label], _names(graph.boundary(label))] for label in labels[:SHOWN_LABELS]]
    more = len(labels) - len(rows)
    title = f"Boundaries by {method}" + (
        f" (the {len(rows)} most frequent of {len(labels):,} labels)" if more else ""
    )
    print_table(title, ["label", "support", "events, strongest first"], rows)


def _names(events: list[str]) -> str:
    more = len(events) - SHOWN_EVENTS
    return ", ".join(events[:SHOWN_EVENTS]) + (f" and {more} more" if more > 0 else "")
