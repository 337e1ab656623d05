import polars as pl
import pytest

from eventcargo import DataError, LabelGraph
from eventcargo.graphs import EDGE_SCHEMA, weight_of


def _edges(**columns: list[object]) -> pl.DataFrame:
    return pl.DataFrame(columns)


def test_boundary_has_the_strongest_event_first() -> None:
    edges = _edges(label=["l"] * 3, event=["weak", "strong", "middle"], strength=[0.1, 0.9, 0.5])
    assert LabelGraph.from_edges(edges).boundary("l") == ["strong", "middle", "weak"]


def test_the_surest_edge_comes_first() -> None:
    edges = _edges(
        label=["x"] * 4,
        event=["a", "b", "c", "d"],
        p_value=[0.1, None, 0.01, 0.1],
        gain=[1.0, 9.0, 2.0, 3.0],
        strength=[1.0, 9.0, 2.0, 0.5],
    )
    assert LabelGraph.from_edges(edges).boundary("x") == ["c", "d", "a", "b"]


def test_what_inhibits_is_no_less_than_what_promotes() -> None:
    edges = pl.DataFrame(
        {"label": ["x"] * 3, "event": ["a", "b", "c"], "sign": [-1, 1, None], "strength": [9, 1, 2]}
    )
    assert LabelGraph.from_edges(edges).boundary("x") == ["a", "c", "b"]


def test_a_gain_goes_before_a_strength() -> None:
    edges = pl.DataFrame(
        {"label": ["x"] * 3, "event": ["a", "b", "c"], "strength": [1.0, 3.0, 2.0], "gain": [2.0, 1.0, None]}
    )
    assert LabelGraph.from_edges(edges).boundary("x") == ["a", "b", "c"]


def test_equal_strengths_are_ordered_by_name() -> None:
    edges = _edges(label=["l"] * 3, event=["c", "a", "b"], strength=[0.5, 0.5, 0.5])
    assert LabelGraph.from_edges(edges).boundary("l") == ["a", "b", "c"]


def test_edge_of_unknown_strength_comes_last() -> None:
    edges = _edges(label=["l"] * 2, event=["a", "b"], strength=[None, 0.1])
    assert LabelGraph.from_edges(edges).boundary("l") == ["b", "a"]


def test_order_of_rows_changes_nothing() -> None:
    edges = _edges(label=["m", "l", "l"], event=["a", "b", "a"], strength=[0.1, 0.2, None])
    assert LabelGraph.from_edges(edges).edges.equals(LabelGraph.from_edges(edges.reverse()).edges)


def test_columns_that_are_not_given_are_null() -> None:
    edges = LabelGraph.from_edges(_edges(label=["l"], event=["a"])).edges
    assert dict(edges.schema) == EDGE_SCHEMA
    assert edges["p_value"].to_list() == [None]


@pytest.mark.parametrize("column", ["label", "event"])
def test_missing_column_is_refused_by_name(column: str) -> None:
    with pytest.raises(DataError, match=f"needs the column '{column}'"):
        LabelGraph.from_edges(_edges(label=["l"], event=["a"]).drop(column))


@pytest.mark.parametrize("column", ["label", "event"])
def test_null_is_refused_with_its_count(column: str) -> None:
    edges = _edges(label=["l", "l"], event=["a", "b"]).with_columns(pl.lit(None, pl.String).alias(column))
    with pytest.raises(DataError, match=f"2 edges without {column}"):
        LabelGraph.from_edges(edges)


def test_repeated_edge_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="2 rows repeat an edge, the first: 'l' <- 'a'"):
        LabelGraph.from_edges(_edges(label=["l", "l", "l"], event=["a", "b", "a"]))


def test_same_event_in_two_boundaries_is_no_repetition() -> None:
    graph = LabelGraph.from_boundaries({"l": ["a"], "m": ["a"]})
    assert graph.boundaries == {"l": ["a"], "m": ["a"]}


def test_empty_boundary_is_part_of_the_graph() -> None:
    graph = LabelGraph.from_boundaries({"m": [], "l": ["a"]})
    assert graph.labels == ["l", "m"]
    assert graph.boundary("m") == []


def test_graph_without_any_label_is_allowed() -> None:
    graph = LabelGraph.from_boundaries({})
    assert (len(graph), graph.labels) == (0, [])


def test_support_is_read_from_the_edges() -> None:
    edges = _edges(label=["l", "l"], event=["a", "b"], support=[7, None])
    assert LabelGraph.from_edges(edges).support == {"l": 7}


def test_given_support_goes_before_that_of_the_edges() -> None:
    edges = _edges(label=["l"], event=["a"], support=[7])
    assert LabelGraph.from_edges(edges, {"l": 8, "m": 1}).support == {"l": 8, "m": 1}


def test_two_supports_of_a_label_are_refused_with_both() -> None:
    edges = _edges(label=["l", "l"], event=["a", "b"], support=[7, 9])
    with pytest.raises(DataError, match="'l' has edges of support 7 and 9"):
        LabelGraph.from_edges(edges)


def test_unknown_label_is_refused_by_name() -> None:
    with pytest.raises(KeyError, match="no label 'x' among 1"):
        LabelGraph.from_boundaries({"l": []}).boundary("x")


def test_repr_counts_edges_labels_and_filled_boundaries() -> None:
    graph = LabelGraph.from_boundaries({"l": ["a", "b"], "m": []})
    assert repr(graph) == "LabelGraph: 2 edges into 2 labels, 1 with a boundary"


def test_a_graph_keeps_the_kinds_of_its_own_event_types_only():
    graph = LabelGraph.from_boundaries({"death": ["I50", "age >= 70"], "fall": ["I10"]})
    families = {"I50": ("I50.1",), "J18": ("J18.0",)}
    alternatives = {"death": {"age >= 70": {"age >= 60": 0.1}}, "fall": {"age >= 70": {"age >= 60": 0.2}}}
    described = graph.with_kinds(families, alternatives)
    assert described.families == {"I50": ("I50.1",)}
    assert described.alternatives == {"death": {"age >= 70": {"age >= 60": 0.1}}}


@pytest.mark.parametrize(
    ("members", "text"),
    [((), "I50"), (("I50.1",), "I50 (1 member: I50.1)"), (tuple("abcd"), "I50 (4 members: a, b, c, ...)")],
)
def test_a_family_is_described_with_its_members(members, text):
    graph = LabelGraph.from_boundaries({"death": ["I50"]})
    assert graph.with_kinds({"I50": members}).describe("I50") == text


@pytest.mark.parametrize(
    ("low", "high", "weight"),
    [
        (3.0, 9.0, "strong"),
        (2.99, 900.0, "moderate"),
        (1.5, 9.0, "moderate"),
        (1.49, 9.0, "weak"),
        (0.1, 9.0, "weak"),
        (0.1, 0.34, "moderate"),
        (0.1, 0.33, "strong"),
        (0.5, 0.67, "weak"),
        (0.0, 0.0, "strong"),
        (None, None, None),
    ],
)
def test_the_weight_of_an_edge_is_that_of_the_end_nearer_to_one(
    low: float | None, high: float | None, weight: str | None
) -> None:
    assert weight_of(low, high) == weight
