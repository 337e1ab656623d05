"""The picture of the finding, from 2 to 474 labels, in real Chromium."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Open = Callable[..., Any]


TAP = """square => {
  const {x, y} = square.getBoundingClientRect();
  const tap = {bubbles: true, pointerType: 'touch', clientX: x + 3, clientY: y + 3};
  square.dispatchEvent(new PointerEvent('click', tap));
}"""


def words(page: Any) -> str:
    return page.locator("#picture-words").inner_text()


def test_the_picture_comes_before_everything_else(opened: Open) -> None:
    page = opened()
    assert page.locator("section h2").first.inner_text() == "What causes what"
    assert page.locator(".squares .square").count() == 3
    assert page.locator(".row-name title").all_text_contents() == ["fuel", "brake"]
    assert "1 label without a cause is not in the picture." in page.locator(".picture-note").inner_text()


def test_a_square_has_the_colour_of_its_sign_and_the_size_of_its_odds(opened: Open) -> None:
    page = opened("clinic")
    kinds = [each.get_attribute("class") for each in page.locator(".squares .square").all()]
    assert sorted(kinds) == ["square inhibits step-1", "square promotes step-0", "square promotes step-1"]
    sides = [float(each.get_attribute("width")) for each in page.locator(".squares .square rect").all()]
    assert len({round(side, 3) for side in sides}) == 2
    assert "odds unknown" not in page.locator("#finding .legend").inner_text()


def test_a_square_of_unknown_odds_is_hollow_and_the_legend_says_so(opened: Open) -> None:
    page = opened()
    assert page.locator(".squares .square.unmeasured").count() == 1
    assert "odds unknown" in page.locator("#finding .legend").inner_text()


def test_pointing_at_a_square_says_the_cause_in_words(opened: Open) -> None:
    page = opened()
    page.locator(".squares .square.inhibits").hover()
    assert words(page) == (
        "U02 lowers brake. Odds \u00d70.21 (95 % interval <0.001 to 0.95). "
        "0 of 1 sequences with it carry the label; without it, 2 of 4."
    )


def test_a_click_on_a_square_leads_to_its_label_and_back_leads_back(opened: Open) -> None:
    page = opened()
    page.locator(".squares .square.inhibits").click()
    page.locator("h1", has_text="brake").wait_for()
    page.go_back()
    page.locator(".squares .square").first.wait_for()


def test_the_names_of_the_picture_lead_to_label_and_event_type(opened: Open) -> None:
    page = opened()
    page.locator(".column-name", has_text="K03").click()
    page.locator("h1", has_text="K03").wait_for()
    page.go_back()
    page.locator(".row-name", has_text="fuel").click()
    page.locator("h1", has_text="fuel").wait_for()


def test_the_picture_is_read_and_left_by_keyboard_alone(opened: Open) -> None:
    page = opened()
    page.locator(".picture").focus()
    page.keyboard.press("ArrowRight")
    assert words(page).startswith("K03 raises fuel. 1 of 2 sequences")
    page.keyboard.press("ArrowUp")
    assert words(page) == "K03 acts on 1 label; in 2 sequences."
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert words(page).startswith("P01 raises brake. Odds")
    page.keyboard.press("ArrowRight")
    assert words(page).startswith("U02 lowers brake. Odds")
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    assert words(page) == "brake: 2 causes; carried by 2 of 5 sequences."
    page.keyboard.press("Enter")
    page.locator("h1", has_text="brake").wait_for()


def test_a_finger_reads_first_and_opens_second(opened: Open) -> None:
    page = opened(width=390)
    square = page.locator(".squares .square rect").first
    square.evaluate(TAP)
    assert words(page).startswith("K03 raises fuel.")
    assert page.locator("h1").inner_text() == "3 causes of 2 labels"
    square.evaluate(TAP)
    page.locator("h1", has_text="fuel").wait_for()


@pytest.mark.parametrize("width", [390, 1400])
def test_474_labels_start_with_what_can_be_read(opened: Open, width: int) -> None:
    page = opened("large", width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shown, rows = page.locator(".column-name").count(), page.locator(".row-name").count()
    assert 10 <= min(shown, rows) <= 60
    assert page.locator(".shared li").count() == 8
    note = page.locator(".picture-note").inner_text()
    assert "Shown: " in note
    assert "more event types act on fewer labels" in note
    size = page.locator(".row-name").first.evaluate("name => name.getBoundingClientRect().height")
    assert size >= 10


def test_474_labels_can_all_be_seen_and_zoomed_into(opened: Open) -> None:
    page = opened("large", width=1400)
    page.select_option("#least-labels", "1")
    everything = page.locator(".squares .square").count()
    assert everything > 2000
    page.click("[aria-label='Fit the whole picture']")
    inner, room = page.locator(".picture-inner").bounding_box(), page.locator(".picture").bounding_box()
    assert inner["width"] <= room["width"]
    assert inner["height"] <= room["height"]
    assert page.locator(".row-name").count() == 0
    for _ in range(6):
        page.click("[aria-label='Zoom in']")
    assert page.locator(".row-name").count() >= 474
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400


def test_keys_keep_the_chosen_square_in_view(opened: Open) -> None:
    page = opened("large", width=1400)
    page.locator(".picture").focus()
    for _ in range(40):
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
    ring, room = page.locator(".ring").bounding_box(), page.locator(".picture").bounding_box()
    assert room["y"] - 2 <= ring["y"] <= room["y"] + room["height"]
    assert room["x"] - 2 <= ring["x"] <= room["x"] + room["width"]


def test_a_page_of_474_labels_and_29100_event_types_is_small_and_holds_them_all(
    opened: Open, addresses: dict[str, str]
) -> None:
    size = Path(addresses["large"].removeprefix("file://")).stat().st_size
    assert size < 3_000_000
    page = opened("large")
    assert page.evaluate("document.querySelectorAll('*').length") < 30_000
    page.fill("#search", "E29099")
    assert "E29099" in page.locator("#found").inner_text()
