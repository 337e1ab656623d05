"""`eventcargo evaluate GRAPH... --truth TRUTH`: precision, recall and F1, as a table or JSON."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import eventcargo
import eventcargo.evaluation
from eventcargo.cli.data import LABELS
from eventcargo.cli.output import AS_JSON, print_json, print_lines, print_table
from eventcargo.discovery.data_source import read
from eventcargo.errors import ConfigError, counted
from eventcargo.files import atomic_file
from eventcargo.io.graph_paths import check_graph_file

if TYPE_CHECKING:
    from eventcargo.evaluation import Scores
    from eventcargo.events import EventDataset
    from eventcargo.graphs import LabelGraph

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

Named = dict[str, "Scores"]
EventMap = Callable[[str], str] | None
AVERAGES = ("micro", "macro", "weighted")


@app.command("evaluate")
def run(
    graphs: Annotated[list[str], typer.Argument(metavar="GRAPH...", help="Graphs: .parquet, .csv or .json.")],
    truth: Annotated[
        str, typer.Option(help="The true boundaries: a graph, or a table with the columns label and event.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="JSON file to write, with the scores of each label.")
    ] = None,
    strip: Annotated[
        str | None,
        typer.Option(help="Compare event names only up to this text, such as '=' in 'node=value'."),
    ] = None,
    events: Annotated[
        str | None, typer.Option(help="Events of the data; adds floors and a ceiling to the table.")
    ] = None,
    labels: LABELS = None,
    sequence_id: Annotated[str, typer.Option(help="Column with the sequence id.")] = "sequence_id",
    time: Annotated[str, typer.Option(help="Column with the time.")] = "time",
    event: Annotated[str, typer.Option(help="Column with the event type.")] = "event",
    label: Annotated[str, typer.Option(help="Column with the label, in a long table of labels.")] = "label",
    as_json: AS_JSON = False,
) -> None:
    """Score graphs against the true boundaries, with and without negated literals."""
    if labels and events is None:
        raise ConfigError("--labels needs --events; give both or neither")
    for path in (*graphs, truth):
        check_graph_file(Path(path))
    loaded = {graph: eventcargo.read_graph(graph) for graph in graphs}
    known = eventcargo.read_graph(truth)
    event_of: EventMap = None if strip is None else (lambda name: name.split(strip)[0])
    data = None if events is None else read(events, labels, sequence_id, time, event, label)
    if data is not None:
        known = eventcargo.evaluation.count_support(known, data)
    scores: Named = {}
    for name, graph in loaded.items():
        scores |= _scores(name, graph, known, event_of)
    if data is not None:
        scores |= _bounds(data, known, event_of)
    _report(scores, out, as_json)


def _scores(name: str, graph: "LabelGraph", known: "LabelGraph", event_of: EventMap) -> Named:
    """The scores of a graph, also without negated literals if the truth has any."""
    scores = {name: eventcargo.evaluate(graph, known, event_of=event_of)}
    if -1 in known.edges["sign"]:
        scores[f"{name}, without negated"] = eventcargo.evaluate(
            graph, known, negated=False, event_of=event_of
        )
    return scores


def _bounds(data: "EventDataset", known: "LabelGraph", event_of: EventMap) -> Named:
    """Scores of trivial predictions (floors), and the best scores that the data allow (ceiling)."""
    evaluation = eventcargo.evaluation
    frequent = evaluation.most_frequent(data, known, event_of=event_of)
    return {
        "floor: most frequent, size known": evaluation.evaluate(frequent, known, event_of=event_of),
        "floor: every event": evaluation.predict_all(data, known, event_of=event_of),
        "ceiling: what occurs": evaluation.coverage_ceiling(data, known, event_of=event_of),
    }


def _report(scores: Named, out: Path | None, as_json: bool) -> None:
    content: dict[str, Any] = {name: each.to_dict() for name, each in scores.items()}
    if out is not None:
        with atomic_file(out) as target:
            target.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if as_json:
        print_json(content)
        return
    first = next(iter(scores.values()))
    print_table(
        f"Precision, recall, F1 over {counted(len(first.per_label), 'label')}",
        ["graph", *AVERAGES],
        [[name, *(_figures(each, average) for average in AVERAGES)] for name, each in scores.items()],
    )
    note = first.weighted_note
    print_lines([f"no weighted average: {note}"] if note else [])
    print_lines([f"written to {out}"] if out else [])


def _figures(scores: "Scores", average: str) -> str:
    """Three scores in one cell, so that the table fits a terminal of 80 columns."""
    means = scores.average(average)
    return "-" if means is None else f"{means.precision:.3f} {means.recall:.3f} {means.f1:.3f}"
