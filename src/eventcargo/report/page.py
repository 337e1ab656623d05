"""Write the report page: one HTML file that opens from disk and stays below a size limit.

Names enter the page only as data: JSON that cannot close a tag, which the script turns into text, never into
markup. A content security policy allows this one script and blocks all network access.
"""

import base64
import hashlib
import json
import warnings
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from eventcargo.errors import DataError, EventCargoWarning
from eventcargo.files import atomic_file
from eventcargo.report.page_data import PageData, build_page_data
from eventcargo.report.report_input import ReportInput

LIMIT = 10_000_000
"""Largest page in bytes; a page above it shows fewer sequences."""

SEQUENCES = (8, 6, 4, 2, 1, 0)
"""Sequences per label to try, until the page is within its limit."""

STYLES = ("page.css", "figures.css")
SCRIPTS = (
    "elements.js",
    "labels.js",
    "overview.js",
    "causes.js",
    "timeline.js",
    "label.js",
    "routes.js",
)
"""Files of the page's style and script, in the order in which they are joined."""


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
    page = b""
    for max_sequences in SEQUENCES:
        page = render(build_page_data(content, max_sequences))
        if len(page) <= limit or content.edges is None:
            break
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
    blocks = [_block("overview", content.overview)]
    blocks += [_block(f"part-{number}", part) for number, part in enumerate(content.labels)]
    style, script = _joined(STYLES), "'use strict';\n(() => {\n" + _joined(SCRIPTS) + "})();\n"
    page = Template(_source("page.html")).substitute(
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        data="\n".join(blocks),
    )
    try:
        return page.encode("utf-8")
    except UnicodeEncodeError as error:
        name = page[max(0, error.start - 20) : error.end + 20]
        raise DataError(f"a name is not valid Unicode, near {name!a}; rename it") from None


def _block(name: str, value: Any) -> str:
    """Data for the script; without "<", it cannot end its element or begin another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return f'<script type="application/json" id="{name}">{text.replace("<", chr(92) + "u003c")}</script>'


def _joined(names: tuple[str, ...]) -> str:
    return "".join(_source(name) for name in names)


def _source(name: str) -> str:
    return (files("eventcargo.report") / "template" / name).read_text("utf-8")


def _hash(text: str) -> str:
    """The hash by which the content security policy allows a text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
