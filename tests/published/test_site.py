"""The site of the docs is built without a warning, loads nothing from the network, and has no broken link."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import eventcargo

ROOT = Path(__file__).parents[2]


def build(config: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """A strict build: any warning ends it. With --quiet, warnings would not count."""
    known = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "-d", site]
    return subprocess.run(command, cwd=ROOT, env=known, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder


class Contents(HTMLParser):
    """What a page loads, where it leads, and its anchors."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.loads += [given["src"]] if "src" in given else []
        if "href" in given:
            (self.leads if tag == "a" else self.loads).append(given["href"])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Contents]:
    return {page.resolve(): Contents(page) for page in site.rglob("*.html") if page.name != "404.html"}


def broken(pages: dict[Path, Contents]) -> Iterator[str]:
    """Links within the site that lead to no file or no anchor."""
    for page, contents in pages.items():
        for link in (link for link in contents.leads if "://" not in link):
            target, _, anchor = unquote(link).partition("#")
            path = (page.parent / target).resolve() if target else page
            if not path.is_file() or (anchor and anchor not in pages[path].anchors):
                yield f"{page.name}: {link}"


def test_every_page_of_the_docs_is_in_the_site(pages: dict[Path, Contents]) -> None:
    names = {page.stem for page in pages}
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} <= names
    assert {"index", "contributing", "changelog", "benchmarks"} <= names


def test_every_public_name_has_a_page_that_says_what_it_is(pages: dict[Path, Contents]) -> None:
    api = {page.stem: page for page in pages if page.parent.name == "api"}
    assert set(api) == set(eventcargo.__all__)
    for name, page in api.items():
        text = " ".join(page.read_text("utf-8").split())
        about = (getattr(eventcargo, name).__doc__ or "").splitlines()[0].split("`")[0]
        assert about.replace("<", "&lt;").replace(">", "&gt;").strip() in text, name


def test_no_link_within_the_site_is_broken(pages: dict[Path, Contents]) -> None:
    assert list(broken(pages)) == []
    assert sum(len(contents.leads) for contents in pages.values()) > 1_000


def test_nothing_is_loaded_from_the_network(pages: dict[Path, Contents], site: Path, chromium: Any) -> None:
    loaded = [link for contents in pages.values() for link in contents.loads]
    assert [link for link in loaded if "//" in link] == []
    asked: list[str] = []

    def note(request: Any) -> None:
        asked.append(request.url)

    chromium.on("request", note)
    chromium.goto((site / "index.html").as_uri())
    chromium.remove_listener("request", note)
    assert asked
    assert "eventcargo" in chromium.title()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


WRONG = {
    "docs/new.md": "# A page that nav does not have",
    "docs/data.md": "[no page](nowhere.md)",
    "docs/rules.md": "[no anchor](models.md#not-there)",
    "README.md": "[no page](docs/not-a-page.md)",
    "mkdocs.yml": "nav: [{Start: index.md}, {Gone: gone.md}, {API: api}]",
}


def test_pages_without_a_place_and_links_to_nothing_stop_the_build(tmp_path: Path) -> None:
    for name in ("docs", "src", "benchmarks/README.md", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        (tmp_path / name).parent.mkdir(exist_ok=True)
        copy(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    for path, text in WRONG.items():
        with (tmp_path / path).open("a") as file:
            file.write(f"\n{text}\n")
    done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert done.returncode == 1
    warnings = [line for line in done.stderr.splitlines() if "new.md" in line or "WARNING" in line]
    for told in ("new.md", "'nowhere.md'", "#not-there", "not-a-page.md'", "'gone.md'"):
        assert any(told in line for line in warnings), (told, done.stderr)
