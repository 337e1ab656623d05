import json

import pytest

from eventcargo import ConfigError, EventDataset, LabelGraph, evaluate
from eventcargo.evaluation import Scores, summarise_folds

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


def _first_event(fold: EventDataset) -> LabelGraph:
    return LabelGraph.from_boundaries({"odd": [fold[0].events[0], fold[0].id]})
