"""A workbook is read back as Excel reads it: from the XML in its archive."""

import zipfile
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from eventcargo import DataError, EventCargoWarning, LabelGraph, write_graph
from eventcargo.io import workbooks
from eventcargo.io.workbooks import WIDEST, graph_sheets, write_workbook

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
HOSTILE = [
    '=HYPERLINK("http://x.y")',
    "+1+1",
    "-2",
    "@SUM(A1)",
    "http://evil.example",
    "<b>&",
    "007",
    "a\x00b",
]

Cells = list[list[str | float | None]]


def sheet_names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    return [sheet.attrib["name"] for sheet in book.iter(f"{MAIN}sheet")]


def sheet_xml(path: Path, number: int) -> ElementTree.Element:
    with zipfile.ZipFile(path) as archive:
        return ElementTree.fromstring(archive.read(f"xl/worksheets/sheet{number}.xml"))


def cells(path: Path, number: int) -> Cells:
    """The values of a sheet: text through the table of shared strings, and numbers."""
    with zipfile.ZipFile(path) as archive:
        shared = ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
    texts = ["".join(part.text or "" for part in one.iter(f"{MAIN}t")) for one in shared.iter(f"{MAIN}si")]

    def value(cell: ElementTree.Element) -> str | float | None:
        content = cell.find(f"{MAIN}v")
        if content is None or content.text is None:
            return None
        return texts[int(content.text)] if cell.get("t") == "s" else float(content.text)

    return [[value(cell) for cell in row] for row in sheet_xml(path, number).iter(f"{MAIN}row")]


def test_a_graph_is_a_sheet_of_edges_and_one_of_labels(tmp_path: Path) -> None:
    edges = pl.DataFrame({"label": ["brake", "brake"], "event": ["P01", "U02"], "odds_ratio": [4.25, None]})
    write_graph(LabelGraph.from_edges(edges, {"brake": 7, "fuel": None}), tmp_path / "graph.xlsx")
    assert sheet_names(tmp_path / "graph.xlsx") == ["edges", "labels"]
    assert cells(tmp_path / "graph.xlsx", 1) == [
        ["label", "event", "support", "odds_ratio"],
        ["brake", "P01", 7.0, 4.25],
        ["brake", "U02", 7.0, None],
    ]
    assert cells(tmp_path / "graph.xlsx", 2) == [
        ["label", "support", "causes", "boundary"],
        ["brake", 7.0, 2.0, "P01, U02"],
        ["fuel", None, 0.0, None],
    ]


def test_no_text_of_the_data_becomes_a_formula_a_link_or_a_number(tmp_path: Path) -> None:
    write_graph(LabelGraph.from_boundaries({"=1+1": HOSTILE}), tmp_path / "graph.xlsx")
    found = {row[1] for row in cells(tmp_path / "graph.xlsx", 1)[1:]}
    assert found == {name.replace("\x00", "_x0000_") for name in HOSTILE}
    for number in (1, 2):
        sheet = sheet_xml(tmp_path / "graph.xlsx", number)
        assert not list(sheet.iter(f"{MAIN}f"))
        assert not list(sheet.iter(f"{MAIN}hyperlink"))
    with zipfile.ZipFile(tmp_path / "graph.xlsx") as archive:
        assert not [name for name in archive.namelist() if "externalLink" in name]
        links = [archive.read(name) for name in archive.namelist() if name.endswith(".rels")]
    assert not [one for one in links if b"hyperlink" in one]


def test_the_header_stays_in_sight_and_columns_are_as_wide_as_their_text(tmp_path: Path) -> None:
    with (tmp_path / "a.xlsx").open("wb"):
        write_workbook(tmp_path / "a.xlsx", {"a": pl.DataFrame({"x": ["y" * 900], "z": ["short"]})})
    sheet = sheet_xml(tmp_path / "a.xlsx", 1)
    (pane,) = sheet.iter(f"{MAIN}pane")
    assert (pane.attrib["ySplit"], pane.attrib["state"]) == ("1", "frozen")
    wide, narrow = (float(column.attrib["width"]) for column in sheet.iter(f"{MAIN}col"))
    assert narrow < wide < WIDEST / 5


def test_infinite_numbers_become_empty_cells_and_are_counted(tmp_path: Path) -> None:
    table = pl.DataFrame({"label": ["a", "b", "c"], "odds": [1.0, float("inf"), float("nan")]})
    with pytest.warns(EventCargoWarning, match="2 infinite numbers of edges"):
        write_workbook(tmp_path / "a.xlsx", {"edges": table})
    assert [row[1] for row in cells(tmp_path / "a.xlsx", 1)] == ["odds", 1.0, None, None]


def test_what_a_sheet_cannot_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"event of edges has a text of 32,768; write Parquet or CSV"):
        write_graph(LabelGraph.from_boundaries({"a": ["x" * 32_768]}), tmp_path / "a.xlsx")
    monkeypatch.setattr(workbooks, "MAX_ROWS", 1)
    with pytest.raises(DataError, match="holds 1 rows, and edges has 2"):
        write_graph(LabelGraph.from_boundaries({"a": ["x", "y"]}), tmp_path / "a.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_the_same_graph_gives_the_same_workbook(tmp_path: Path) -> None:
    graph = LabelGraph.from_boundaries({"a": ["x"]})
    for name in ("a.xlsx", "b.xlsx"):
        write_graph(graph, tmp_path / name)
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:  # not the time at which it was written
        assert b">1980-01-01T00:00:00Z</dcterms:created>" in archive.read("docProps/core.xml")


def test_a_boundary_too_long_for_a_cell_is_cut() -> None:
    (boundary,) = graph_sheets(LabelGraph.from_boundaries({"a": [f"{at:06}" for at in range(9000)]}))[
        "labels"
    ]["boundary"]
    assert boundary.endswith("...")
