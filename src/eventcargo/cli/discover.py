"""`eventcargo discover EVENTS --labels LABELS --out RUN`: from tables to a report in one command."""

import json
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

import eventcargo
import eventcargo.discovery
import eventcargo.evaluation
from eventcargo.cli.boundaries import print_boundaries
from eventcargo.cli.data import EVENTS, LABELS
from eventcargo.cli.elsewhere import FROM, check_elsewhere, read_elsewhere
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines, print_table
from eventcargo.cli.reading import read_in_time
from eventcargo.cohort.config import Cohort
from eventcargo.discovery import DiscoverConfig
from eventcargo.discovery.data_source import Columns, DataSource, SourceData, remember
from eventcargo.discovery.estimate import estimate
from eventcargo.discovery.run_folder import SCORES, artefacts
from eventcargo.engines.config import EngineConfig
from eventcargo.errors import counted
from eventcargo.files import atomic_file
from eventcargo.io.config import ReadConfig
from eventcargo.io.graph_paths import check_graph_file, check_graph_path
from eventcargo.knowledge import Knowledge
from eventcargo.memory import limit_memory
from eventcargo.models.huggingface.config import BackboneConfig
from eventcargo.models.training.interrupt import Interrupted
from eventcargo.progress import progress_bars
from eventcargo.verdicts import count_levels, verdict_notes

if TYPE_CHECKING:
    from eventcargo.discovery import RunResults
    from eventcargo.evaluation import Scores
    from eventcargo.events import EventDataset
    from eventcargo.graphs import LabelGraph
    from eventcargo.models.huggingface import Backbone

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

AVERAGES = ("micro", "macro", "weighted")


@app.command()
@with_options(DiscoverConfig, BackboneConfig, EngineConfig, Columns, Cohort, ReadConfig)
def discover(
    events: EVENTS,
    out: Annotated[Path, typer.Option(help="Folder of the run; all results go there.")],
    labels: LABELS = None,
    knowledge: Annotated[
        Path | None, typer.Option(help="Prior knowledge: required and forbidden causes, JSON or YAML.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="Graph of the true boundaries, to score the results.")
    ] = None,
    export: Annotated[
        list[Path] | None,
        typer.Option(
            help="Write the graph to this file as well, such as graph.xlsx or graph.svg; repeat for more."
        ),
    ] = None,
    from_: FROM = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in `--out`.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print the plan: stages, time and memory.")
    ] = False,
    as_json: AS_JSON = False,
    config: DiscoverConfig = DiscoverConfig(),  # noqa: B008 (frozen)
    elsewhere: BackboneConfig = BackboneConfig(),  # noqa: B008 (frozen)
    where: EngineConfig = EngineConfig(),  # noqa: B008 (frozen)
    columns: Columns = Columns(),  # noqa: B008 (frozen)
    cohort: Cohort = Cohort(),  # noqa: B008 (frozen)
    reading: ReadConfig = ReadConfig(),  # noqa: B008 (frozen)
) -> None:
    """Find the causes of every label: train, extract, fuse, verify, rules, judge and report in one go."""
    began = monotonic()
    check_elsewhere(from_, elsewhere, config.size)
    source = DataSource.of(events, labels, columns, cohort, reading)
    for path in export or ():
        check_graph_path(path)
    if truth is not None:
        check_graph_file(truth)
    known = None if knowledge is None else Knowledge.read(knowledge)
    true_graph = None if truth is None else eventcargo.read_graph(truth)
    with limit_memory(config.max_memory):
        loaded = source.build() if dry_run else read_in_time(source, config.max_time, began)
    data = loaded.data
    backbone = read_elsewhere(from_, data, elsewhere)
    if dry_run:
        _print_estimate(data, config, as_json, backbone)
        return
    results = run_stages(loaded, out, config, source, known, resume, began, where, backbone)
    scores = None if true_graph is None else write_scores(results.graph, true_graph, data, out)
    for path in export or ():
        eventcargo.discovery.export_graph(path, results.graph, results.rules, results.verdicts)
    if as_json:
        print_json(_content(results, out, scores, loaded))
    else:
        print_lines(loaded.lines)
        print_found(results, data, out, scores)


