from typing import Any

import polars as pl
import pytest

from eventcargo import EventDataset, EventSequence, LabelGraph, evaluate
from eventcargo.evaluation import (
    Scores,
    coverage_ceiling,
    most_frequent,
    predict_all,
)

EDGES = [("brake", "a", 1), ("brake", "b", -1), ("brake", "z", 1), ("fuel", "c", 1), ("fuel", "c2", -1)]
TRUTH = LabelGraph.from_edges(
    pl.DataFrame(EDGES, ["label", "event", "sign"], orient="row"), {"brake": 3, "fuel": 1, "none": 0}
)


def _first_letter(name: str) -> str:
    return name[0]


def _every_event(data: EventDataset) -> LabelGraph:
    used = sorted({event for sequence in data for event in sequence.events})
    return LabelGraph.from_boundaries(dict.fromkeys(TRUTH.labels, used))


def _every_edge(data: EventDataset) -> pl.DataFrame:
    edges = {(s.id, label, event) for s in data for label in s.labels for event in s.events}
    return pl.DataFrame(sorted(edges), ["sequence", "label", "event"], orient="row")


def _same(left: Scores, right: Scores) -> bool:
    return left.to_dict() == right.to_dict()


@pytest.mark.parametrize("negated", [True, False])
@pytest.mark.parametrize("event_of", [None, _first_letter])
def test_predict_all_equals_the_graph_built(tiny: EventDataset, negated: bool, event_of: object) -> None:
    options: dict[str, Any] = {"negated": negated, "event_of": event_of}
    built = evaluate(_every_event(tiny), TRUTH, **options)
    assert _same(predict_all(tiny, TRUTH, **options), built)


def test_predict_all_counts_only_event_types_of_the_selection(tiny: EventDataset) -> None:
    scores = predict_all(tiny.select(["car1"]), TRUTH)
    assert scores.per_label["n_found"].to_list() == [1, 1, 1]


def _cooccurring() -> EventDataset:
    """With label l: c in three sequences, b and a in two, d in one; without it: d everywhere."""
    rows = [("abc", "l"), ("abcc", "l"), ("cd", "l"), ("d", ""), ("d", ""), ("ddd", "")]
    return EventDataset.from_sequences(
        [
            EventSequence(str(i), tuple(events), tuple(map(float, range(len(events)))), tuple(labels))
            for i, (events, labels) in enumerate(rows)
        ]
    )


def test_most_frequent_takes_as_many_as_the_truth_has() -> None:
    truth = LabelGraph.from_boundaries({"l": ["x", "y"], "never": ["x"], "none": []})
    graph = most_frequent(_cooccurring(), truth)
    assert graph.boundaries == {"l": ["c", "a"], "never": [], "none": []}


def test_most_frequent_gives_the_share_of_sequences_with_the_label() -> None:
    graph = most_frequent(_cooccurring(), LabelGraph.from_boundaries({"l": ["x", "y"]}))
    assert graph.edges["frequency"].to_list() == [1.0, 2 / 3]


def test_most_frequent_has_the_support_of_the_data() -> None:
    graph = most_frequent(_cooccurring(), LabelGraph.from_boundaries({"l": ["x"], "never": ["x"]}))
    assert graph.support == {"l": 3, "never": 0}


def test_most_frequent_never_takes_an_event_that_does_not_occur_there() -> None:
    truth = LabelGraph.from_boundaries({"l": list("uvwxyz")})
    assert sorted(most_frequent(_cooccurring(), truth).boundary("l")) == ["a", "b", "c", "d"]


def test_most_frequent_leaves_room_only_for_literals_that_count(tiny: EventDataset) -> None:
    sizes = {
        label: len(found) for label, found in most_frequent(tiny, TRUTH, negated=False).boundaries.items()
    }
    assert sizes == {"brake": 2, "fuel": 1, "none": 0}


def test_most_frequent_counts_merged_event_types_once() -> None:
    data = EventDataset.from_sequences(
        [
            EventSequence("s1", ("p1", "p2"), (0.0, 1.0), ("l",)),
            EventSequence("s2", ("q1",), (0.0,), ("l",)),
            EventSequence("s3", ("q2",), (0.0,), ("l",)),
        ]
    )
    graph = most_frequent(data, LabelGraph.from_boundaries({"l": ["p"]}), event_of=_first_letter)
    assert graph.boundary("l") == ["q"]


def test_ceiling_by_hand(tiny: EventDataset) -> None:
    hits = dict(coverage_ceiling(tiny, TRUTH).per_label.select("label", "n_hit").iter_rows())
    assert hits == {"brake": 2, "fuel": 0, "none": 0}


def test_ceiling_has_no_wrong_edge(tiny: EventDataset) -> None:
    assert coverage_ceiling(tiny, TRUTH).micro.precision == 1.0


def test_promoting_event_must_occur_with_the_label(tiny: EventDataset) -> None:
    truth = LabelGraph.from_boundaries({"fuel": ["a", "c"]})
    assert coverage_ceiling(tiny, truth).micro.recall == 0.5


def test_inhibiting_event_need_only_occur(tiny: EventDataset) -> None:
    edges = pl.DataFrame({"label": ["fuel"] * 2, "event": ["c", "never"], "sign": [-1, -1]})
    assert coverage_ceiling(tiny, LabelGraph.from_edges(edges)).micro.recall == 0.5


def test_inhibiting_event_must_occur_in_the_selection(tiny: EventDataset) -> None:
    edges = pl.DataFrame({"label": ["fuel"], "event": ["c"], "sign": [-1]})
    selected = tiny.select(["car1", "car2"])
    assert coverage_ceiling(selected, LabelGraph.from_edges(edges)).micro.recall == 0.0


def test_label_that_never_occurs_reaches_nothing(tiny: EventDataset) -> None:
    assert coverage_ceiling(tiny, LabelGraph.from_boundaries({"never": ["a"]})).micro.recall == 0.0


def test_ceiling_compares_mapped_names() -> None:
    data = EventDataset.from_sequences([EventSequence("s", ("p1",), (0.0,), ("l",))])
    truth = LabelGraph.from_boundaries({"l": ["p", "q"]})
    assert coverage_ceiling(data, truth, event_of=_first_letter).micro.recall == 0.5


def test_no_floor_is_above_the_ceiling(tiny: EventDataset) -> None:
    ceiling = coverage_ceiling(tiny, TRUTH)
    assert evaluate(most_frequent(tiny, TRUTH), TRUTH).micro.recall <= ceiling.micro.recall
