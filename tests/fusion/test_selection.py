import polars as pl
import pytest

from eventcargo import DataError
from eventcargo.edges import EdgeTable
from eventcargo.fusion import Poll, jeffreys
from eventcargo.fusion.selection import by_confidence, by_frequency, by_information

from .ballots import table, votes


def rows(whole: EdgeTable) -> pl.DataFrame:
    return Poll.of(whole).table("total").with_columns(required=pl.lit(False))


def found() -> pl.DataFrame:
    """Frequencies of bad: x 0.5, y 0.25."""
    return rows(votes({("bad", "x"): 10, ("bad", "y"): 5}, {"bad": 20}))


def events(kept: pl.DataFrame) -> list[str]:
    return sorted(kept["event"])


def test_an_edge_is_kept_from_its_threshold_on() -> None:
    assert events(by_frequency(found(), {"bad": 0.25})) == ["x", "y"]


def test_an_edge_below_its_threshold_is_left_out() -> None:
    assert events(by_frequency(found(), {"bad": 0.2500001})) == ["x"]


def test_a_required_edge_is_kept_below_its_threshold() -> None:
    needed = found().with_columns(required=pl.col("event") == "y")
    kept = by_frequency(needed, {"bad": 0.9})
    assert kept.select("event", "stability").rows() == [("y", 1.0)]


def test_labels_without_a_threshold_are_refused() -> None:
    with pytest.raises(DataError, match="1 labels have no threshold, the first: 'bad'"):
        by_frequency(found(), {"good": 0.5})


def test_an_edge_has_the_interval_of_its_frequency() -> None:
    kept = by_frequency(found(), {"bad": 0.5})
    assert kept.select("ci_low", "ci_high").row(0) == tuple(end.item() for end in jeffreys(10, 20))


def test_information_has_to_be_above_its_cost() -> None:
    given = found().with_columns(information=pl.col("frequency"))
    assert events(by_information(given, {"bad": 0.25})) == ["x"]


def test_unknown_information_is_refused() -> None:
    with pytest.raises(DataError, match="information of 2 of 2 edges is not known"):
        by_information(found(), {"bad": 0.25})


def test_a_single_vote_is_never_sure() -> None:
    assert by_confidence(rows(votes({("rare", "x"): 1}, {"rare": 1})), 0.04, 0.1).is_empty()
    assert len(by_confidence(rows(votes({("rare", "x"): 2}, {"rare": 2})), 0.04, 0.1)) == 1


def test_two_votes_of_ten_are_sure_and_two_of_a_hundred_are_not() -> None:
    given = rows(votes({("rare", "x"): 2, ("often", "x"): 2}, {"rare": 10, "often": 100}))
    assert by_confidence(given, 0.04, 0.1)["label"].to_list() == ["rare"]


def test_an_edge_found_in_few_of_its_opportunities_is_not_sure() -> None:
    edges = [(f"s{n}", "bad", "x", 0.5) for n in range(12)]
    often = rows(table(edges, {"bad": 100}, {("bad", "x"): 100}))
    seldom = rows(table(edges, {"bad": 100}, {("bad", "x"): 14}))
    assert by_confidence(often, 0.04, 0.1).is_empty()
    assert len(by_confidence(seldom, 0.04, 0.1)) == 1


def both() -> pl.DataFrame:
    present = votes({("bad", "x"): 9, ("bad", "y"): 1}, {"bad": 10})
    absent = votes({("bad", "x"): 1, ("bad", "z"): 30}, {"bad": 50}, "absent", effect=-0.25)
    return rows(EdgeTable.join([present, absent]))


def test_either_polarity_is_enough() -> None:
    assert events(by_confidence(both(), 0.04, 0.1)) == ["x", "z"]


def test_the_frequency_is_that_of_the_surer_polarity() -> None:
    kept = by_confidence(both(), 0.04, 0.1)
    assert dict(kept.select("event", "frequency").iter_rows()) == {"x": 0.9, "z": 0.6}


def test_of_two_sure_polarities_the_surer_one_is_told() -> None:
    present, absent = votes({("bad", "x"): 9}, {"bad": 10}), votes({("bad", "x"): 25}, {"bad": 50}, "absent")
    kept = by_confidence(rows(EdgeTable.join([present, absent])), 0.04, 0.1)
    assert kept["frequency"].to_list() == [0.9]


def test_effect_and_votes_are_of_both_polarities() -> None:
    kept = by_confidence(both(), 0.04, 0.1).filter(event="x")
    assert kept["effect"][0] == pytest.approx((9 * 0.5 - 0.25) / 10)
    assert kept.select("votes", "promoting").row(0) == (10, 9)


def test_an_edge_is_stable_if_it_is_in_either_polarity() -> None:
    present = rows(votes({("bad", "x"): 2}, {"bad": 10}))
    absent = rows(votes({("bad", "x"): 3}, {"bad": 20}, "absent"))
    apart = [by_confidence(part, 0.04, 0.1)["stability"][0] for part in (present, absent)]
    together = by_confidence(pl.concat([present, absent]), 0.04, 0.1)["stability"][0]
    assert together == pytest.approx(1 - (1 - apart[0]) * (1 - apart[1]))
