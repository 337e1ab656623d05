import json

import pytest

from eventcargo import ConfigError, EventDataset, LabelGraph, evaluate
from eventcargo.evaluation import Scores, cross_validate, summarise_folds

TRUTH = LabelGraph.from_boundaries({"odd": ["a", "b"]}, support={"odd": 5})


def _scores(*found: str, truth: LabelGraph = TRUTH) -> Scores:
    return evaluate(LabelGraph.from_boundaries({"odd": found}), truth)


def test_mean_and_spread_by_hand() -> None:
    summary = summarise_folds([_scores("a", "b"), _scores("a", "x"), _scores()])
    assert summary.table.rows()[0] == ("micro", "precision", 0.5, 0.5)


def test_every_average_has_every_measure() -> None:
    table = summarise_folds([_scores("a")]).table
    assert table.select("average", "measure").n_unique() == 9


def test_single_fold_has_no_spread() -> None:
    assert summarise_folds([_scores("a")]).table["sd"].null_count() == 9


def test_average_unknown_in_a_fold_is_unknown_in_the_summary() -> None:
    unknown = _scores("a", truth=LabelGraph.from_boundaries(TRUTH.boundaries))
    table = summarise_folds([_scores("a"), unknown]).table
    assert table.filter(table["mean"].is_null())["average"].unique().to_list() == ["weighted"]


def test_no_folds_are_refused() -> None:
    with pytest.raises(ConfigError, match="0 folds"):
        summarise_folds([])


def test_dictionary_survives_json() -> None:
    content = summarise_folds([_scores("a"), _scores()]).to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["n_folds"] == 2


def test_method_sees_every_sequence_in_one_fold(hundred: EventDataset) -> None:
    seen: list[str] = []

    def method(fold: EventDataset) -> LabelGraph:
        seen.extend(sequence.id for sequence in fold)
        return TRUTH

    cross_validate(method, hundred, TRUTH)
    assert sorted(seen) == [sequence.id for sequence in hundred]


def test_there_are_six_folds_by_default(hundred: EventDataset) -> None:
    assert len(cross_validate(lambda _: TRUTH, hundred, TRUTH).folds) == 6


def test_weights_are_counted_in_the_fold(hundred: EventDataset) -> None:
    summary = cross_validate(lambda _: TRUTH, hundred, TRUTH, k=4, seed=2)
    expected = [int(fold.support[0]) for _, fold in hundred.folds(4, seed=2)]
    assert [scores.per_label["support"][0] for scores in summary.folds] == expected


def _first_event(fold: EventDataset) -> LabelGraph:
    return LabelGraph.from_boundaries({"odd": [fold[0].events[0], fold[0].id]})


def test_same_seed_gives_the_same_result(hundred: EventDataset) -> None:
    truth = LabelGraph.from_boundaries({"odd": [sequence.id for sequence in hundred[:4]]})
    first, second = (cross_validate(_first_event, hundred, truth, seed=1).to_dict() for _ in range(2))
    assert first == second


def test_options_reach_the_evaluation(hundred: EventDataset) -> None:
    found = LabelGraph.from_boundaries({"odd": ["A", "B"]})
    summary = cross_validate(lambda _: found, hundred, TRUTH, k=2, event_of=str.lower)
    assert summary.table.rows()[0] == ("micro", "precision", 1.0, 0.0)
