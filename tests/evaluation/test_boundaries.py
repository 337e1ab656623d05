import polars as pl
import pytest

from eventcargo import EventCargoWarning, LabelGraph, evaluate
from eventcargo.evaluation import Average

TRUTH = LabelGraph.from_boundaries(
    {"brake": ["a", "b", "c"], "fuel": ["d"], "none": []}, support={"brake": 6, "fuel": 3, "none": 1}
)
FOUND = LabelGraph.from_boundaries({"brake": ["a", "b", "x", "y"], "fuel": ["d"]})


def _without(graph: LabelGraph, label: str) -> LabelGraph:
    return LabelGraph.from_boundaries({k: v for k, v in graph.boundaries.items() if k != label})


def test_counts_by_hand() -> None:
    counts = evaluate(FOUND, TRUTH).per_label.select("label", "support", "n_true", "n_found", "n_hit")
    assert counts.rows() == [("brake", 6, 3, 4, 2), ("fuel", 3, 1, 1, 1), ("none", 1, 0, 0, 0)]


def test_averages_by_hand() -> None:
    scores = evaluate(FOUND, TRUTH)
    assert scores.micro == Average(3 / 5, 3 / 4, 6 / 9)
    assert scores.macro.precision == pytest.approx((0.5 + 1 + 1) / 3)
    assert scores.weighted is not None
    assert scores.weighted.recall == pytest.approx((6 * 2 / 3 + 3 + 1) / 10)


def test_label_missing_in_the_graph_is_an_empty_boundary() -> None:
    explicit = LabelGraph.from_boundaries({**FOUND.boundaries, "fuel": []})
    missing, empty = evaluate(_without(FOUND, "fuel"), TRUTH), evaluate(explicit, TRUTH)
    assert missing.to_dict() == empty.to_dict()
    assert missing.per_label["recall"].to_list()[1] == 0.0


def test_label_not_in_the_truth_is_warned_of_with_count_and_name() -> None:
    found = LabelGraph.from_boundaries({**FOUND.boundaries, "other": ["a"], "third": []})
    with pytest.warns(EventCargoWarning, match=r"2 of 4 labels of the graph.* the first: 'other'"):
        evaluate(found, TRUTH)


def test_label_not_in_the_truth_changes_no_score() -> None:
    found = LabelGraph.from_boundaries({**FOUND.boundaries, "other": ["a"]})
    with pytest.warns(EventCargoWarning):
        scores = evaluate(found, TRUTH)
    assert scores.to_dict() == evaluate(FOUND, TRUTH).to_dict()


def test_labels_asked_for_are_the_only_ones() -> None:
    found = LabelGraph.from_boundaries({**FOUND.boundaries, "other": ["a"]})
    assert evaluate(found, TRUTH, labels=["fuel"]).per_label["label"].to_list() == ["fuel"]


def test_unknown_support_gives_no_weighted_average() -> None:
    assert evaluate(FOUND, LabelGraph.from_boundaries(TRUTH.boundaries)).weighted is None


def _signed_truth() -> LabelGraph:
    return LabelGraph.from_edges(
        pl.DataFrame({"label": ["l"] * 3, "event": ["a", "b", "c"], "sign": [1, 1, -1]}), {"l": 1}
    )


def test_negated_literal_is_part_of_the_truth() -> None:
    scores = evaluate(LabelGraph.from_boundaries({"l": ["a", "b"]}), _signed_truth())
    assert scores.micro.recall == 2 / 3


def test_without_negated_a_missing_negated_literal_costs_nothing() -> None:
    scores = evaluate(LabelGraph.from_boundaries({"l": ["a", "b"]}), _signed_truth(), negated=False)
    assert scores.micro == Average(1.0, 1.0, 1.0)


def test_without_negated_a_found_negated_literal_costs_nothing() -> None:
    scores = evaluate(LabelGraph.from_boundaries({"l": ["a", "b", "c"]}), _signed_truth(), negated=False)
    assert scores.micro == Average(1.0, 1.0, 1.0)


def test_without_negated_a_wrong_edge_still_costs() -> None:
    scores = evaluate(LabelGraph.from_boundaries({"l": ["a", "b", "x"]}), _signed_truth(), negated=False)
    assert scores.micro.precision == 2 / 3


def test_negated_literal_of_another_label_is_a_wrong_edge() -> None:
    truth = LabelGraph.from_edges(
        pl.DataFrame({"label": ["l", "m"], "event": ["c", "a"], "sign": [-1, 1]}), {"l": 1, "m": 1}
    )
    scores = evaluate(LabelGraph.from_boundaries({"m": ["a", "c"]}), truth, negated=False, labels=["m"])
    assert scores.micro.precision == 0.5


def test_event_of_merges_edges_before_counting() -> None:
    truth = LabelGraph.from_boundaries({"l": ["pump", "valve"]}, support={"l": 1})
    found = LabelGraph.from_boundaries({"l": ["pump=on", "pump=off", "fan=on"]})
    scores = evaluate(found, truth, event_of=lambda name: name.split("=")[0])
    assert scores.per_label.select("n_true", "n_found", "n_hit").row(0) == (2, 2, 1)


def test_event_of_may_meet_an_empty_graph() -> None:
    scores = evaluate(LabelGraph.from_boundaries({}), TRUTH, event_of=str.upper)
    assert scores.micro == Average(0.0, 0.0, 0.0)
