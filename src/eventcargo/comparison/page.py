"""The comparison of two runs as one HTML page."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from eventcargo.comparison.compare import Comparison
from eventcargo.errors import counted
from eventcargo.html_tables import text
from eventcargo.report.static_page import write_static_page

Row = Mapping[str, Any]

COLUMNS = ("Label", "Event type", "Change", "Graph", "Odds ratio A", "Odds ratio B", "B / A", "p")
FIRST_NUMBER = 4
"""The columns from here on hold numbers."""

SHARES = {"Share A": "frequency_a", "Share B": "frequency_b"}

TONES = {"gained": "promotes", "stronger": "promotes", "lost": "inhibits", "weaker": "inhibits"}
"""Colours of changes; all others have none."""

MISSING = "-"
"""In place of a number that there is not."""

WIDTH, HEIGHT, PAD = 120, 14, 5
"""Of the drawing of an interval, in pixels."""

LEAST_REACH, MOST_REACH = math.log(2), math.log(100)
"""Ends of the axis of ratios, as logarithms: at least 1/2 and 2, at most 1/100 and 100."""


def write_comparison(path: str | Path, comparison: Comparison) -> None:
    """Write the page; names are shown as text, whatever they contain."""
    edges = comparison.edges.to_dicts()
    changed = [row for row in edges if row["change"] != "none"]
    same = [row for row in edges if row["change"] == "none"]
    reach = _reach(edges)
    parts = [
        _head(comparison, len(changed)),
        _section("Changed", _table(changed, reach) if changed else _note("No change was shown.")),
        _section("No change shown", _folded(same, reach) if same else _note("None.")),
        *_alone(comparison),
        _section("How to read this", _reading(comparison)),
    ]
    write_static_page(path, "eventcargo comparison", "\n".join(parts))


def _head(comparison: Comparison, n_changed: int) -> str:
    a, b = map(text, comparison.names)
    counts = [f"{count:,} {change}" for change, count in comparison.counts.items() if count]
    edges = counted(len(comparison.edges), "edge")
    return (
        f'<div class="hero"><h1><b>{n_changed:,}</b> of {edges} changed</h1>'
        f'<p class="lead">From A, <span class="name">{a}</span>, to B, <span class="name">{b}</span>'
        f"{': ' if counts else ''}{text(', '.join(counts).replace('none', 'without a change'))}.</p></div>"
    )


def _section(title: str, body: str) -> str:
    return f"<section><h2>{text(title)}</h2>{body}</section>"


def _note(words: str) -> str:
    return f'<p class="note">{text(words)}</p>'


def _folded(rows: Sequence[Row], reach: float) -> str:
    return f"<details><summary>{counted(len(rows), 'edge')}</summary>{_table(rows, reach)}</details>"


def _table(rows: Sequence[Row], reach: float) -> str:
    heads = "".join(
        f'<th scope="col"{" class=number" if at >= FIRST_NUMBER else ""}>{text(name)}</th>'
        for at, name in enumerate((*COLUMNS, *SHARES))
    )
    body = "".join(_row(row, reach) for row in rows)
    return f'<table class="cards"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'


def _row(row: Row, reach: float) -> str:
    cells = [
        f'<th scope="row"><span class="name">{text(row["label"])}</span></th>',
        _cell(COLUMNS[1], f'<span class="name">{text(row["event"])}</span>'),
        _cell(COLUMNS[2], _word(row)),
        _cell(COLUMNS[3], text({"a": "A", "b": "B"}.get(row["found"], row["found"]))),
        _cell(COLUMNS[4], _interval(row, "odds_a"), "number"),
        _cell(COLUMNS[5], _interval(row, "odds_b"), "number"),
    ]
    if row["untested"] is not None:
        cells.append(f'<td colspan="2" class="faint">{text(row["untested"])}</td>')
    else:
        cells.append(_cell(COLUMNS[6], _interval(row, "ratio", _drawing(row, reach)), "number"))
        cells.append(_cell(COLUMNS[7], f'<span class="whole">{_p_value(row["p_value"])}</span>', "number"))
    for name, key in SHARES.items():
        cells.append(_cell(name, MISSING if row[key] is None else f"{row[key]:.1%}", "number"))
    return f"<tr>{''.join(cells)}</tr>"


def _cell(title: str, body: str, kind: str = "") -> str:
    return f'<td data-title="{text(title)}"{f" class={kind}" if kind else ""}>{body}</td>'


def _word(row: Row) -> str:
    """The change, and whether the frequency changed as well."""
    change = row["change"]
    words = "none shown" if change == "none" else change
    also = ", frequency" if row["frequency_changed"] and change != "frequency" else ""
    return f'<span class="cause sign {TONES.get(change, "unclear")}">&nbsp;{text(words + also)}</span>'


def _interval(row: Row, name: str, drawing: str = "") -> str:
    """A ratio, its interval and a drawing of it, one below the other."""
    if row[name] is None:
        return MISSING
    low, high = (number(row[f"{name}_{end}"]) for end in ("low", "high"))
    span = f'<span class="faint whole">{low} to {high}</span>'
    return f'<span class="stack"><span class="whole">{number(row[name])}</span>{span}{drawing}</span>'


def number(value: float) -> str:
    """A ratio with three significant digits.

    >>> number(12.3456), number(0.01234), number(123456.7)
    ('12.3', '0.0123', '123,457')
    """
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _p_value(value: float) -> str:
    return f"{value:.2g}" if value >= 1e-4 else "&lt; .0001"


def _reach(rows: Iterable[Row]) -> float:
    """Half the length of the axis of ratios, as a logarithm."""
    known = [row for row in rows if row["untested"] is None]
    ends = [abs(math.log(row[name])) for row in known for name in ("ratio_low", "ratio_high")]
    return min(max([LEAST_REACH, *ends]), MOST_REACH)


def _drawing(row: Row, reach: float) -> str:
    """The interval of B / A around 1 on a logarithmic axis."""
    place, low, high = (_place(row[f"ratio{end}"], reach) for end in ("", "_low", "_high"))
    middle, half = WIDTH / 2, HEIGHT / 2
    return (
        f'<svg class="interval" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'aria-hidden="true"><line class="axis" x1="{PAD}" x2="{WIDTH - PAD}" y1="{half}" y2="{half}"/>'
        f'<line class="threshold" x1="{middle}" x2="{middle}" y1="0" y2="{HEIGHT}"/>'
        f'<line class="whisker" x1="{low:.1f}" x2="{high:.1f}" y1="{half}" y2="{half}"/>'
        f'<circle class="dot" cx="{place:.1f}" cy="{half}" r="4"/></svg>'
    )


def _place(ratio: float, reach: float) -> float:
    share = max(-1.0, min(1.0, math.log(ratio) / reach))
    return WIDTH / 2 + share * (WIDTH / 2 - PAD)


def _alone(comparison: Comparison) -> list[str]:
    """Sections for what only one run knows."""
    lines = [
        f"{kind} only in {name}: {_listed(names)}"
        for name, labels, pairs in zip("AB", comparison.labels, comparison.event_types, strict=True)
        for kind, names in (
            ("Labels", list(labels)),
            ("Event types (with the label they are an edge of)", [f"{e} ({label})" for label, e in pairs]),
        )
        if names
    ]
    if not lines:
        return []
    items = "".join(f"<li>{line}</li>" for line in lines)
    return [_section("Known to one run only, not compared", f"<ul>{items}</ul>")]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f'<span class="name">{text(name)}</span>' for name in names)


def _reading(comparison: Comparison) -> str:
    lines = (
        "Looked at is every pair of a label and an event type that the graph of A or of B has. Each is "
        "measured in the data of both, whichever search found it: an edge that one search missed by chance "
        "is not lost.",
        "The odds ratio says by what factor the odds of the label are higher with the event type than "
        "without, given all other event types that either graph has for the label; with its 95 % interval.",
        "B / A is the ratio of the two odds ratios, 1 if the effect is the same; with its 95 % interval. The "
        "p-value allows for more: for the luck of the search, if only one graph has the edge, and for other "
        "ways in which causes combine than by odds.",
        "Share is the share of all sequences in which the event type occurs. A change of that alone is a "
        "change in frequency: the cause has become more or less frequent, its effect is not shown to differ.",
        f"A change is reported if it is a discovery at a false-discovery rate of {comparison.alpha:.0%} "
        "among all edges looked at. No change shown does not mean that there is none: wide intervals leave "
        "room for one.",
    )
    return "".join(f'<p class="aside">{text(line)}</p>' for line in lines)
