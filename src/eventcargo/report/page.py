"""Write the report page: one HTML file that opens from disk and stays below a size limit.

Names enter the page only as data: JSON that cannot close a tag, which the script turns into text, never into
markup. A content security policy allows this one script and blocks all network access.
"""

import json
import warnings
from pathlib import Path
from string import Template
from typing import Any

from eventcargo.errors import EventCargoWarning
from eventcargo.files import atomic_file
from eventcargo.report.page_data import PageData, build_page_data, shorter
from eventcargo.report.report_input import ReportInput
from eventcargo.report.static_page import STYLES, as_bytes, joined_sources, page_source, policy_hash

LIMIT = 10_000_000
"""Largest page in bytes; a page above it shows fewer sequences."""

SEQUENCES = (8, 6, 4, 2, 1, 0)
"""Sequences per label to try, until the page is within its limit."""

SCRIPTS = (
    "elements.js",
    "download.js",
    "sections.js",
    "search.js",
    "picture.js",
    "forest.js",
    "labels.js",
    "overview.js",
    "models.js",
    "causes.js",
    "timeline.js",
    "label.js",
    "event_type.js",
    "routes.js",
)
"""Files of the page's script, in the order in which they are joined."""


def write_report(path: str | Path, content: ReportInput, limit: int = LIMIT) -> None:
    """Write the report to one HTML file of at most `limit` bytes.

    >>> import tempfile
    >>> from eventcargo.events import EventDataset, EventSequence
    >>> from eventcargo.graphs import LabelGraph
    >>> data = EventDataset.from_sequences([EventSequence("car1", ("P01",), (0.0,), ("brake",))])
    >>> content = ReportInput(LabelGraph.from_boundaries({"brake": ["P01"]}), data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(f"{folder}/report.html", content)
    ...     Path(f"{folder}/report.html").read_text("utf-8").startswith("<!doctype html>")
    True
    """
    whole = build_page_data(content, SEQUENCES[0])
    page = render(whole)
    for max_sequences in SEQUENCES[1:]:
        if len(page) <= limit:
            break
        page = render(shorter(whole, max_sequences))
    if len(page) > limit:
        warnings.warn(
            f"the report has {len(page):,} bytes, more than {limit:,}, even without sequences; "
            "report a graph with fewer labels",
            EventCargoWarning,
            stacklevel=2,
        )
    with atomic_file(path) as target:
        target.write_bytes(page)


def render(content: PageData) -> bytes:
    """The page as bytes."""
    blocks = [json_block("overview", content.overview)]
    blocks += [json_block(f"part-{number}", part) for number, part in enumerate(content.labels)]
    style = joined_sources(STYLES)
    script = "'use strict';\n(() => {\n" + joined_sources(SCRIPTS) + "})();\n"
    page = Template(page_source("page.html")).substitute(
        style=style,
        script=script,
        style_hash=policy_hash(style),
        script_hash=policy_hash(script),
        data="\n".join(blocks),
    )
    return as_bytes(page)


def json_block(name: str, value: Any) -> str:
    """Data for the script; without "<", it cannot end its element or begin another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return f'<script type="application/json" id="{name}">{text.replace("<", chr(92) + "u003c")}</script>'
