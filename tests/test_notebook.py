"""Results as a person sees them: a notebook is executed, exported to HTML and opened in a browser."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from eventcargo import Cargo

HOSTILE = "<img src=x onerror=alert(1)>"

CELLS = [
    f"""
from eventcargo import Cargo, EventDataset, EventSequence, LabelGraph, simulate
fleet = simulate("chain", sequences=400, labels=2, event_types=30, seed=103)
cargo = Cargo(preset="fast", steps=2, n_jobs=1).fit(fleet.data)
hostile = {HOSTILE!r}
""",
    "cargo",
    "cargo.graph_",
    "cargo.verdicts_",
    'cargo.rules_["L000"]',
    'cargo.explain(next(one for one in fleet.data if "L000" in one.labels))',
    'LabelGraph.from_boundaries({hostile: [hostile, "a" * 300], **{f"B{n:02}": ["P01"] for n in range(30)}})',
    "Cargo(max_time=hostile)",
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The executed notebook, on a light and on a dark page."""
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in CELLS])
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell{number}"
    nbformat.write(notebook, folder / "made.ipynb")
    _export(folder, "made.ipynb", "--execute", "--to", "notebook", "--output", "done.ipynb")
    for theme in ("light", "dark"):
        _export(folder, "done.ipynb", "--to", "html", f"--HTMLExporter.theme={theme}", "--output", theme)
    return {theme: folder / f"{theme}.html" for theme in ("light", "dark")}


def _export(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "nbconvert", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def offline(chromium: Any) -> Iterator[Any]:
    """The browser without a network; a dialog that opens is remembered."""
    chromium.dialogs = []

    def remember(dialog: Any) -> None:
        chromium.dialogs.append(dialog.message)
        dialog.dismiss()

    def refuse(route: Any) -> None:
        route.abort()

    chromium.on("dialog", remember)
    chromium.route("http*://**", refuse)
    yield chromium
    chromium.unroute("http*://**", refuse)
    chromium.remove_listener("dialog", remember)


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_results_are_readable_in_a_notebook(pages: dict[str, Path], offline: Any, theme: str) -> None:
    offline.set_viewport_size({"width": 1200, "height": 900})
    offline.goto(pages[theme].as_uri(), wait_until="domcontentloaded")
    shown = [one.inner_text() for one in offline.locator(".eventcargo").all()]
    estimator, graph, verdicts, rule, explanation, hostile, unfitted = shown
    assert "Cargo(n_jobs=1, preset='fast', steps=2), fitted" in estimator
    assert f"{len(Cargo().get_params())} parameters, 3 changed" in estimator
    assert "LabelGraph: 2 edges into 2 labels" in graph
    assert "sequences with it" in graph
    assert "Verdicts on 2 labels: trust 2" in verdicts
    assert rule.startswith("Rule of L000")
    assert "L000 has a probability of " in explanation
    assert "first position" in explanation
    assert HOSTILE in hostile
    assert "and 11 more" in hostile
    assert f"Cargo(max_time='{HOSTILE}'), not fitted" in unfitted
    assert offline.locator(".eventcargo img").count() == 0
    assert offline.dialogs == []
    assert offline.locator(".eventcargo td").first.evaluate("n => getComputedStyle(n).textAlign") == "right"
    assert (
        offline.locator(".eventcargo tbody th").first.evaluate("n => getComputedStyle(n).textAlign") == "left"
    )
    assert _contrast(offline) >= 4.5


CONTRAST = """() => {
  const light = color => {
    const parts = color.match(/[\\d.]+/g).slice(0, 3).map(Number).map(v => v / 255)
      .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * parts[0] + .7152 * parts[1] + .0722 * parts[2];
  };
  const behind = node => {
    for (; node; node = node.parentElement) {
      const color = getComputedStyle(node).backgroundColor;
      if (!/, 0\\)$/.test(color)) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const nodes = [...document.querySelectorAll(".eventcargo th, .eventcargo td, .eventcargo .head")];
  return Math.min(...nodes.map(node => {
    const pair = [light(getComputedStyle(node).color), light(behind(node))].sort((a, b) => b - a);
    return (pair[0] + .05) / (pair[1] + .05);
  }));
}"""


def _contrast(page: Any) -> float:
    """The smallest contrast of text with what is behind it."""
    return float(page.evaluate(CONTRAST))
