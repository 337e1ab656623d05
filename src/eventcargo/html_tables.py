"""Results as HTML for notebooks: escaped text, tables that are cut with a count, and colours for words.

The style takes its text colour from the notebook, so that the same HTML is readable on light and on dark
pages. Where a notebook allows no styles, plain tables remain.
"""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

MAX_ROWS = 20
"""Rows of a table."""

MAX_NAMES = 6
"""Names of a list in one cell."""

LONGEST_NAME = 80
"""Characters of a name; the whole name appears on pointing at it."""

MISSING = "&ndash;"
"""In place of a value that there is not."""

Tone = Literal["good", "fair", "bad", "faint"]

STYLE = """
.eventcargo { font-size: 13px; line-height: 1.45; max-width: 72em; color: inherit; overflow-x: auto; }
.eventcargo .head { font-weight: 600; font-size: 14px; margin: .2em 0 .3em; }
.eventcargo table { border-collapse: collapse; border: 0; margin: .2em 0 .4em; color: inherit; }
.eventcargo th, .eventcargo td { text-align: left !important; vertical-align: top;
  padding: .2em .9em .2em 0; border: 0;
  border-bottom: 1px solid rgba(128, 128, 128, .3); background: none; color: inherit; white-space: normal;
  overflow-wrap: anywhere; max-width: 44em; }
.eventcargo thead th { font-weight: 600; border-bottom: 1px solid rgba(128, 128, 128, .75); }
.eventcargo tbody th { font-weight: 600; }
.eventcargo tbody tr { background: none; }
.eventcargo td.number, .eventcargo th.number { text-align: right !important;
  font-variant-numeric: tabular-nums;
  white-space: nowrap; }
.eventcargo p { margin: .2em 0; }
.eventcargo summary { cursor: pointer; margin: .2em 0; }
.eventcargo .faint { opacity: .7; }
.eventcargo .tone::before { content: ""; display: inline-block; width: .6em; height: .6em; border-radius: 50%;
  margin-right: .4em; background: currentColor; }
.eventcargo .good::before { color: #2da44e; }
.eventcargo .fair::before { color: #d99a00; }
.eventcargo .bad::before { color: #e5534b; }
"""


@dataclass(frozen=True)
class Markup:
    """HTML that is safe to show: every name in it went through `text`."""

    html: str


def text(value: object) -> str:
    """A value as text of a page or of an attribute in double quotes.

    >>> text('<b>"A" & B</b>')
    '&lt;b&gt;&quot;A&quot; &amp; B&lt;/b&gt;'
    """
    return html.escape(str(value), quote=True)


def name(value: str) -> str:
    """A name as text; a long one is cut, and shown whole on pointing at it."""
    shown = value.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair cannot be sent anywhere
    if len(shown) <= LONGEST_NAME:
        return text(shown)
    return f'<span title="{text(shown)}">{text(shown[:LONGEST_NAME])}&hellip;</span>'


def number(value: float) -> str:
    """A number for people: three significant digits, thousands separators, no exponent where it can be read.

    >>> number(12345), number(0.98765), number(999.7), number(2.5e9), number(float("nan"))
    ('12,345', '0.988', '1,000', '2.5e+09', 'nan')
    """
    if isinstance(value, int) or (999.5 <= abs(value) < 1e7):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def toned(words: str, tone: Tone) -> Markup:
    """Words behind a dot in the colour of their meaning, or in fainter print."""
    return Markup(f'<span class="{"faint" if tone == "faint" else f"tone {tone}"}">{name(words)}</span>')


def listed(names: Sequence[str], most: int = MAX_NAMES) -> Markup:
    """Names in one line, cut with a count.

    >>> listed(["P01", "<U02>", "B11"], most=2).html
    'P01, &lt;U02&gt; <span class="faint">and 1 more</span>'
    """
    shown = ", ".join(name(one) for one in names[:most])
    more = len(names) - most
    return Markup(f'{shown} <span class="faint">and {more:,} more</span>' if more > 0 else shown)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], n_rows: int | None = None) -> str:
    """A table of names, numbers and `Markup`; the first `MAX_ROWS` rows and how many more there are.

    The first column holds the names of the rows. `n_rows` says how many rows there are if not all are given.
    """
    every = list(rows)
    shown, n_rows = every[:MAX_ROWS], len(every) if n_rows is None else n_rows
    numeric = [_is_numeric([row[at] for row in shown]) for at in range(len(columns))]
    heads = "".join(
        f'<th scope="col"{_class(is_number)}>{text(title)}</th>'
        for title, is_number in zip(columns, numeric, strict=True)
    )
    body = "".join(f"<tr>{''.join(_cells(row, numeric))}</tr>" for row in shown)
    more = n_rows - len(shown)
    rest = paragraph(f"and {more:,} more", "faint") if more > 0 else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{rest}"


def paragraph(words: str, kind: str = "") -> str:
    """A line of text."""
    return f"<p{f' class={kind}' if kind else ''}>{text(words)}</p>"


def folded(title: str, body: str) -> str:
    """HTML that opens with a click on its title."""
    return f"<details><summary>{text(title)}</summary>{body}</details>"


def block(title: str, *parts: str) -> str:
    """The HTML of one result: a title and what follows it, with the style of all results."""
    head = f'<style>{STYLE}</style><div class="head">{text(title)}</div>'
    return f'<div class="eventcargo">{head}{"".join(parts)}</div>'


def _cells(row: Sequence[Any], numeric: Sequence[bool]) -> Iterable[str]:
    for at, (value, is_number) in enumerate(zip(row, numeric, strict=True)):
        tag, scope = ("th", ' scope="row"') if at == 0 else ("td", "")
        yield f"<{tag}{scope}{_class(is_number)}>{_shown(value)}</{tag}>"


def _shown(value: Any) -> str:
    if value is None:
        return MISSING
    if isinstance(value, Markup):
        return value.html
    return (
        number(value) if isinstance(value, int | float) and not isinstance(value, bool) else name(str(value))
    )


def _is_numeric(values: Sequence[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(one, int | float) and not isinstance(one, bool) for one in known)


def _class(is_number: bool) -> str:
    return " class=number" if is_number else ""
