import json

import polars as pl
import pytest

from eventcargo import DataError, EventCargoWarning, EventDataset, EventSequence, LabelGraph
from eventcargo.evaluation import evaluate_oneshot

TRUTH = LabelGraph.from_boundaries({"l": ["a", "b", "c"], "m": ["d"]})


def _sequence(name: str, events: str, labels: str) -> EventSequence:
    return EventSequence(name, tuple(events), tuple(map(float, range(len(events)))), tuple(labels))


@pytest.fixture
def data() -> EventDataset:
    """Units: (s1, l) true a b, (s1, m) true d, (s2, l) true a, (s3, m) nothing true; s4 carries none."""
    return EventDataset.from_sequences(
        [
            _sequence("s1", "abadx", "lm"),
            _sequence("s2", "axy", "l"),
            _sequence("s3", "xy", "m"),
            _sequence("s4", "abcd", ""),
        ]
    )


def _edges(*edges: tuple[str, str, str]) -> pl.DataFrame:
    columns = {"sequence": pl.String, "label": pl.String, "event": pl.String}
    return pl.DataFrame(edges, columns, orient="row")


FOUND = _edges(("s1", "l", "a"), ("s1", "l", "x"), ("s2", "l", "a"), ("s2", "l", "x"), ("s2", "l", "y"))
"""(s1, l): P 1/2 R 1/2 F1 1/2; (s1, m): nothing found, 0 0 0; (s2, l): P 1/3 R 1 F1 1/2."""


def test_truth_of_a_unit_is_what_occurs_there(data: EventDataset) -> None:
    per_label = evaluate_oneshot(FOUND, data, TRUTH).per_label
    counts = per_label.select("label", "support", "n_true", "n_found", "n_hit")
    assert counts.rows() == [("l", 2, 3, 5, 2), ("m", 1, 1, 0, 0)]


def test_measures_of_a_label_are_means_over_its_units(data: EventDataset) -> None:
    row = evaluate_oneshot(FOUND, data, TRUTH).per_label.select("precision", "recall", "f1").row(0)
    assert row == pytest.approx(((1 / 2 + 1 / 3) / 2, 3 / 4, 1 / 2))


def test_weighted_is_the_mean_over_units(data: EventDataset) -> None:
    weighted = evaluate_oneshot(FOUND, data, TRUTH).weighted
    assert weighted is not None
    expected = ((1 / 2 + 0 + 1 / 3) / 3, (1 / 2 + 0 + 1) / 3, (1 / 2 + 0 + 1 / 2) / 3)
    assert (weighted.precision, weighted.recall, weighted.f1) == pytest.approx(expected)


def test_macro_is_the_mean_over_labels(data: EventDataset) -> None:
    macro = evaluate_oneshot(FOUND, data, TRUTH).macro
    assert (macro.precision, macro.recall, macro.f1) == pytest.approx((5 / 24, 3 / 8, 1 / 4))


def test_micro_pools_the_counts_of_units(data: EventDataset) -> None:
    micro = evaluate_oneshot(FOUND, data, TRUTH).micro
    assert (micro.precision, micro.recall, micro.f1) == pytest.approx((2 / 5, 2 / 4, 4 / 9))


def test_unit_without_truth_is_left_out_and_counted(data: EventDataset) -> None:
    scores = evaluate_oneshot(FOUND, data, TRUTH)
    assert (scores.n_units, scores.n_empty) == (3, 1)


def test_edges_of_a_unit_without_truth_change_no_score(data: EventDataset) -> None:
    more = pl.concat([FOUND, _edges(("s3", "m", "x"))])
    assert evaluate_oneshot(more, data, TRUTH).to_dict() == evaluate_oneshot(FOUND, data, TRUTH).to_dict()


def test_event_flagged_at_two_positions_counts_once(data: EventDataset) -> None:
    twice = pl.concat([FOUND, FOUND]).with_row_index("position")
    assert evaluate_oneshot(twice, data, TRUTH).to_dict() == evaluate_oneshot(FOUND, data, TRUTH).to_dict()


