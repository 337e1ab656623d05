import json

import polars as pl
import pytest

from eventcargo.evaluation.scores import Average, score_labels, with_ratios


def _counts(*rows: tuple[str, int | None, int, int, int]) -> pl.DataFrame:
    columns = ["label", "support", "n_true", "n_found", "n_hit"]
    return pl.DataFrame(rows, columns, orient="row").with_columns(pl.col("support").cast(pl.Int64))


BY_HAND = _counts(("b", 3, 2, 4, 1), ("a", 1, 3, 3, 3))


@pytest.mark.parametrize(
    ("n_true", "n_found", "n_hit", "expected"),
    [
        (4, 5, 2, (0.4, 0.5, 4 / 9)),
        (2, 3, 0, (0.0, 0.0, 0.0)),
        (2, 0, 0, (0.0, 0.0, 0.0)),
        (0, 3, 0, (0.0, 1.0, 0.0)),
        (0, 0, 0, (1.0, 1.0, 1.0)),
    ],
    ids=["both filled", "no hit", "nothing found", "nothing true", "both empty"],
)
def test_ratios_by_hand(n_true: int, n_found: int, n_hit: int, expected: tuple[float, ...]) -> None:
    scored = with_ratios(_counts(("l", 1, n_true, n_found, n_hit)))
    assert scored.select("precision", "recall", "f1").row(0) == pytest.approx(expected)


def test_micro_pools_the_counts() -> None:
    assert score_labels(BY_HAND).micro == Average(4 / 7, 4 / 5, 8 / 12)


def test_macro_is_the_mean_over_labels() -> None:
    assert score_labels(BY_HAND).macro == Average((0.25 + 1) / 2, (0.5 + 1) / 2, (2 / 6 + 1) / 2)


def test_weighted_is_the_mean_by_support() -> None:
    weighted = score_labels(BY_HAND).weighted
    assert weighted is not None
    expected = ((3 * 0.25 + 1) / 4, (3 * 0.5 + 1) / 4, (3 * 2 / 6 + 1) / 4)
    assert (weighted.precision, weighted.recall, weighted.f1) == pytest.approx(expected)


def test_label_of_support_zero_has_no_weight() -> None:
    scores = score_labels(_counts(("a", 0, 1, 1, 0), ("b", 5, 1, 1, 1)))
    assert scores.weighted == Average(1.0, 1.0, 1.0)


def test_labels_are_sorted() -> None:
    assert score_labels(BY_HAND).per_label["label"].to_list() == ["a", "b"]


def test_unknown_support_gives_no_weighted_average_but_a_reason() -> None:
    scores = score_labels(_counts(("a", None, 1, 1, 1), ("b", 2, 1, 1, 1)))
    assert scores.weighted is None
    assert scores.weighted_note is not None
    assert "support of 1 of 2 labels is unknown" in scores.weighted_note


def test_no_support_at_all_gives_a_reason_too() -> None:
    scores = score_labels(_counts(("a", 0, 1, 1, 1)))
    assert (scores.weighted, scores.weighted_note) == (None, "the support is 0 for all of 1 label")


def test_known_support_needs_no_reason() -> None:
    assert score_labels(BY_HAND).weighted_note is None


def test_dictionary_survives_json() -> None:
    content = score_labels(_counts(("a", None, 2, 1, 1))).to_dict()
    again = json.loads(json.dumps(content, allow_nan=False))
    assert again == content
    assert again["micro"] == {"precision": 1.0, "recall": 0.5, "f1": 2 / 3}
    assert again["per_label"][0]["n_true"] == 2
