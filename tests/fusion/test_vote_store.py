import math

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from eventcargo import ConfigError, DataError, EdgeTable
from eventcargo.fusion import VoteStore

from .ballots import table, votes

PLAN = {"model": "m", "labels": ["bad"], "untrusted": [], "settings": {"seed": 0}, "data": ["d1"]}


def store(data: str = "d1", **plan: object) -> VoteStore:
    counted = VoteStore.of(votes({("bad", "x"): 3}, {"bad": 4}))
    return VoteStore(counted.votes, counted.positives, {**PLAN, "data": [data], **plan})


def both() -> EdgeTable:
    return EdgeTable.join(
        [votes({("bad", "x"): 3}, {"bad": 4}), votes({("bad", "y"): 2}, {"bad": 9}, "absent")]
    )


def test_all_tests_and_polarities_are_counted() -> None:
    counted = VoteStore.of(both())
    assert set(counted.votes) == {("total", "present"), ("total", "absent")}
    assert counted.tests == ("total",)
    assert counted.event_names == ["x", "y"]


def test_the_table_has_the_polarities_asked_for() -> None:
    rows = VoteStore.of(both()).table("total", ("absent",))
    assert rows.select("event", "polarity", "votes", "support").rows() == [("y", "absent", 2, 9)]


def test_votes_of_a_test_that_was_not_made_are_refused() -> None:
    with pytest.raises(ConfigError, match="'prefix' has no votes here; votes are of total"):
        VoteStore.of(both()).table("prefix")


def test_edges_where_nothing_was_tested_are_refused() -> None:
    part = votes({("bad", "x"): 3}, {"bad": 4})
    odd = EdgeTable(part.edges.with_columns(polarity=pl.lit("absent")), part.support, part.exposed)
    with pytest.raises(DataError, match="no label was tested by total where it is absent, yet 3 of"):
        VoteStore.of(odd)


def test_the_support_is_that_of_sequences_with_the_label() -> None:
    part = EdgeTable.join([both(), table([], {"never": 5}, {}, "absent", positives={"unseen": (0, 9)})])
    assert VoteStore.of(part).support("total") == {"bad": 4, "never": 0, "unseen": 0}


def test_information_is_strength_and_the_divergence_from_the_base_rate() -> None:
    edges = [("s1", "bad", "x", 0.25)]
    rows = VoteStore.of(table(edges, {"bad": 1}, {("bad", "x"): 1}, positives={"bad": (10, 100)})).table(
        "total"
    )
    divergence = 0.5 * math.log(0.5 / 0.1) + 0.5 * math.log(0.5 / 0.9)
    assert rows["information"][0] == pytest.approx(0.5 + divergence, abs=1e-6)


def test_information_without_base_rates_is_unknown() -> None:
    edges = [("s1", "bad", "x", 0.25)]
    assert VoteStore.of(table(edges, {"bad": 1}, {("bad", "x"): 1})).table("total")["information"][0] is None


def test_information_of_which_a_vote_says_nothing_is_unknown() -> None:
    edges = [("s1", "bad", "x", 0.25), ("s2", "bad", "x", 0.25)]
    part = table(edges, {"bad": 2}, {("bad", "x"): 2}, positives={"bad": (10, 100)})
    silent = part.edges.with_columns(before=pl.when(pl.col("sequence") == "s1").then("before"))
    rows = VoteStore.of(EdgeTable(silent, part.support, part.exposed, part.positives)).table("total")
    assert rows["information"][0] is None


def test_the_information_of_a_certain_label_is_finite() -> None:
    edges = [("s1", "bad", "x", 0.25)]
    part = table(edges, {"bad": 1}, {("bad", "x"): 1}, positives={"bad": (100, 100)})
    sure = part.edges.with_columns(before=pl.lit(1.0, pl.Float32), entropy=pl.lit(0.0, pl.Float32))
    rows = VoteStore.of(EdgeTable(sure, part.support, part.exposed, part.positives)).table("total")
    assert rows["information"][0] == 0.5


def test_joined_stores_are_the_store_of_all() -> None:
    one, other = votes({("bad", "x"): 3}, {"bad": 4}), votes({("bad", "y"): 2}, {"bad": 9}, "absent")
    joined, whole = (
        VoteStore.join([VoteStore.of(other), VoteStore.of(one)]),
        VoteStore.of(EdgeTable.join([one, other])),
    )
    assert list(joined.votes) == list(whole.votes)
    for kind in whole.votes:
        assert_frame_equal(joined.votes[kind].table, whole.votes[kind].table, check_exact=True)


def test_joined_stores_name_all_their_data() -> None:
    assert VoteStore.join([store("d2"), store("d1")]).plan == {**PLAN, "data": ["d1", "d2"]}


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"model": "n"}, "different model cannot be joined: 'm' and 'n'"),
        ({"labels": ["bad", "good"]}, "different labels cannot be joined: 'good' is in one only"),
        ({"settings": {"seed": 1}}, "different settings cannot be joined: seed is 0 and 1"),
    ],
)
def test_stores_of_different_origin_are_not_joined(other: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        VoteStore.join([store("d1"), store("d2", **other)])


def test_the_same_data_are_not_joined_twice() -> None:
    with pytest.raises(ConfigError, match="appear twice and would count twice: d1"):
        VoteStore.join([store("d1"), store("d2"), store("d1")])
