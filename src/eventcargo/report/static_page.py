"""Pages without a script, in the style of the report: one HTML file that opens from disk.

Names enter the page as text escaped by `text`. A content security policy allows the style alone: no script
runs, and nothing is fetched.
"""

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from string import Template

from eventcargo.errors import DataError
from eventcargo.files import atomic_file
from eventcargo.html_tables import text

STYLES = ("page.css", "figures.css")
"""Files of the style of all pages, in the order in which they are joined."""


def write_static_page(path: str | Path, title: str, body: str) -> None:
    """Write a page; `body` is HTML, in which every name went through `text`."""
    style = joined_sources(STYLES)
    page = Template(page_source("static.html")).substitute(
        style=style, style_hash=policy_hash(style), title=text(title), body=body
    )
    content = as_bytes(page)
    with atomic_file(path) as target:
        target.write_bytes(content)


def as_bytes(page: str) -> bytes:
    """The page in UTF-8; refuses a name that is no Unicode."""
    try:
        return page.encode("utf-8")
    except UnicodeEncodeError as error:
        name = page[max(0, error.start - 20) : error.end + 20]
        raise DataError(f"a name is not valid Unicode, near {name!a}; rename it") from None


def joined_sources(names: tuple[str, ...]) -> str:
    """Files of the template, one after the other."""
    return "".join(page_source(name) for name in names)


def page_source(name: str) -> str:
    """A file of the template."""
    return (files("eventcargo.report") / "template" / name).read_text("utf-8")


def policy_hash(content: str) -> str:
    """The hash by which the content security policy allows a style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode()
