import polars as pl
import pytest

from eventcargo import ConfigError, DataError, EventDataset, LabelGraph
from eventcargo.evaluation import count_support
from eventcargo.evaluation.reference import Reference


def _signed(*edges: tuple[str, str, int | None]) -> LabelGraph:
    return LabelGraph.from_edges(pl.DataFrame(edges, ["label", "event", "sign"], orient="row"))


def _pairs(table: pl.DataFrame) -> list[tuple[str, str]]:
    return table.select("label", "event").rows()


TRUTH = _signed(("l", "a", 1), ("l", "b", -1), ("l", "c", None), ("l", "d", 0))


def test_all_edges_are_true_by_default() -> None:
    reference = Reference.from_truth(TRUTH)
    assert _pairs(reference.pairs) == [("l", "a"), ("l", "b"), ("l", "c"), ("l", "d")]
    assert len(reference.ignored) == 0


def test_only_sign_minus_one_is_ignored_without_negated() -> None:
    reference = Reference.from_truth(TRUTH, negated=False)
    assert _pairs(reference.ignored) == [("l", "b")]
    assert _pairs(reference.pairs) == [("l", "a"), ("l", "c"), ("l", "d")]


def test_merged_pair_of_both_signs_is_not_negated() -> None:
    truth = _signed(("l", "x=1", 1), ("l", "x=2", -1), ("l", "y=1", -1), ("l", "y=2", -1))
    reference = Reference.from_truth(truth, negated=False, event_of=lambda name: name[0])
    assert (_pairs(reference.pairs), _pairs(reference.ignored)) == ([("l", "x")], [("l", "y")])


def test_labels_asked_for_twice_count_once() -> None:
    assert Reference.from_truth(TRUTH, labels=["l", "l"]).labels["label"].to_list() == ["l"]


def test_unknown_label_is_refused_with_count_and_name() -> None:
    with pytest.raises(ConfigError, match=r"1 of 2 labels to evaluate .* the first: 'nope'"):
        Reference.from_truth(TRUTH, labels=["l", "nope"])


def test_truth_without_labels_is_refused() -> None:
    with pytest.raises(DataError, match="0 labels to evaluate"):
        Reference.from_truth(LabelGraph.from_boundaries({}))


def test_count_support_counts_in_the_data(tiny: EventDataset) -> None:
    truth = LabelGraph.from_boundaries({"brake": ["a"], "never": []}, support={"brake": 99})
    assert count_support(truth, tiny).support == {"brake": 3, "never": 0}


def test_count_support_renews_the_column_of_the_edges(tiny: EventDataset) -> None:
    edges = pl.DataFrame({"label": ["fuel"], "event": ["a"], "support": [99]})
    assert count_support(LabelGraph.from_edges(edges), tiny).edges["support"].to_list() == [1]
