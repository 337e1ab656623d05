"""Pages of the site that are no files of docs/: README and its like, and one for each public name.

Links between the files work where they are, on a host of repositories, and lead to pages in the site.
"""

import re
from pathlib import Path
from posixpath import normpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import eventcargo

ROOT = Path(__file__).parents[2]

OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
}
"""Files of the repository that are pages, and the names of these pages."""

HOME = {page: str(Path(path).parent) for path, page in OUTSIDE.items()}
"""The folder that the links of such a page start from."""

ITEM = re.compile(r" *([-*]|\d+\.) ")

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the public names where `nav` says `api`."""
    names = [{name: f"api/{name}.md"} for name in sorted(eventcargo.__all__, key=str.casefold)]
    config.nav = [{"API": names} if entry == {"API": "api"} else entry for entry in config.nav]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, page in OUTSIDE.items():
        files.append(File.generated(config, page, content=(ROOT / path).read_text("utf-8")))
    for name in eventcargo.__all__:
        files.append(File.generated(config, f"api/{name}.md", content=f"::: eventcargo.{name}\n"))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Lead links to the pages of the site; what is no page stays as text."""
    home = HOME.get(page.file.src_uri, "docs")
    return with_lists(LINK.sub(lambda link: _led(link, home), markdown))


def _led(link: re.Match[str], home: str) -> str:
    """A link as the site has it.

    >>> _led(LINK.match("[first](../README.md#install)"), "docs")
    '[first](index.md#install)'
    >>> _led(LINK.match("[data](docs/data.md)"), "."), _led(LINK.match("[all](../Makefile)"), "docs")
    ('[data](data.md)', 'all')
    """
    image, text, target, anchor = link.groups(default="")
    if "://" in target or (home == "docs" and not target.startswith("../")):
        return link.group()
    path = normpath(f"{home}/{target}")
    if path not in OUTSIDE and not path.startswith("docs/"):
        if not (ROOT / path).exists():
            return link.group()  # leads nowhere: strict builds stop
        return text
    return f"{image}[{text}]({OUTSIDE.get(path, path.removeprefix('docs/'))}{anchor})"


def with_lists(markdown: str) -> str:
    """Lists as hosts of repositories read them: right below a paragraph, and nested by two or three blanks.

    >>> with_lists("Why:\\n- first\\n  goes on\\n  - nested")
    'Why:\\n\\n- first\\n    goes on\\n    - nested'
    >>> with_lists("1. first\\n\\n   goes on\\n2. second")
    '1. first\\n\\n    goes on\\n\\n2. second'
    """
    lines: list[str] = []
    is_code = is_list = has_item = False  # within a list; an item since the last blank line
    for line in markdown.split("\n"):
        is_code ^= line.startswith("```")
        is_item = not is_code and ITEM.match(line) is not None
        if is_item and not has_item and lines and lines[-1]:
            lines.append("")
        has_item = is_item or (has_item and line != "")
        is_list = has_item or (is_list and line[:1] in ("", " "))
        lines.append(re.sub(r"^ {2,3}(?=\S)", "    ", line) if is_list and not is_code else line)
    return "\n".join(lines)
