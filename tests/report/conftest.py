"""A page in real Chromium, opened from disk.

Where there is no Chromium its tests are left out, but not in continuous integration (the environment variable
CI is set): there they fail.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from eventcargo.report import ReportInput, write_report

from .material import clinic, either, formulas, garage, hostile, large

LOCAL = ("file:", "data:", "about:")
CONTENTS: dict[str, Callable[[], ReportInput]] = {
    "garage": garage,
    "hostile": hostile,
    "either": either,
    "clinic": clinic,
    "formulas": formulas,
    "large": large,
}


@pytest.fixture(scope="package")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Where the pages are, by the name of their content."""
    folder = tmp_path_factory.mktemp("report")
    for name, content in CONTENTS.items():
        write_report(folder / f"{name}.html", content())
    return {name: (folder / f"{name}.html").as_uri() for name in CONTENTS}


@pytest.fixture
def opened(chromium: Any, addresses: dict[str, str]) -> Iterator[Callable[..., Any]]:
    """Open a page; when the test ends nothing may have gone wrong in it, nor have been fetched."""
    trouble: list[str] = []
    asked: list[str] = []

    def close(dialog: Any) -> None:
        trouble.append("a dialog opened")
        dialog.dismiss()

    listeners = {
        "console": lambda said: trouble.append(f"console: {said.text}"),
        "pageerror": lambda error: trouble.append(f"error: {error}"),
        "dialog": close,
        "request": lambda request: asked.append(request.url),
    }
    for event, listener in listeners.items():
        chromium.on(event, listener)

    def open_page(content: str = "garage", route: str = "", width: int = 1100, scheme: str = "light") -> Any:
        chromium.goto("about:blank")  # a change behind the # alone would keep the page and its state
        chromium.set_viewport_size({"width": width, "height": 800})
        chromium.emulate_media(color_scheme=scheme, media="screen")
        chromium.goto(addresses[content] + route)
        return chromium

    yield open_page
    for event, listener in listeners.items():
        chromium.remove_listener(event, listener)
    assert trouble == []
    assert [url for url in asked if not url.startswith(LOCAL)] == []
