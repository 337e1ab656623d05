"""Print the boundaries of a graph as a table."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eventcargo.cli.output import print_lines, print_table
from eventcargo.errors import counted

if TYPE_CHECKING:
    from eventcargo.graphs import LabelGraph
    from eventcargo.rules import Rule

MAX_LABELS, MAX_EVENTS = 20, 8
MAX_ODDS, MAX_ODDS_OF_LABEL = 20, 3
MARKS = {1: "+", -1: "-"}

SMALLEST, TEN, LARGEST = 0.001, 9.95, 1_000
"""Odds ratios beyond the first and the last are shown as beyond; from the second on they have no decimals."""

ODDS_NOTE = (
    "Odds ratio: the odds of the label with the cause present, as a multiple of those without it, all other "
    "causes alike. Weight, by the end of the interval nearer to 1: strong from 3 (or 1/3), moderate from 1.5."
)
"""What stands under the table of odds."""


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
    columns = ["label", "sequences with it", "causes, surest first"]
    rows: list[list[Any]] = [[label, positives.get(label), causes(graph, label)] for label in labels]
    for name, results, attribute in (("rule", rules, "text"), ("verdict", verdicts, "level")):
        if results is not None:
            columns.append(name)
            for label, row in zip(labels, rows, strict=True):
                row.append(getattr(results.get(label), attribute, None))
    print_table(f"Causes of {len(labels):,} of {counted(len(graph.labels), 'label')}", columns, rows)
    print_shortfalls({} if rules is None else rules, labels)
    print_odds(graph, labels)


def print_shortfalls(rules: Mapping[str, "Rule | None"], labels: Sequence[str] | None = None) -> None:
    """Print which rules, of all labels or some, tell clearly less than the models of their labels know."""
    shown = list(rules) if labels is None else labels
    found = {label: rule.shortfall for label in shown if (rule := rules.get(label)) and rule.falls_short}
    lines = [f"{label}: {words}." for label, words in list(found.items())[:MAX_LABELS]]
    print_lines([*lines, *([f"And {len(found) - len(lines):,} more."] if len(found) > len(lines) else [])])


def print_odds(graph: "LabelGraph", labels: Sequence[str]) -> None:
    """Print the odds ratios of the first causes of these labels, and what they are; nothing if unknown."""
    n_known = graph.edges["odds_ratio"].count()
    rows = [row for label in labels for row in odds_rows(graph, label)][:MAX_ODDS]
    if rows:
        title = f"Odds of {len(rows):,} of {counted(n_known, 'cause')}"
        print_table(title, ["label", "cause", "odds ratio (95 % interval)", "weight"], rows)
        print_lines([ODDS_NOTE])


def odds_rows(graph: "LabelGraph", label: str) -> list[list[str | None]]:
    """Label, cause, odds ratio in words and weight of the first edges of a label that have an odds ratio."""
    from eventcargo.graphs import weight_of

    columns = ("event", "odds_ratio", "odds_low", "odds_high")
    known = graph.edges.filter(label=label).select(columns).drop_nulls().head(MAX_ODDS_OF_LABEL)
    return [
        [label, graph.describe(event), show_odds(ratio, low, high), weight_of(low, high)]
        for event, ratio, low, high in known.iter_rows()
    ]


def show_odds(ratio: float, low: float, high: float) -> str:
    """An odds ratio with its interval.

    >>> show_odds(4.23, 3.1, 5.84), show_odds(0.207, 0.0004, 0.31), show_odds(870.2, 12.4, 2e6)
    ('x4.2 (3.1 to 5.8)', 'x0.21 (<0.001 to 0.31)', 'x870 (12 to >1,000)')
    """
    return f"x{_factor(ratio)} ({_factor(low)} to {_factor(high)})"


def _factor(value: float) -> str:
    """A factor to two digits, within limits beyond which it is no longer of interest how far."""
    if not SMALLEST <= value <= LARGEST:
        return f">{LARGEST:,}" if value > LARGEST else f"<{SMALLEST}"
    return f"{value:#.2g}" if value < TEN else f"{float(f'{value:.2g}'):,.0f}"


def causes(graph: "LabelGraph", label: str) -> str:
    """The event types of a boundary with their signs, in one line; families with their members.

    >>> from eventcargo.graphs import LabelGraph
    >>> causes(LabelGraph.from_boundaries({"brake": ["P01", "U02"]}), "brake")
    'P01, U02'
    """
    edges = graph.edges.filter(label=label).select("event", "sign").rows()
    shown = [f"{MARKS.get(sign, '')}{graph.describe(event)}" for event, sign in edges[:MAX_EVENTS]]
    return ", ".join(shown) + (f" and {len(edges) - MAX_EVENTS} more" if len(edges) > MAX_EVENTS else "")
