import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from eventcargo import EventDataset, EventSequence, LabelGraph
from eventcargo.errors import DataError, EventCargoWarning
from eventcargo.report import ReportInput, write_report
from eventcargo.report.page import render
from eventcargo.report.page_data import build_page_data

from .material import HOSTILE, garage, hostile

BLOCK = re.compile(r'<script type="application/json" id="([\w-]+)">(.*?)</script>', re.DOTALL)


def blocks(page: str) -> dict[str, object]:
    return {name: json.loads(text) for name, text in BLOCK.findall(page)}


def test_the_page_holds_the_digest() -> None:
    content = build_page_data(garage(), max_sequences=8)
    found = blocks(render(content).decode())
    assert found["overview"] == content.overview
    assert [found[f"part-{at}"] for at in range(3)] == content.labels


def test_hostile_names_are_nothing_but_data() -> None:
    page = render(build_page_data(hostile(), max_sequences=8)).decode()
    assert page.count("<script") == page.count("</script>") == 2 + len(HOSTILE)
    assert "<img" not in page
    assert "<!--" not in page


def test_hostile_names_come_back_whole() -> None:
    found = blocks(render(build_page_data(hostile(), max_sequences=8)).decode())["overview"]
    assert isinstance(found, dict)
    assert {line["name"] for line in found["labels"]} == set(HOSTILE)


def test_the_policy_allows_this_script_and_this_style_alone() -> None:
    page = render(build_page_data(garage(), max_sequences=8)).decode()
    for tag in ("script", "style"):
        text = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[-1]
        mark = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{mark}'" in page


def test_the_page_names_no_address_to_fetch_from() -> None:
    page = render(build_page_data(garage(), max_sequences=8)).decode()
    assert set(re.findall(r"https?://[\w./]+", page)) == {"http://www.w3.org/2000/svg"}


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        write_report(tmp_path / name, garage())
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_fewer_sequences_are_shown_where_the_page_would_be_too_large(tmp_path: Path) -> None:
    whole, fewer = (len(render(build_page_data(hostile(), max_sequences))) for max_sequences in (8, 0))
    write_report(tmp_path / "report.html", hostile(), limit=(whole + fewer) // 2)
    found = blocks((tmp_path / "report.html").read_text("utf-8"))
    overview = found["overview"]
    assert isinstance(overview, dict)
    assert overview["most"] < 8
    assert (tmp_path / "report.html").stat().st_size <= (whole + fewer) // 2


def test_a_page_that_is_too_large_without_sequences_is_warned_of(tmp_path: Path) -> None:
    with pytest.warns(EventCargoWarning, match="more than 1,000, even without sequences"):
        write_report(tmp_path / "report.html", garage(), limit=1000)
    assert (tmp_path / "report.html").exists()


def test_a_name_that_no_file_can_hold_is_refused(tmp_path: Path) -> None:
    data = EventDataset.from_sequences([EventSequence("s1", ("A",), (0.0,), ())])
    content = ReportInput(LabelGraph.from_boundaries({"bad\ud800": []}), data)
    with pytest.raises(DataError, match=r"bad\\ud800"):
        write_report(tmp_path / "report.html", content)
    assert list(tmp_path.iterdir()) == []
