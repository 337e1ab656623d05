"""The page as a person uses it, in real Chromium."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from .material import HOSTILE

Open = Callable[..., Any]

GO_TO = """name => new Promise(done => {
  addEventListener('hashchange', () => done(), {once: true});
  location.hash = 'label=' + encodeURIComponent(name);
})"""
"""Opens a label by its address, and ends when the page has followed."""


def names(page: Any) -> list[str]:
    return page.locator("#labels tbody th").all_inner_texts()


def open_sequence(page: Any, name: str = "") -> list[list[str]]:
    """Open the first sequence of this name and give the words of its events."""
    page.locator("summary", has_text=name).first.click()
    page.locator("details[open] .event").first.wait_for()
    return [text.split() for text in page.locator("details[open] .event").all_inner_texts()]


def test_the_overview_says_what_was_found_and_whether_to_believe_it(opened: Open) -> None:
    page = opened()
    assert page.locator("h1").inner_text() == "3 causes of 2 labels"
    assert page.locator(".tile-count").all_inner_texts() == ["●1", "◐1", "○1"]
    assert "no better than the base rate" in page.locator(".reasons").inner_text()


def test_the_overview_says_how_the_sequences_were_cut(opened: Open) -> None:
    assert opened().locator("#cohort").inner_text() == "Cohort: 12 cases, 36 controls, look-back 30d."
    assert opened("hostile").locator("#cohort").count() == 0


def test_the_overview_says_what_was_run_and_how_good_the_models_are(opened: Open) -> None:
    page = opened()
    assert "a garage" in page.locator(".about").inner_text()
    page.click("#views a >> text=Models")
    page.locator("h1", has_text="Models").wait_for()
    assert "0.910" in page.locator(".figures").inner_text()
    assert page.locator(".narrow-table tbody tr").inner_text().split() == ["brake", "2", "0.97", "0.990"]


def test_the_overview_says_what_training_cost_and_what_was_left_out(opened: Open) -> None:
    page = opened(route="#view=models")
    words = " ".join(page.locator(".note").all_inner_texts())
    assert "The linear term and focused networks, which help 1 label, took 3 s, " in words
    assert "100 steps of the Transformer, which helps 1 label, 41 s." in words
    assert "nothing but the base rate was fitted for 1 label: <b>horn</b>." in words


def test_the_table_narrows_to_a_label(opened: Open) -> None:
    page = opened()
    page.fill("#filter", "hor")
    assert names(page) == ["horn"]
    assert page.locator(".tools [role=status]").inner_text() == "1 of 3 labels"


def test_the_table_narrows_to_the_labels_that_an_event_type_causes(opened: Open) -> None:
    page = opened()
    page.fill("#filter", "k03")
    assert names(page) == ["fuel"]


def test_a_table_without_a_match_says_so(opened: Open) -> None:
    page = opened()
    page.fill("#filter", "nothing of the kind")
    assert names(page) == []
    assert page.locator(".tools [role=status]").inner_text() == "No label or event type matches."


def test_a_verdict_narrows_the_table_and_gives_it_back(opened: Open) -> None:
    page = opened()
    page.click(".tile.doubt")
    assert names(page) == ["horn"]
    assert page.get_attribute(".tile.doubt", "aria-pressed") == "true"
    page.click(".tile.doubt")
    assert len(names(page)) == 3


def test_the_table_is_sorted_by_a_click_and_turned_by_another(opened: Open) -> None:
    page = opened()
    title = page.locator("th", has_text="Label")
    title.locator("button").click()
    assert (names(page), title.get_attribute("aria-sort")) == (["brake", "fuel", "horn"], "ascending")
    title.locator("button").click()
    assert (names(page), title.get_attribute("aria-sort")) == (["horn", "fuel", "brake"], "descending")


def test_what_is_unknown_is_sorted_last_either_way(opened: Open) -> None:
    page = opened()
    button = page.locator("th", has_text="Rule").locator("button")
    for _ in range(2):
        button.click()
        assert names(page)[0] == "brake"


def test_a_label_is_found_and_opened_by_keyboard_alone(opened: Open) -> None:
    page = opened()
    for key in ("/", "f", "u", "e", "Enter"):
        page.keyboard.press(key)
    page.locator("h1", has_text="fuel").wait_for()
    assert page.evaluate("document.activeElement.tagName") == "H1"


def test_the_narrowed_table_is_kept_while_a_label_is_looked_at(opened: Open) -> None:
    page = opened()
    page.fill("#filter", "brake")
    page.click("#labels tbody th a")
    page.go_back()
    page.wait_for_selector("#labels")
    assert (names(page), page.input_value("#filter")) == (["brake"], "brake")


def test_a_label_shows_its_causes_with_sign_and_the_figures_behind_them(opened: Open) -> None:
    page = opened(route="#label=brake")
    assert page.locator(".forest-table .who .mark").all_text_contents() == ["+", "\u2212"]
    page.click(".more-figures summary")
    cells = page.locator(".more-figures tbody tr").first.inner_text()
    assert "P01" in cells
    assert "80 % (60 % to 95 %)" in cells
    weights = page.locator("td[data-title=Weight]").all_inner_texts()
    assert weights == ["strong", "weak"]


def test_a_label_shows_its_rule(opened: Open) -> None:
    page = opened(route="#label=brake")
    assert page.locator(".big-rule").inner_text() == "P01 & !U02"
    assert page.locator(".big-rule + .note").inner_text().startswith("The model knows more")


def test_a_label_shows_its_verdict_with_reasons(opened: Open) -> None:
    page = opened(route="#label=fuel")
    assert "few sequences: 2" in page.locator(".banner.caution").inner_text()


def test_a_label_shows_what_speaks_for_more_causes(opened: Open) -> None:
    banner = opened(route="#label=brake").locator(".banner.trust")
    assert banner.locator("h3").inner_text() == "Is that all? Perhaps not:"
    assert banner.locator("li").all_inner_texts() == ["X07 is not in the boundary", "<i>explains</i> 16%"]


def test_a_label_of_which_nothing_is_missing_is_not_asked_about(opened: Open) -> None:
    assert "Is that all?" not in opened(route="#label=fuel").locator(".banner").inner_text()


def test_the_overview_counts_the_labels_of_which_causes_may_be_missing(opened: Open) -> None:
    said = opened().locator("#incomplete").inner_text()
    assert said == "Is that all? Perhaps not for 1 label; open it to read why."


def test_a_label_without_causes_and_sequences_says_so(opened: Open) -> None:
    page = opened(route="#label=horn")
    assert "None found." in page.locator("main").inner_text()
    assert "No single sequence shows a cause" in page.locator("main").inner_text()


def test_boundaries_are_compared_with_the_baseline(opened: Open) -> None:
    page = opened(route="#label=brake")
    found = [column.locator(".name").all_inner_texts() for column in page.locator(".column").all()]
    assert found == [["P01"], ["U02"], ["X07"]]


def test_a_sequence_is_opened_and_every_event_is_there(opened: Open) -> None:
    page = opened(route="#label=brake")
    assert open_sequence(page, "car1") == [
        ["+", "P01", "+0.90"],
        ["X07"],
        ["+", "P01", "+0.90"],
        ["K03"],
    ]


def test_what_lowers_a_label_hangs_below_the_line(opened: Open) -> None:
    page = opened(route="#label=brake")
    drawing = page.locator("details", has_text="car3").locator(".timeline")
    axis, mark = (
        drawing.locator(".axis").bounding_box(),
        drawing.locator(".stem.inhibits rect").bounding_box(),
    )
    assert mark["y"] > axis["y"]


def test_either_of_two_is_said_below_the_sequence(opened: Open) -> None:
    page = opened("either", route="#label=brake")
    said = {
        name: page.locator("details", has_text=name).locator(".together").all_inner_texts()
        for name in ("car1", "car2", "car3")
    }
    two = "given the rest, either of these two would have been enough."
    three = "given the rest, any one of these three would have been enough."
    assert said == {
        "car1": [f"With neither P01 nor K03, the label would not have happened: {two}"],
        "car2": [f"U02 and U03 held the label off: {two}"],
        "car3": [f"U04, U03 and U02 held the label off: {three}"],
    }


def test_where_nothing_was_hidden_together_nothing_is_said_of_it(opened: Open) -> None:
    page = opened(route="#label=brake")
    assert page.locator(".together").count() == 0


def test_a_sequence_can_be_linked_to(opened: Open) -> None:
    page = opened(route="#label=brake&sequence=car3")
    assert page.locator("details[open]").get_attribute("data-id") == "car3"
    page.locator("details[open] .event").nth(2).wait_for()


def test_an_address_of_an_unknown_label_is_told(opened: Open) -> None:
    page = opened(route="#label=gone")
    assert "This report has no label gone" in page.locator("main").inner_text()


def test_hostile_labels_are_opened_and_shown_as_they_are(opened: Open) -> None:
    page = opened("hostile")
    for name in HOSTILE:
        page.evaluate(GO_TO, name)
        heading = page.locator("h1 .name")
        assert name in (heading.get_attribute("title"), heading.text_content())


def test_events_of_hostile_names_are_shown(opened: Open) -> None:
    page = opened("hostile", "#label=" + quote(HOSTILE[1], safe=""))
    assert len(open_sequence(page)) == len(HOSTILE)


def test_hostile_names_in_the_overview_are_text(opened: Open) -> None:
    page = opened("hostile")
    page.wait_for_timeout(50)
    assert HOSTILE[0] in names(page)
    assert page.locator("main img, main script").count() == 0


def test_a_click_on_a_hostile_label_leads_to_it(opened: Open) -> None:
    page = opened("hostile")
    page.locator("#labels th a", has_text="#label=x").first.click()
    page.wait_for_selector(".big-rule")
    assert page.locator("h1").text_content() == "#label=x&sequence=y%20+z"


@pytest.mark.parametrize(
    "route",
    ["", "#label=brake", "#label=" + quote(HOSTILE[-1]), "#event=" + quote(HOSTILE[-1]), "#view=models"],
)
@pytest.mark.parametrize("content", ["garage", "hostile"])
def test_a_phone_needs_no_scrolling_sideways(opened: Open, content: str, route: str) -> None:
    page = opened(content, route, width=360)
    if page.locator("summary").count():
        open_sequence(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_drawings_follow_the_width_of_the_window(opened: Open) -> None:
    page = opened(route="#label=brake")
    before = page.locator(".timeline").first.get_attribute("width")
    page.set_viewport_size({"width": 500, "height": 800})
    page.locator(f".timeline:not([width='{before}'])").first.wait_for()
    after = page.locator(".timeline").first.get_attribute("width")
    assert before is not None
    assert after is not None
    assert float(after) < float(before)


def test_the_page_is_dark_where_that_is_asked_for(opened: Open) -> None:
    paper = [
        opened(scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    assert paper == ["rgb(255, 255, 255)", "rgb(18, 22, 29)"]


def test_print_has_the_events_of_all_sequences(opened: Open) -> None:
    page = opened(route="#label=brake")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.querySelectorAll('.event').length") == 4 + 2 + 3


def test_print_leaves_out_what_paper_cannot_do(opened: Open) -> None:
    page = opened()
    page.emulate_media(media="print")
    assert not page.locator("#search").is_visible()
    assert page.locator("#finding .square").first.is_visible()
