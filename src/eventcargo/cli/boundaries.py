"""Print the boundaries of a graph as a table."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eventcargo.cli.output import print_table
from eventcargo.errors import counted

if TYPE_CHECKING:
    from eventcargo.graphs import LabelGraph

MAX_LABELS, MAX_EVENTS = 20, 8
MARKS = {1: "+", -1: "-"}


def print_boundaries(
    graph: "LabelGraph",
    positives: Mapping[str, int],
    verdicts: Mapping[str, Any] | None = None,
    rules: Mapping[str, Any] | None = None,
) -> None:
    """Print the most frequent labels with causes (+ promotes, - inhibits), rule and verdict.

    `positives` counts the sequences that carry each label, whether phase 1 tested them or not.
    """
    labels = sorted(graph.labels, key=lambda label: (-positives.get(label, 0), label))[:MAX_LABELS]
    columns = ["label", "sequences with it", "causes, strongest first"]
    rows: list[list[Any]] = [[label, positives.get(label), causes(graph, label)] for label in labels]
    for name, results, attribute in (("rule", rules, "text"), ("verdict", verdicts, "level")):
        if results is not None:
            columns.append(name)
            for label, row in zip(labels, rows, strict=True):
                row.append(getattr(results.get(label), attribute, None))
    print_table(f"Causes of {len(labels):,} of {counted(len(graph.labels), 'label')}", columns, rows)


def causes(graph: "LabelGraph", label: str) -> str:
    """The event types of a boundary with their signs, in one line; families with their members.

    >>> from eventcargo.graphs import LabelGraph
    >>> causes(LabelGraph.from_boundaries({"brake": ["P01", "U02"]}), "brake")
    'P01, U02'
    """
    edges = graph.edges.filter(label=label).select("event", "sign").rows()
    shown = [f"{MARKS.get(sign, '')}{graph.describe(event)}" for event, sign in edges[:MAX_EVENTS]]
    return ", ".join(shown) + (f" and {len(edges) - MAX_EVENTS} more" if len(edges) > MAX_EVENTS else "")
