"""Label and event type, timelines, search, help and downloads, in real Chromium."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from .material import HOSTILE

Open = Callable[..., Any]


def downloaded(page: Any, name: str, folder: Path) -> str:
    """The file behind a button, as text."""
    with page.expect_download() as waiting:
        page.get_by_role("button", name=name).first.click()
    waiting.value.save_as(folder / "file")
    return (folder / "file").read_bytes().decode("utf-8")


def test_the_run_is_told_in_one_line(opened: Open) -> None:
    from eventcargo.release import RELEASE

    line = opened().locator("#run-line").evaluate("line => line.innerText").replace("\n", " ")
    for part in (
        "5 sequences",
        "12 events",
        "4 event types",
        "3 labels (1 without a cause)",
        f"eventcargo {RELEASE}",
        "2026-11-18",
    ):
        assert part in line


def test_notes_stand_on_the_overview_as_text(opened: Open) -> None:
    assert (
        opened().locator(".run-notes").inner_text() == "The data of <b>May</b> differ from those of the run."
    )
    assert opened("clinic").locator(".run-notes").count() == 0


def test_figures_of_the_models_are_not_among_the_findings(opened: Open) -> None:
    page = opened()
    assert "AUROC" not in page.locator("main").inner_text()
    assert "Log-loss" not in page.locator("main").inner_text()


def test_causes_are_counted_plainly(opened: Open) -> None:
    counts = opened(route="#label=brake").locator(".forest-table .counts").all_inner_texts()
    assert [text.split("\n") for text in counts] == [
        ["2 of 3 with it (67 %)", "0 of 2 without (0 %)"],
        ["0 of 1 with it (0 %)", "2 of 4 without (50 %)"],
    ]


def test_the_rule_is_counted_plainly(opened: Open) -> None:
    said = opened(route="#label=brake").locator("#rule-counts p").inner_text()
    assert said == "Of 2 sequences where the rule holds, 2 carry the label; without, 0 of 3."


def test_odds_are_written_and_drawn_on_one_logarithmic_axis(opened: Open) -> None:
    page = opened("clinic", route="#label=death", width=1400)
    assert page.locator(".forest-table .odds").all_inner_texts() == [
        "\u00d75.0 (2.0 to 12)",
        "\u00d70.25 (0.10 to 0.50)",
        "\u00d78.0 (1.2 to >1,000)",
    ]
    dots = [dot.bounding_box() for dot in page.locator(".forest-line .dot").all()]
    middles = [dot["x"] + dot["width"] / 2 for dot in dots]
    unity = page.locator(".unity").first.bounding_box()["x"]
    ticks = {
        text.text_content(): text.evaluate(
            "text => text.getBoundingClientRect().x + text.getBoundingClientRect().width / 2"
        )
        for text in page.locator(".forest.axis text").all()
    }
    decade = ticks["100"] - ticks["10"]
    assert middles[0] - unity == pytest.approx(0.69897 * decade, abs=2)
    assert middles[1] - unity == pytest.approx(-0.60206 * decade, abs=2)
    assert (
        page.locator(".forest-line").nth(2).locator(".whisker").get_attribute("d").count("L") == 2
    )  # an arrow


def test_a_label_without_odds_has_no_plot(opened: Open) -> None:
    page = opened(route="#label=fuel")
    assert page.locator(".forest-table tbody tr").count() == 1
    assert page.locator(".forest").count() == 0
    assert "No odds ratios" in page.locator("main").inner_text()


def test_a_dated_timeline_breaks_a_silence_of_years(opened: Open) -> None:
    page = opened("clinic", route="#label=death", width=1400)
    patient = page.locator("details", has_text="P1").locator(".timeline")
    assert patient.locator(".break-text").all_text_contents() == ["4 years"]
    dates = patient.locator(".edge-time").all_text_contents()
    assert sorted(dates) == ["2016-07-18", "2016-07-30", "2020-08-26", "2020-09-05"]
    marks = sorted(each.bounding_box()["x"] for each in patient.locator(".stem circle, .stem rect").all())
    assert marks[-1] - marks[0] > 300  # days are not squeezed by years
    short = page.locator("details", has_text="P2").locator(".timeline")
    assert short.locator(".break-text").count() == 0


def test_the_outcome_is_marked_at_the_end(opened: Open) -> None:
    page = opened("clinic", route="#label=death")
    marks = page.locator(".timeline .outcome")
    assert [mark.get_attribute("class") for mark in marks.all()] == ["outcome carried", "outcome lacking"]
    assert marks.first.locator("title").text_content() == "Outcome: death"
    last = max(
        each.bounding_box()["x"] for each in page.locator("details", has_text="P1").locator(".stem").all()
    )
    assert marks.first.bounding_box()["x"] > last - 8


def test_the_curve_rises_with_the_probability(opened: Open) -> None:
    page = opened("clinic", route="#label=death")
    step = page.locator("details", has_text="P1").locator(".curve .step").get_attribute("d")
    heights = [float(y) for y in re.findall(r"[V,]([\d.]+)", step)]
    assert heights == sorted(heights, reverse=True)
    assert len(heights) == 7 + 2
    top, bottom = (
        each.bounding_box()["y"]
        for each in page.locator("details", has_text="P1").locator(".curve .gridline").all()[::-1]
    )
    assert (heights[0] - heights[-1]) / (bottom - top) == pytest.approx(0.8, abs=0.02)
    assert "probability 10 % \u2192 90 %" in page.locator("summary").first.inner_text()
    assert opened(route="#label=brake").locator(".curve").count() == 0


def test_an_event_type_has_a_page_with_its_labels_rules_and_counts(opened: Open) -> None:
    page = opened(route="#event=P01")
    text = page.locator("main").inner_text()
    assert "Occurs in 3 of 5 sequences (60 %)." in text
    assert page.locator(".forest-table tbody th a").all_inner_texts() == ["brake"]
    assert "P01 & !U02" in page.locator("ul.plain").inner_text()


def test_an_event_type_that_causes_nothing_says_so_and_what_the_baseline_says(opened: Open) -> None:
    text = opened(route="#event=X07").locator("main").inner_text()
    assert "None: it was found to be a cause of no label." in text
    assert "Only the baseline names it for brake." in text
    assert "This report has no event type gone" in opened(route="#event=gone").locator("main").inner_text()


def test_a_family_names_its_members_and_a_member_its_family(opened: Open) -> None:
    page = opened("clinic", route="#event=A")
    assert "2 members: A1, A2" in page.locator("main").inner_text()
    page.click("text=A2")
    page.locator("h1", has_text="A2").wait_for()
    assert "Member of A" in page.locator("main").inner_text()


def test_causes_lead_to_event_types_from_every_view_and_back(opened: Open) -> None:
    page = opened()
    page.locator("#labels a.cause", has_text="K03").click()
    page.locator("h1", has_text="K03").wait_for()
    page.locator(".forest-table a", has_text="fuel").click()
    page.locator("h1", has_text="fuel").wait_for()
    page.go_back()
    page.locator("h1", has_text="K03").wait_for()
    page.go_back()
    page.locator("h1", has_text="3 causes").wait_for()


def test_hostile_event_types_are_opened_and_shown_as_they_are(opened: Open) -> None:
    page = opened("hostile")
    for name in HOSTILE:
        page.evaluate("name => { location.hash = 'event=' + encodeURIComponent(name); }", name)
        page.wait_for_function("document.querySelector('.kicker')?.textContent === 'Event type'")
        heading = page.locator("h1 .name")
        assert name in (heading.get_attribute("title"), heading.text_content())
    assert page.locator("main img, main script").count() == 0


def test_search_finds_labels_and_event_types_and_keys_choose(opened: Open) -> None:
    page = opened(route="#label=brake")
    page.keyboard.press("/")
    page.keyboard.type("u")
    options = page.locator("#found [role=option]")
    assert [
        text.split("\n")[0].split("label")[0].split("event")[0].strip() for text in options.all_inner_texts()
    ] == ["U02", "fuel"]
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#search", "aria-activedescendant") == "found-1"
    page.keyboard.press("Enter")
    page.locator("h1", has_text="fuel").wait_for()


def test_a_result_beyond_the_list_is_scrolled_into_view(opened: Open) -> None:
    page = opened("large")
    page.set_viewport_size({"width": 1100, "height": 400})
    page.fill("#search", "E0")
    for _ in range(11):
        page.keyboard.press("ArrowDown")
    option, room = page.locator("#found-11").bounding_box(), page.locator("#found").bounding_box()
    assert room["y"] <= option["y"]
    assert option["y"] + option["height"] <= room["y"] + room["height"] + 1
    assert "10,000 found, 12 shown" in page.locator("#found").inner_text()


def test_a_search_in_vain_says_so(opened: Open) -> None:
    page = opened()
    page.fill("#search", "nothing of the kind")
    assert page.locator("#found-status").inner_text() == "No label or event type matches."
    page.keyboard.press("Escape")
    assert not page.locator("#found").is_visible()


@pytest.mark.parametrize("route", ["", "#label=brake", "#event=P01", "#view=models"])
def test_every_heading_has_help_that_opens_by_key_and_closes(opened: Open, route: str) -> None:
    page = opened(route=route)
    for heading in page.locator("section .heading").all():
        button, text = heading.locator(".help-button"), heading.locator("+ .help")
        assert len(text.text_content()) > 40
        assert not text.is_visible()
        button.focus()
        page.keyboard.press("Enter")
        assert text.is_visible()
        assert button.get_attribute("aria-expanded") == "true"
        page.keyboard.press("Escape")
        assert not text.is_visible()
    assert page.locator("section h2").count() == page.locator(".help-button").count() > 0


def test_help_opens_by_touch_and_is_large_enough_for_a_finger(opened: Open) -> None:
    page = opened(width=390)
    button = page.locator(".help-button").first
    box = button.bounding_box()
    assert min(box["width"], box["height"]) >= 24
    button.click()
    assert page.locator(".help").first.is_visible()


def test_causes_are_downloaded_as_a_table(opened: Open, tmp_path: Path) -> None:
    text = downloaded(opened(), "Download all causes as CSV", tmp_path)
    table = pl.read_csv(text.removeprefix("\ufeff").encode())
    assert table.select("label", "event_type", "sign", "with_event_and_label", "with_event").rows() == [
        ("brake", "P01", "raises", 2, 3),
        ("brake", "U02", "lowers", 0, 1),
        ("fuel", "K03", "raises", 1, 2),
    ]


def test_formulas_are_inert_in_a_downloaded_table(opened: Open, tmp_path: Path) -> None:
    text = downloaded(opened("formulas"), "Download all causes as CSV", tmp_path)
    table = pl.read_csv(text.removeprefix("\ufeff").encode())
    assert table["label"].unique().to_list() == ["'=cmd|' /C calc'!A0"]
    assert sorted(table["event_type"].to_list()) == ["'\t=1", "'+1", "'-1+2", "'@SUM(A1)", 'plain, "quoted"']


@pytest.mark.parametrize(
    ("content", "route", "name", "marks"),
    [
        ("garage", "", "Download the picture as SVG", 3),
        ("clinic", "#label=death", "Download the odds ratios as SVG", 3),
    ],
)
def test_pictures_are_downloaded_with_their_colours(
    opened: Open, tmp_path: Path, content: str, route: str, name: str, marks: int
) -> None:
    text = downloaded(opened(content, route), name, tmp_path)
    assert text.startswith("<svg")
    assert "class=" not in text
    assert "var(" not in text
    assert text.count("rgb(") > marks
    assert "href" not in text


def test_a_timeline_is_downloaded_from_the_open_sequence(opened: Open, tmp_path: Path) -> None:
    page = opened("clinic", "#label=death&sequence=P1")
    page.locator(".inside .events").wait_for()
    assert "4 years" in downloaded(page, "Download the timeline as SVG", tmp_path)
    rows = downloaded(page, "Download the events as CSV", tmp_path).splitlines()
    assert rows[1] == "1,2016-07-18,A,0.7,0.2"


def test_colours_of_text_have_the_contrast_that_readers_need(opened: Open) -> None:
    for scheme in ("light", "dark"):
        page = opened("clinic", route="#label=death", scheme=scheme)
        page.locator("details").first.click()
        worst = page.evaluate(CONTRAST)
        assert worst[0] >= 4.5, worst


def test_squares_stand_out_from_the_paper_in_both_schemes(opened: Open) -> None:
    for scheme in ("light", "dark"):
        page = opened(scheme=scheme)
        assert page.evaluate(SQUARES) >= 3


LUMINANCE = """
  const part = c => { const v = c / 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const rgb = text => text.match(/[\\d.]+/g).map(n => Number(n) * (text.startsWith('color') ? 255 : 1));
  const light = c => 0.2126 * part(c[0]) + 0.7152 * part(c[1]) + 0.0722 * part(c[2]);
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
"""

CONTRAST = (
    "() => {"
    + LUMINANCE
    + """
  const behind = node => {
    for (; node; node = node.parentElement) {
      const colour = rgb(getComputedStyle(node).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const hasText = node => [...node.childNodes].some(one => one.nodeType === 3 && one.textContent.trim());
  let worst = [99, ''];
  for (const node of document.querySelectorAll('main *, header *')) {
    const svg = node.closest('svg'), style = getComputedStyle(node);
    if (!hasText(node) || !node.getClientRects().length || node.closest('.stem')) continue;
    const got = ratio(rgb(svg ? style.fill : style.color), behind(svg ? svg.parentElement : node));
    if (got < worst[0]) worst = [got, node.outerHTML.slice(0, 90)];
  }
  return worst;
}"""
)

SQUARES = (
    "() => {"
    + LUMINANCE
    + """
  const paper = rgb(getComputedStyle(document.body).backgroundColor);
  const squares = [...document.querySelectorAll('#finding .legend .square:not(.unmeasured) rect')];
  return Math.min(...squares.map(rect => ratio(rgb(getComputedStyle(rect).fill), paper)));
}"""
)
