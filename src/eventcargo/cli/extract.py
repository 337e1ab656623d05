"""`eventcargo extract RUN EVENTS --labels LABELS`: find the edges of every sequence."""

import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import eventcargo
from eventcargo.cli.data import EVENTS, LABELS
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines, print_table
from eventcargo.cli.run_data import hold
from eventcargo.cohort.config import Cohort
from eventcargo.discovery.data_source import Columns, DataSource, remember
from eventcargo.engines.config import EngineConfig, make_engine
from eventcargo.errors import counted
from eventcargo.io.config import ReadConfig
from eventcargo.knowledge import Knowledge
from eventcargo.models.loading import load_model
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.progress import progress_bars

if TYPE_CHECKING:
    import polars as pl

    from eventcargo.edges import EdgeTable

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

SHOWN_LABELS, SHOWN_EVENTS = 20, 6

KNOWLEDGE = Annotated[
    Path | None, typer.Option(help="Prior knowledge, JSON or YAML: forbidden edges are not tested.")
]


@app.command()
@with_options(ExtractConfig, EngineConfig, Columns, Cohort, ReadConfig)
def extract(
    run: Annotated[Path, typer.Argument(help="Folder of a run with model/; edges/ is written there.")],
    events: EVENTS,
    labels: LABELS = None,
    device: Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, ...")] = "cpu",
    resume: Annotated[bool, typer.Option("--resume", help="Resume the extraction in RUN.")] = False,
    knowledge: KNOWLEDGE = None,
    like: Annotated[
        Path | None, typer.Option(help="Another run with edges/: choose sequences by its thresholds.")
    ] = None,
    as_json: AS_JSON = False,
    config: ExtractConfig = ExtractConfig(),  # noqa: B008 (frozen)
    where: EngineConfig = EngineConfig(),  # noqa: B008 (frozen)
    columns: Columns = Columns(),  # noqa: B008 (frozen)
    cohort: Cohort = Cohort(),  # noqa: B008 (frozen)
    reading: ReadConfig = ReadConfig(),  # noqa: B008 (frozen)
) -> None:
    """Find the causes of each label in every sequence: phase 1."""
    known = None if knowledge is None else Knowledge.read(knowledge)
    model = load_model(run / "model", device)
    hold(run, shared=bool(where.shards))
    source = DataSource.of(events, labels, columns, cohort, reading)
    loaded = source.build(like=model.vocabulary)
    data = loaded.data
    began = clock.perf_counter()
    with progress_bars() as update, make_engine(where, run / "work", config.workers) as engine:
        folder = eventcargo.extract(
            model,
            data,
            run / "edges",
            config,
            knowledge=known,
            resume=resume or bool(where.shards),
            progress=update,
            engine=engine,
            like=None if like is None else like / "edges",
        )
        engine.discard()
    remember(run, source, loaded)
    table = eventcargo.EdgeTable.read(folder.folder)
    if as_json:
        print_json({"edges": str(folder.folder), "rows": len(table.edges), "shards": folder.n_shards})
        return
    _print_edges(table)
    seconds = clock.perf_counter() - began
    lines = [
        f"{counted(len(table.edges), 'edge')} of {counted(len(data), 'sequence')} in {seconds:,.1f} s, "
        f"written to {folder.folder}."
    ]
    if folder.plan["untrusted"]:
        names = ", ".join(folder.plan["untrusted"][:SHOWN_LABELS])
        lines.append(f"Untrusted labels, not clearly better than their base rates: {names}.")
    print_lines(lines)


def _print_edges(table: "EdgeTable") -> None:
    """Print the labels with the largest support and their most frequent event types."""
    votes = table.edges.group_by("label", "event").len().sort(["len", "event"], descending=[True, False])
    tested = table.support.select("label", "sequences").group_by("label").sum().sort("sequences", "label")
    labels = tested["label"].reverse().to_list()[:SHOWN_LABELS]
    rows = [[name, tested.filter(label=name)["sequences"][0], _events(votes, name)] for name in labels]
    print_table("Events found most often", ["label", "sequences tested", "events (times found)"], rows)


def _events(votes: "pl.DataFrame", label: str) -> str:
    top = votes.filter(label=label).head(SHOWN_EVENTS)
    return ", ".join(f"{event} ({count:,})" for event, count in top.select("event", "len").iter_rows())
