import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

import matplotlib
import polars as pl
import pytest
from matplotlib.colors import to_hex

from eventcargo import ConfigError, LabelGraph
from eventcargo.figures import FARTHEST, MAX_ROWS, SIGNS

EDGES = pl.DataFrame(
    {
        "label": ["brake", "brake", "fuel"],
        "event": ["P01", "U02", "P01"],
        "sign": [1, -1, None],
        "odds_ratio": [4.0, 1e9, None],
        "odds_low": [2.0, 1e8, None],
        "odds_high": [8.0, 1e10, None],
    }
)


@pytest.fixture
def graph() -> LabelGraph:
    return LabelGraph.from_edges(EDGES, {"brake": 7, "fuel": 9, "light": None})


@pytest.fixture(autouse=True)
def no_window() -> Iterator[None]:
    """Figures of pyplot are closed after each test, and none may be shown."""
    matplotlib.use("agg")
    from matplotlib import pyplot

    with patch.object(pyplot, "show", side_effect=AssertionError("a window was opened")):
        yield
    pyplot.close("all")


def rows(axes: Any) -> list[str]:
    return [tick.get_text() for tick in axes.get_yticklabels()]


def dots(axes: Any) -> list[tuple[float, float, str]]:
    """Place, row and colour of every cause."""
    return [
        (line.get_xdata()[0], line.get_ydata()[0], line.get_color())
        for line in axes.lines
        if line.get_marker() == "o"
    ]


def test_every_label_has_a_row_and_its_causes_follow(graph: LabelGraph) -> None:
    assert rows(graph.plot()) == ["fuel", "P01", "brake", "P01", "U02", "light: no cause found"]


def test_a_cause_stands_at_its_odds_ratio_in_the_colour_of_its_sign(graph: LabelGraph) -> None:
    axes = graph.plot(labels=["brake"])
    assert dots(axes) == [(4.0, 1, SIGNS[1][0]), (FARTHEST, 2, SIGNS[-1][0])]
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["promotes", "inhibits"]


def test_intervals_end_at_the_edge_of_the_figure(graph: LabelGraph) -> None:
    ends = [
        tuple(line.get_xdata()) for line in graph.plot(labels=["brake"]).lines if len(line.get_xdata()) == 2
    ]
    assert {(2.0, 8.0), (FARTHEST, FARTHEST)} <= set(ends)


def test_labels_are_bold_and_causes_are_described(graph: LabelGraph) -> None:
    ticks = graph.with_kinds({"P01": ("P011", "P012")}).plot(labels=["brake"]).get_yticklabels()
    assert [tick.get_fontweight() for tick in ticks] == ["bold", "normal", "normal"]
    assert "P011" in ticks[1].get_text()


def test_a_cause_without_an_odds_ratio_says_so(graph: LabelGraph) -> None:
    axes = graph.plot()
    assert [(text.get_position()[1], text.get_text()) for text in axes.texts] == [(1, "not known")]


def test_it_draws_on_axes_that_are_given(graph: LabelGraph) -> None:
    from matplotlib.figure import Figure

    mine = Figure().subplots()
    assert graph.plot(ax=mine) is mine
    assert rows(mine)[0] == "fuel"


def test_an_unknown_label_is_refused_by_name(graph: LabelGraph) -> None:
    with pytest.raises(KeyError, match="no label 'wheel' among 3"):
        graph.plot(labels=["wheel"])


def test_a_graph_without_numbers_shows_its_names_alone() -> None:
    axes = LabelGraph.from_boundaries({"brake": ["P01"]}).plot()
    assert rows(axes) == ["brake", "P01"]
    assert not axes.get_xticks().size


def test_an_empty_graph_can_be_drawn(tmp_path: Path) -> None:
    LabelGraph.from_boundaries({}).figure().write(tmp_path / "a.png", "png")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"


def test_a_large_graph_is_a_matrix_with_shared_causes_first() -> None:
    boundaries = {f"L{at:03}": [f"E{at:03}", "shared"] for at in range(MAX_ROWS // 2)}
    axes = LabelGraph.from_boundaries(boundaries).plot()
    assert [tick.get_text() for tick in axes.get_xticklabels()][:2] == ["shared", "E000"]
    assert sum(len(points.get_offsets()) for points in axes.collections) == 2 * len(boundaries)


def test_a_matrix_has_each_edge_at_its_label_and_event_type_in_the_colour_of_its_sign() -> None:
    names = [f"$L{at:03}$" for at in range(MAX_ROWS)]
    edges = pl.DataFrame(
        {"label": [names[0], names[2], names[2]], "event": ["$E$", "$E$", "F"], "sign": [1, 0, -1]}
    )
    axes = LabelGraph.from_edges(edges, dict.fromkeys(names, 1)).plot()
    points = {
        to_hex(own.get_facecolor()[0]): own.get_offsets().tolist()
        for own in axes.collections
        if len(own.get_offsets())
    }
    assert points == {SIGNS[1][0]: [[0, 0]], SIGNS[None][0]: [[0, 2]], SIGNS[-1][0]: [[1, 2]]}
    ticks = [*axes.get_xticklabels(), *axes.get_yticklabels()]
    assert [tick.get_text() for tick in ticks][:3] == ["$E$", "F", "$L000$"]
    assert not any(tick.get_parse_math() for tick in ticks)  # `$` starts no formula


def test_a_matrix_of_hundreds_counts_instead_of_naming(tmp_path: Path) -> None:
    graph = LabelGraph.from_boundaries({f"L{at}": [f"E{at}"] for at in range(300)})
    axes = graph.plot()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("300 event types", "300 labels")
    assert max(axes.figure.get_size_inches()) <= 20


def test_names_are_drawn_as_they_are(tmp_path: Path) -> None:
    hostile = "$x^2$ </text><script>alert(1)</script>"
    LabelGraph.from_boundaries({hostile: ["a\x00b\nc", "$\\frac$"]}).figure().write(tmp_path / "a.svg", "svg")
    texts = [node.text for node in ElementTree.parse(tmp_path / "a.svg").iter() if node.tag.endswith("text")]
    assert hostile in texts
    assert "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c" in texts
    assert "$\\frac$" in texts


@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_same_graph_gives_the_same_file(graph: LabelGraph, tmp_path: Path, form: Any) -> None:
    for name in "ab":
        graph.figure().write(tmp_path / name, form)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_without_matplotlib_the_extra_is_named(graph: LabelGraph) -> None:
    with (
        patch.dict(sys.modules, {"matplotlib": None}),
        pytest.raises(ConfigError, match=r"eventcargo\[figures\]"),
    ):
        graph.plot()
