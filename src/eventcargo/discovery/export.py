"""The graph of a run as a file for other programs; a workbook holds its rules and verdicts, too."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from eventcargo.files import atomic_file
from eventcargo.io import check_graph_path, write_graph
from eventcargo.io.workbooks import graph_sheets, write_workbook
from eventcargo.verdicts import Verdict, verdict_notes

if TYPE_CHECKING:
    from eventcargo.graphs import LabelGraph
    from eventcargo.rules import Rule

RULE_COLUMNS = {
    "support": pl.Int64,
    "carrying": pl.Int64,
    "precision": pl.Float64,
    "recall": pl.Float64,
    "f1": pl.Float64,
    "model_f1": pl.Float64,
    "shortfall": pl.String,
}
"""Columns of the sheet of rules, besides label and rule."""


def export_graph(
    path: str | Path,
    graph: "LabelGraph",
    rules: "Mapping[str, Rule | None] | None" = None,
    verdicts: Mapping[str, Verdict] | None = None,
) -> None:
    """Write a graph in the format of the path's ending; .xlsx takes rules and verdicts, .json verdicts.

    >>> import tempfile
    >>> from eventcargo import LabelGraph
    >>> graph = LabelGraph.from_boundaries({"brake": ["P01", "U02"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_graph(f"{folder}/graph.xlsx", graph, verdicts={"brake": Verdict("brake", "doubt", ())})
    ...     Path(f"{folder}/graph.xlsx").exists()
    True
    """
    path = Path(path)
    check_graph_path(path)
    if path.suffix.lower() == ".xlsx":
        with atomic_file(path) as target:
            write_workbook(target, {**graph_sheets(graph), **_sheets(rules or {}, verdicts or {})})
    elif path.suffix.lower() == ".json" and verdicts:
        write_graph(graph, path, {"verdicts": verdict_notes(verdicts)})
    else:
        write_graph(graph, path)


def _sheets(rules: "Mapping[str, Rule | None]", verdicts: Mapping[str, Verdict]) -> dict[str, pl.DataFrame]:
    """The sheets of what there is: a row per rule, and a row per verdict."""
    ruled = [rule for rule in rules.values() if rule is not None]
    told = [
        [one.label, one.level, "; ".join(one.reasons), "; ".join(one.missing)] for one in verdicts.values()
    ]
    figures = [[getattr(rule, name) for name in RULE_COLUMNS] for rule in ruled]
    rows = [[rule.label, rule.text, *row] for rule, row in zip(ruled, figures, strict=True)]
    sheets = {
        "rules": pl.DataFrame(rows, {"label": pl.String, "rule": pl.String, **RULE_COLUMNS}, orient="row"),
        "verdicts": pl.DataFrame(
            told, dict.fromkeys(("label", "level", "reasons", "missing"), pl.String), orient="row"
        ),
    }
    return {name: sheet for name, sheet in sheets.items() if len(sheet)}