def run_stages(
    loaded: SourceData,
    out: Path,
    config: DiscoverConfig,
    source: DataSource,
    knowledge: Knowledge | None = None,
    resume: bool = False,
    began: float | None = None,
    engine: EngineConfig = EngineConfig(),  # noqa: B008 (frozen)
    backbone: "Backbone | None" = None,
) -> "RunResults":
    """Run all stages with progress bars; if interrupted, say how to resume.

    The time limit counts from `began`, so that reading the data is part of it.
    """
    try:
        with progress_bars() as progress:
            discovery = eventcargo.discovery.Discovery(
                loaded.data,
                out,
                config,
                knowledge=knowledge,
                timing=loaded.timing,
                resume=resume,
                progress=progress,
                began=began,
                engine=engine,
                from_=backbone,
            )
            remember(out, source, loaded)
            return discovery.run()
    except Interrupted as stop:
        typer.echo(f"{stop} (--resume)", err=True)
        raise typer.Exit(128 + stop.number) from None
    except KeyboardInterrupt:
        typer.echo(f"interrupted; finished work is kept in {out}: continue with --resume", err=True)
        raise typer.Exit(130) from None


def write_scores(graph: "LabelGraph", truth: "LabelGraph", data: "EventDataset", out: Path) -> "Scores":
    """Score a graph against the truth and write RUN/scores.json."""
    scores = eventcargo.evaluate(graph, eventcargo.evaluation.count_support(truth, data))
    with atomic_file(out / SCORES) as target:
        target.write_text(json.dumps(scores.to_dict(), indent=1, ensure_ascii=False), "utf-8")
    artefacts(out).record(SCORES, "evaluate")
    return scores


def print_found(found: "RunResults", data: "EventDataset", out: Path, scores: "Scores | None") -> None:
    """Print the verdicts, the boundaries of the labels with the largest support, and the result files."""
    print_lines([f"Verdicts on {counted(len(found.verdicts), 'label')}: {count_levels(found.verdicts)}."])
    print_boundaries(found.graph, data.label_support, found.verdicts, found.rules)
    if scores is not None:
        rows = [[name, *_figures(scores, name)] for name in AVERAGES]
        print_table("Scores against the truth", ["average", "precision", "recall", "F1"], rows)
    print_lines(
        [
            f"{counted(len(found.graph), 'edge')}, {counted(len(found.graph.labels), 'label')}, "
            f"{counted(len(data), 'sequence')}.",
            f"Open {out / 'report.html'} in a browser; all other results are in {out}.",
        ]
    )


def _figures(scores: "Scores", name: str) -> list[float | None]:
    average = scores.average(name)
    return [None] * 3 if average is None else [average.precision, average.recall, average.f1]


def _content(results: "RunResults", out: Path, scores: "Scores | None", loaded: SourceData) -> dict[str, Any]:
    return {
        "run": str(out),
        "edges": len(results.graph),
        "boundaries": results.graph.boundaries,
        "rules": {label: None if rule is None else rule.text for label, rule in results.rules.items()},
        "shortfalls": {
            label: rule.shortfall for label, rule in results.rules.items() if rule and rule.falls_short
        },
        "verdicts": verdict_notes(results.verdicts),
        "scores": None if scores is None else scores.to_dict(),
        **({} if loaded.summary is None else {"cohort": dict(loaded.summary)}),
    }


def _print_estimate(
    data: "EventDataset", config: DiscoverConfig, as_json: bool, backbone: "Backbone | None"
) -> None:
    plan = estimate(data, config, None if backbone is None else backbone.n_weights)
    plan.workers_within(config.max_memory)  # refuses what does not fit
    if as_json:
        steps = [{"stage": s.stage, "what": s.words, "seconds": round(s.seconds)} for s in plan.steps]
        about = {"seconds": round(plan.seconds), "bytes": round(plan.bytes), "settings": asdict(config)}
        print_json({"stages": steps, **about})
        return
    rows = [[step.stage, step.words, _span(step.seconds)] for step in plan.steps]
    print_table("Plan", ["stage", "work", "time"], rows)
    usual = asdict(DiscoverConfig())
    changed = [f"{name} {value}" for name, value in asdict(config).items() if value != usual[name]]
    print_lines(
        [
            f"Settings that are not the default: {', '.join(changed) or 'none'}.",
            f"About {_span(plan.seconds)} in total, at most {config.max_time}: if time runs short, fewer "
            "sequences are tested.",
            f"About {plan.bytes / 1e9:.1f} GB of memory. Nothing was written.",
        ]
    )


def _span(seconds: float) -> str:
    """A duration for people.

    >>> _span(30), _span(600), _span(9000)
    ('30 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
