"""Export a `LabelGraph` to networkx and bnlearn, and to GraphML or DOT for drawing programs.

An event type and a label may share a name, so the nodes are "event:<name>" and "label:<name>", with the plain
name and the kind as attributes.
"""

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from eventcargo.errors import DataError
from eventcargo.graphs import EDGE_SCHEMA, LabelGraph

if TYPE_CHECKING:
    import networkx as nx

ATTRIBUTES = [name for name in EDGE_SCHEMA if name not in ("label", "event")]
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
DOT_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "&": "&amp;"}


def graph_to_networkx(graph: LabelGraph) -> "nx.DiGraph[str]":
    """A directed networkx graph from event types to labels; edges carry their known attributes.

    >>> network = graph_to_networkx(LabelGraph.from_boundaries({"brake": ["P01"]}))
    >>> list(network.edges), network.nodes["event:P01"]
    ([('event:P01', 'label:brake')], {'kind': 'event', 'name': 'P01'})
    """
    import networkx as nx

    network: nx.DiGraph[str] = nx.DiGraph()
    for event in sorted(graph.edges["event"].unique().to_list()):
        network.add_node(f"event:{event}", kind="event", name=event)
    for label, support in graph.support.items():
        attributes = {} if support is None else {"support": support}
        network.add_node(f"label:{label}", kind="label", name=label, **attributes)
    for row in graph.edges.iter_rows(named=True):
        attributes = {name: row[name] for name in ATTRIBUTES if row[name] is not None}
        network.add_edge(f"event:{row['event']}", f"label:{row['label']}", **attributes)
    return network


def graph_to_strengths(graph: LabelGraph) -> pl.DataFrame:
    """The edges in the format of bnlearn's `boot.strength`: from, to, strength, direction.

    The strength is the edge's frequency, or 1 if unknown; the direction is always 1, because events cause
    labels and not the reverse.

    >>> graph_to_strengths(LabelGraph.from_boundaries({"brake": ["P01"]})).row(0)
    ('P01', 'brake', 1.0, 1.0)
    """
    return graph.edges.select(
        pl.col("event").alias("from"),
        pl.col("label").alias("to"),
        pl.col("frequency").fill_null(1.0).alias("strength"),
        pl.lit(1.0).alias("direction"),
    )


def write_graphml(graph: LabelGraph, path: Path) -> None:
    """Write GraphML; refuse names with control characters, which XML cannot hold."""
    import networkx as nx

    _check_names(graph, NOT_XML, "GraphML")
    buffer = io.BytesIO()
    nx.write_graphml_xml(graph_to_networkx(graph), buffer)
    # An XML reader turns a bare carriage return into a line feed; a character reference survives.
    path.write_bytes(buffer.getvalue().replace(b"\r", b"&#13;"))


def write_dot(graph: LabelGraph, path: Path) -> None:
    """Write DOT for Graphviz; nodes are numbered and carry their names as labels."""
    _check_names(graph, re.compile("\x00"), "DOT")
    network = graph_to_networkx(graph)
    numbers = {node: f"n{i}" for i, node in enumerate(network)}
    shapes = {"event": "ellipse", "label": "box"}
    lines = ["digraph boundaries {", "  rankdir=LR;"]
    for node, known in network.nodes(data=True):
        lines.append(f"  {numbers[node]} [shape={shapes[known['kind']]}, label={_quoted(known['name'])}];")
    for tail, head, known in network.edges(data=True):
        lines.append(f"  {numbers[tail]} -> {numbers[head]}{_edge_attributes(known)};")
    path.write_text("\n".join([*lines, "}", ""]), "utf-8", newline="")


def _quoted(name: str) -> str:
    return '"' + "".join(DOT_ESCAPES.get(letter, letter) for letter in name) + '"'


def _edge_attributes(known: dict[str, Any]) -> str:
    pairs = ", ".join(f'{name}="{value!r}"' for name, value in known.items())
    return f" [{pairs}]" if pairs else ""


def _check_names(graph: LabelGraph, bad: re.Pattern[str], form: str) -> None:
    for name in [*graph.support, *graph.edges["event"].unique().to_list()]:
        if match := bad.search(name):
            raise DataError(f"{name!r:.80} has {match[0]!r}, which {form} cannot hold; rename it")