@pytest.mark.parametrize(
    "edge", [("s9", "l", "a"), ("s4", "l", "a"), ("s1", "other", "a")], ids=["sequence", "carried", "truth"]
)
def test_edge_of_no_unit_is_warned_of_with_its_count(data: EventDataset, edge: tuple[str, str, str]) -> None:
    with pytest.warns(EventCargoWarning, match="left out 1 of 6 edges"):
        evaluate_oneshot(pl.concat([FOUND, _edges(edge)]), data, TRUTH)


def test_edge_of_no_unit_changes_no_score(data: EventDataset) -> None:
    with pytest.warns(EventCargoWarning):
        scores = evaluate_oneshot(pl.concat([FOUND, _edges(("s4", "l", "a"))]), data, TRUTH)
    assert scores.to_dict() == evaluate_oneshot(FOUND, data, TRUTH).to_dict()


def test_no_edges_at_all_score_zero(data: EventDataset) -> None:
    scores = evaluate_oneshot(_edges(), data, TRUTH)
    assert (scores.micro.f1, scores.macro.f1, scores.n_units) == (0.0, 0.0, 3)


def test_order_of_a_selection_changes_nothing(data: EventDataset) -> None:
    turned = data.select(["s3", "s2", "s4", "s1"])
    assert evaluate_oneshot(FOUND, turned, TRUTH).to_dict() == evaluate_oneshot(FOUND, data, TRUTH).to_dict()


def test_ignored_negated_literal_is_neither_true_nor_false(data: EventDataset) -> None:
    signed = TRUTH.edges.with_columns(sign=pl.when(pl.col("event") == "b").then(-1).otherwise(1))
    truth = LabelGraph.from_edges(signed)
    edges = _edges(("s1", "l", "a"), ("s1", "l", "b"), ("s2", "l", "a"), ("s1", "m", "d"))
    scores = evaluate_oneshot(edges, data, truth, negated=False)
    assert (scores.micro.precision, scores.micro.recall) == (1.0, 1.0)


def test_event_of_maps_data_truth_and_edges() -> None:
    data = EventDataset.from_sequences([EventSequence("s", ("p=1", "p=2", "q=1"), (0.0, 1.0, 2.0), ("l",))])
    truth = LabelGraph.from_boundaries({"l": ["p", "r"]})
    edges = _edges(("s", "l", "p=1"), ("s", "l", "p=2"), ("s", "l", "q=1"))
    scores = evaluate_oneshot(edges, data, truth, event_of=lambda name: name.split("=")[0])
    assert scores.per_label.select("n_true", "n_found", "n_hit").row(0) == (1, 2, 1)


def test_categorical_columns_are_names_too(data: EventDataset) -> None:
    categories = FOUND.with_columns(pl.all().cast(pl.Categorical))
    assert (
        evaluate_oneshot(categories, data, TRUTH).to_dict() == evaluate_oneshot(FOUND, data, TRUTH).to_dict()
    )


@pytest.mark.parametrize("column", ["sequence", "label", "event"])
def test_missing_column_is_refused_by_name(data: EventDataset, column: str) -> None:
    with pytest.raises(DataError, match=f"need the column '{column}'"):
        evaluate_oneshot(FOUND.drop(column), data, TRUTH)


def test_numbers_in_place_of_names_are_refused_with_their_type(data: EventDataset) -> None:
    with pytest.raises(DataError, match="'sequence' of the edges is Int32"):
        evaluate_oneshot(FOUND.with_columns(sequence=pl.lit(1)), data, TRUTH)


def test_null_is_refused_with_its_count(data: EventDataset) -> None:
    with pytest.raises(DataError, match="5 edges without event"):
        evaluate_oneshot(FOUND.with_columns(event=pl.lit(None, pl.String)), data, TRUTH)


def test_no_unit_with_a_truth_is_refused_with_the_count(data: EventDataset) -> None:
    with pytest.raises(DataError, match="of 2 sequences with a label of the truth, 0 have"):
        evaluate_oneshot(_edges(), data, LabelGraph.from_boundaries({"l": ["other name"]}))


def test_dictionary_survives_json_with_the_counts_of_units(data: EventDataset) -> None:
    content = json.loads(json.dumps(evaluate_oneshot(FOUND, data, TRUTH).to_dict(), allow_nan=False))
    assert (content["n_units"], content["n_empty"]) == (3, 1)
