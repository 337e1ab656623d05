"""The page of a comparison, as a browser shows it."""

import re
from pathlib import Path

import numpy as np
import pytest

from eventcargo import EventDataset, EventSequence, LabelGraph, compare
from eventcargo.comparison import Comparison, write_comparison
from eventcargo.html_tables import text

from ..report.material import HOSTILE


def fleet(effect: float, seed: int) -> EventDataset:
    """Sequences in which the first hostile name makes the second, a label, more likely."""
    rng = np.random.default_rng(seed)
    cause, label, other = HOSTILE[0], HOSTILE[1], HOSTILE[2]
    sequences = []
    for row in range(2000):
        has = bool(rng.random() < 0.5)
        carries = rng.random() < (0.1 + effect * has)
        events = (cause, other) if has else (other,)
        sequences.append(
            EventSequence(f"{row:05}", events, (0.0, 1.0)[: len(events)], (label,) if carries else ())
        )
    return EventDataset.from_sequences(sequences)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    graphs = [LabelGraph.from_boundaries({HOSTILE[1]: [HOSTILE[0], *more]}) for more in ((), (HOSTILE[3],))]
    return compare((graphs[0], fleet(0.6, 1)), (graphs[1], fleet(0.1, 2)))


def test_the_page_says_what_changed_in_words_and_numbers(comparison: Comparison, tmp_path: Path) -> None:
    write_comparison(tmp_path / "page.html", comparison)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<b>1</b> of 1 edge changed" in page
    assert "1 weaker" in page
    row = comparison.edges.row(0, named=True)
    assert f"{row['odds_a']:.3g}" in page
    assert f"{row['frequency_b']:.1%}" in page


def test_names_are_text_and_never_markup(comparison: Comparison, tmp_path: Path) -> None:
    write_comparison(tmp_path / "page.html", comparison)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert text(HOSTILE[0]) in page
    assert "<script" not in page
    assert "onerror=alert" not in re.sub(r"&lt;.*?&gt;", "", page)


def test_a_browser_shows_it_without_running_or_fetching_anything(
    comparison: Comparison,
    tmp_path: Path,
    chromium: object,
) -> None:
    write_comparison(tmp_path / "page.html", comparison)
    trouble: list[str] = []
    chromium.on("dialog", lambda dialog: (trouble.append("dialog"), dialog.dismiss()))  # type: ignore[attr-defined]
    chromium.on("console", lambda said: trouble.append(said.text))  # type: ignore[attr-defined]
    chromium.goto((tmp_path / "page.html").as_uri())  # type: ignore[attr-defined]
    assert chromium.locator("tbody th").first.inner_text() == HOSTILE[1]  # type: ignore[attr-defined]
    assert chromium.locator("svg.interval").count() == 1  # type: ignore[attr-defined]
    assert trouble == []


def test_a_failed_write_leaves_the_old_page(comparison: Comparison, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("old")
    broken = Comparison(("\ud800", "b"), comparison.edges, comparison.labels, comparison.event_types, 0.05)
    with pytest.raises(ValueError, match="not valid Unicode"):
        write_comparison(tmp_path / "page.html", broken)
    assert (tmp_path / "page.html").read_text() == "old"
