"""The pages in Chromium: what is pasted is explained, and nothing else is fetched."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import uvicorn

from eventcargo.service import ServeConfig, ServedRun, create_app
from eventcargo.service.page import example, page_of_run
from eventcargo.service.sequences import Fields, Sent
from eventcargo.service.server import address_of, open_socket
from eventcargo.service.work_queue import WorkQueue

HOSTILE = "<img src=x onerror=alert(1)>"
SCHEMES = ("light", "dark")


@pytest.fixture(scope="module")
def address(chain: ServedRun, work: WorkQueue) -> Iterator[str]:
    """Where the service of the chain is."""
    config = ServeConfig(port=0)
    with open_socket(config) as listener:
        settings = uvicorn.Config(
            create_app(chain, config, work), log_level="error", ws="none", lifespan="off"
        )
        server = uvicorn.Server(settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield address_of(listener)
        server.should_exit = True
        thread.join()


@pytest.fixture
def opened(chromium: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Open a page; when the test ends nothing may have gone wrong in it, nor come from elsewhere."""
    trouble: list[str] = []
    asked: list[str] = []
    listeners = {
        "console": lambda said: trouble.append(f"console: {said.text}"),
        "pageerror": lambda error: trouble.append(f"error: {error}"),
        "dialog": lambda dialog: (trouble.append("a dialog opened"), dialog.dismiss()),
        "request": lambda request: asked.append(request.url),
    }
    for event, listener in listeners.items():
        chromium.on(event, listener)

    def open_page(path: str = "/", width: int = 1400, scheme: str = "light") -> Any:
        chromium.set_viewport_size({"width": width, "height": 900})
        chromium.emulate_media(color_scheme=scheme, media="screen")
        chromium.goto(address + path)
        return chromium

    yield open_page
    for event, listener in listeners.items():
        chromium.remove_listener(event, listener)
    refusals = "console: Failed to load resource: the server responded with a status of 422"
    assert [one for one in trouble if not one.startswith(refusals)] == []
    assert [url for url in asked if not url.startswith((address, "data:"))] == []


def explain(page: Any, pasted: str) -> str:
    """Paste something and ask; what the page says then."""
    page.fill("#pasted", pasted)
    page.click("#ask")
    page.wait_for_selector("#ask:not([disabled])")
    return str(page.inner_text("#status"))


def test_pasted_lines_are_explained(opened: Callable[..., Any]) -> None:
    page = opened()
    assert explain(page, "0, E00001\n1.5, E00003\n4, E00003\n") == "1 sequence explained."
    found = page.inner_text(".found")
    assert "L000" in found
    assert "Its rule holds: E00003" in found
    cells = page.locator(".found tbody tr").first.locator("th, td").all_inner_texts()
    assert cells[:3] == ["E00003", "1.5", "2"]
    assert "1 other label" in page.inner_text(".others")


def test_a_header_names_the_columns_and_ids_part_the_sequences(opened: Callable[..., Any]) -> None:
    page = opened()
    pasted = 'when;event;id\n2024-05-01T08:00:00Z;E00003;"car ""1"""\n2024-05-02;E00019;car 2\n'
    assert explain(page, pasted) == "2 sequences explained."
    assert page.locator(".asked h2 .name").all_inner_texts() == ['car "1"', "car 2"]
    assert page.locator(".found td[data-title=First]").first.inner_text() == "2024-05-01 08:00:00"


def test_json_is_sent_as_it_is(opened: Callable[..., Any]) -> None:
    page = opened()
    page.click("#example")
    assert json.loads(page.input_value("#pasted"))["id"] == "example"
    assert explain(page, page.input_value("#pasted")) == "1 sequence explained."


@pytest.mark.parametrize(
    ("pasted", "said"),
    [
        ("yesterday, E1", "[0].events[0].time is 'yesterday', not a date"),
        ("[", "the request is not JSON"),
        ("a,b,c,d,e", "give lines of event"),
        ('0, "E1', "line 1 has a quotation mark"),
    ],
)
def test_what_cannot_be_read_is_told_in_words(opened: Callable[..., Any], pasted: str, said: str) -> None:
    page = opened()
    assert said in explain(page, pasted)
    assert page.inner_text("#answer") == ""


def test_names_are_text_and_never_markup(opened: Callable[..., Any]) -> None:
    page = opened()
    pasted = json.dumps({"id": HOSTILE, "events": [{"name": HOSTILE}, {"name": "E00003"}]})
    assert explain(page, pasted) == "1 sequence explained."
    assert HOSTILE in page.inner_text("#answer")
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [390, 1400])
def test_pages_fit_their_window(opened: Callable[..., Any], width: int, scheme: str) -> None:
    page = opened(width=width, scheme=scheme)
    explain(page, f"0, E00003\n1, E00019\n2, {'W' * 200}\n")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page = opened("/docs", width, scheme)
    assert "POST /explain" in page.inner_text("main")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_example_is_one_that_the_run_can_read(clinic: ServedRun) -> None:
    fields = Fields(clinic.times, ("numeric_value",), clinic.attributes)
    shown = example(clinic, fields)
    assert [event["time"][:4] for event in shown["events"]] == ["2024"] * 3
    (one,) = clinic.predict(Sent.parse(shown, fields))["sequences"]
    assert one["id"] == "example"


def test_a_name_cannot_close_the_data_of_the_page(chain: ServedRun) -> None:
    named = replace(chain, folder=chain.folder.parent / "<script>")
    page = page_of_run(named, Fields()).content.decode()
    assert page.count("<script") == 2
