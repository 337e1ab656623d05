from itertools import pairwise

import polars as pl
import pytest

from eventcargo import DataError
from eventcargo.fusion import Votes, adaptive, select, static, union
from eventcargo.fusion.votes import COUNTS, GRAINS, SUPPORT


def ballot() -> Votes:
    """Frequencies of bad: x 0.5, y 0.25, z none; of rare: x 1."""
    rows = [
        ("bad", "x", 10, 12, 5 * GRAINS, 2 * GRAINS),
        ("bad", "y", 5, 20, 5 * GRAINS, -GRAINS),
        ("bad", "z", 0, 20, 0, 0),
        ("rare", "x", 1, 1, GRAINS, 0),
    ]
    tested = [("bad", 20), ("never", 0), ("rare", 1)]
    return Votes(
        "total",
        "present",
        pl.DataFrame(rows, schema=COUNTS, orient="row"),
        pl.DataFrame(tested, schema=SUPPORT, orient="row"),
    )


def test_an_edge_is_kept_from_its_threshold_on() -> None:
    graph = select(ballot(), static(ballot().support, 0.25))
    assert graph.boundary("bad") == ["y", "x"]


def test_an_edge_below_its_threshold_is_left_out() -> None:
    graph = select(ballot(), {"bad": 0.2500001, "rare": 0.0, "never": 0.0})
    assert graph.boundary("bad") == ["x"]


def test_union_keeps_every_edge_with_a_vote_and_no_other() -> None:
    graph = select(ballot(), union(ballot().support))
    assert graph.boundaries == {"bad": ["y", "x"], "never": [], "rare": ["x"]}


def pairs(votes: Votes, thresholds: dict[str, float]) -> set[tuple[str, str]]:
    return set(select(votes, thresholds).edges.select("label", "event").iter_rows())


def test_union_contains_the_adaptive_graph() -> None:
    votes = ballot()
    assert pairs(votes, adaptive(votes.support)) <= pairs(votes, union(votes.support))


def test_raising_a_static_threshold_never_adds_an_edge() -> None:
    votes = ballot()
    graphs = [pairs(votes, static(votes.support, tau)) for tau in (0.05, 0.25, 0.5, 0.8)]
    assert all(more >= less for more, less in pairwise(graphs))
    assert [len(graph) for graph in graphs] == [3, 3, 2, 1]


def test_an_edge_carries_its_evidence() -> None:
    graph = select(ballot(), static(ballot().support, 0.25))
    row = graph.edges.row(0, named=True)
    assert {name: row[name] for name in ("event", "sign", "frequency", "support", "threshold", "effect")} == {
        "event": "y",
        "sign": -1,
        "frequency": 0.25,
        "support": 20,
        "threshold": 0.25,
        "effect": -0.2,
    }


def test_labels_without_a_threshold_are_refused() -> None:
    with pytest.raises(DataError, match="2 of 3 labels have no threshold, the first: 'never'"):
        select(ballot(), {"bad": 0.5})
