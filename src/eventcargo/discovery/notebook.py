"""How an estimator shows itself in a notebook: its parameters and, once fitted, what it found."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eventcargo.errors import counted
from eventcargo.html_tables import MAX_ROWS, Markup, block, folded, paragraph, table, text, toned
from eventcargo.verdicts.verdict import TONES, count_levels

if TYPE_CHECKING:
    from eventcargo.discovery.results import RunResults


def estimator_html(
    title: str, parameters: Mapping[str, tuple[Any, bool]], results: "RunResults | None"
) -> str:
    """The HTML of an estimator; `parameters` are values, each with whether it differs from the default."""
    changed = [name for name, (_, is_changed) in parameters.items() if is_changed]
    rows = [[name, _value(value, name in changed)] for name, (value, _) in parameters.items()]
    every = folded(
        f"{counted(len(rows), 'parameter')}, {len(changed)} changed", table(["parameter", "value"], rows)
    )
    summary = [] if results is None else [found_html(results)]
    state = "not fitted" if results is None else "fitted"
    short = ", ".join(f"{name}={parameters[name][0]!r}" for name in changed)
    return block(f"{title}({short}), {state}", *summary, every)


def _value(value: Any, is_changed: bool) -> Markup:
    shown = text(repr(value))
    return Markup(f"<b>{shown}</b>" if is_changed else f'<span class="faint">{shown}</span>')


def found_html(results: "RunResults") -> str:
    """The labels of a run with causes, rule and verdict, those carried by most sequences first."""
    graph = results.graph
    rows = []
    for label in graph.labels_by_support()[:MAX_ROWS]:
        rule, verdict = results.rules.get(label), results.verdicts.get(label)
        level = None if verdict is None else toned(verdict.level, TONES[verdict.level])
        rows.append([label, graph.support[label], graph.causes_html(label), rule and rule.text, level])
    line = f"{graph!r}. Verdicts: {count_levels(results.verdicts)}."
    columns = ["label", "sequences with it", "causes, surest first", "rule", "verdict"]
    return paragraph(line) + table(columns, rows, len(graph.support))
