"""`eventcargo convert SOURCE --out FILE`: the graph of a run, or of a file, in another format."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import eventcargo
import eventcargo.discovery
from eventcargo.cli.output import AS_JSON, print_json, print_lines
from eventcargo.discovery.run_folder import GRAPH, VERDICTS, is_current
from eventcargo.errors import ConfigError, DataError, counted, did_you_mean
from eventcargo.io.graph_paths import WRITABLE, check_graph_file, check_graph_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eventcargo.graphs import LabelGraph
    from eventcargo.rules import Rule
    from eventcargo.verdicts import Verdict

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="Folder of a run, or a graph: .parquet, .json or .csv.")],
    out: Annotated[
        list[Path], typer.Option(help=f"File to write; repeat for more. Endings: {', '.join(WRITABLE)}.")
    ],
    labels: Annotated[
        list[str] | None, typer.Option("--label", help="Only this label; repeat for more. Default: all.")
    ] = None,
    as_json: AS_JSON = False,
) -> None:
    """Write the graph of a run, or of a file, in another format: a table, a workbook, a network or a figure.

    The workbook of a run has its rules and verdicts, too.
    """
    for path in out:
        check_graph_path(path)
    graph, rules, verdicts = _read(source)
    if labels:
        graph = _only(graph, labels)
        rules = {label: rules[label] for label in graph.labels if label in rules}
        verdicts = {label: verdicts[label] for label in graph.labels if label in verdicts}
    for path in out:
        eventcargo.discovery.export_graph(path, graph, rules, verdicts)
    if as_json:
        print_json({"out": [str(path) for path in out], "edges": len(graph), "labels": len(graph.labels)})
    else:
        names = ", ".join(map(str, out))
        print_lines(
            [f"{counted(len(graph), 'edge')}, {counted(len(graph.labels), 'label')}, written to {names}."]
        )


def _read(source: Path) -> "tuple[LabelGraph, Mapping[str, Rule | None], Mapping[str, Verdict]]":
    """The graph, rules and verdicts of a run, or the graph of a file alone."""
    if not source.is_dir():
        check_graph_file(source)
        return eventcargo.read_graph(source), {}, {}
    if not (source / GRAPH).exists():
        raise DataError(f"{source} holds no finished run: it has no {GRAPH}; run discover first")
    from eventcargo.verdicts import read_verdicts

    verdicts = read_verdicts(source / VERDICTS) if is_current(source, VERDICTS) else {}
    return eventcargo.read_graph(source / GRAPH), eventcargo.discovery.read_current_rules(source), verdicts


def _only(graph: "LabelGraph", labels: list[str]) -> "LabelGraph":
    """The graph of some labels."""
    for label in labels:
        if label not in graph.support:
            meant = did_you_mean(label, graph.labels)
            advice = f"; did you mean {meant!r}?" if meant else ""
            raise ConfigError(
                f"--label {label}: the graph has no such label among {len(graph.labels):,}{advice}"
            )
    support = {label: graph.support[label] for label in graph.labels if label in labels}
    import polars as pl

    edges = graph.edges.filter(pl.col("label").is_in(list(support)))
    families = {name: members for name, members in graph.families.items() if name in set(edges["event"])}
    return replace(graph, edges=edges, support=support).with_kinds(families, graph.alternatives)
