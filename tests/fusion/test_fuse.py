import math
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from eventcargo import ConfigError, DataError, EdgeTable
from eventcargo.fusion import CRITERIA, FuseConfig, VoteStore, adaptive
from eventcargo.fusion.fuse import by_confidence, by_frequency, by_information, fuse
from eventcargo.graphs import LabelGraph
from eventcargo.knowledge import Knowledge
from eventcargo.statistics.intervals import jeffreys

from .ballots import table, votes


def random_votes(seed: int, positives: bool = True) -> EdgeTable:
    """Labels of different support, true edges found often, others seldom."""
    rng = np.random.default_rng(seed)
    edges, tested, met = [], {}, {}
    for number, support in enumerate((6, 20, 60, 200)):
        label = f"L{number}"
        tested[label] = support
        for event in range(8):
            found = np.flatnonzero(rng.random(support) < (0.7 if event < 2 else 0.08))
            edges += [(f"{label}-{n}", label, f"E{event}", float(rng.normal())) for n in found]
            met[label, f"E{event}"] = support
    rates = {label: (support, 1_000) for label, support in tested.items()} if positives else None
    part = table(edges, tested, met, positives=rates)
    strength = pl.Series("strength", rng.random(len(edges)) + 0.01, dtype=pl.Float32)
    return EdgeTable(part.edges.with_columns(strength), part.support, part.exposed, part.positives)


def pairs(graph: LabelGraph) -> set[tuple[str, str]]:
    return set(graph.edges.select("label", "event").iter_rows())


@pytest.mark.parametrize("criterion", CRITERIA)
def test_union_contains_the_graph_of_every_rule(criterion: str) -> None:
    given = random_votes(1)
    graph = fuse(given, FuseConfig(criterion=criterion))
    assert pairs(graph) <= pairs(fuse(given, FuseConfig(criterion="union")))
    assert graph.support == {"L0": 6, "L1": 20, "L2": 60, "L3": 200}


@pytest.mark.parametrize("criterion", CRITERIA)
def test_no_votes_give_an_empty_graph_of_all_labels(criterion: str) -> None:
    empty = table([], {"bad": 3}, {("bad", "x"): 2}, positives={"bad": (3, 9)})
    assert fuse(empty, FuseConfig(criterion=criterion)).boundaries == {"bad": []}


def test_raising_a_static_threshold_never_adds_an_edge() -> None:
    given = random_votes(2)
    graphs = [pairs(fuse(given, FuseConfig(criterion="static", tau=tau))) for tau in (0.05, 0.25, 0.5, 0.8)]
    assert all(more >= less for more, less in pairwise(graphs))
    assert len(graphs[0]) > len(graphs[3])


def test_true_edges_are_told_from_chance() -> None:
    graph = fuse(random_votes(3))
    assert {label: sorted(events) for label, events in graph.boundaries.items() if label != "L0"} == {
        label: ["E0", "E1"] for label in ("L1", "L2", "L3")
    }


def test_an_adaptive_edge_has_the_threshold_of_its_label() -> None:
    graph = fuse(random_votes(3), FuseConfig(criterion="adaptive"))
    min_frequency = adaptive({"L0": 6, "L1": 20, "L2": 60, "L3": 200})
    assert dict(graph.edges.select("label", "threshold").unique().iter_rows()) == min_frequency


def test_information_rules_keep_what_is_above_their_cost() -> None:
    given = random_votes(4)
    known = VoteStore.of(given).table("total", ("present",))
    for criterion, cost in (("bes", 0.0), ("caig", 0.45)):
        graph = fuse(given, FuseConfig(criterion=criterion, penalty=0.45))  # type: ignore[arg-type]
        min_frequency = cost * (1_000 / known["support"] + 1).log()
        kept = known.filter(known["information"] > min_frequency)
        assert pairs(graph) == set(kept.select("label", "event").iter_rows())
        assert 0 < len(kept) < len(known) or criterion == "bes"


def test_a_stricter_false_positive_rate_keeps_fewer_edges() -> None:
    given = random_votes(4)
    graphs = [pairs(fuse(given, FuseConfig(criterion="fpr", fpr=fpr))) for fpr in (0.5, 0.01)]
    assert graphs[0] > graphs[1]


def test_stability_is_unknown_for_rules_by_information() -> None:
    assert fuse(random_votes(4), FuseConfig(criterion="bes")).edges["stability"].null_count() > 0


def test_information_without_base_rates_is_refused() -> None:
    for criterion in ("bes", "fpr"):
        with pytest.raises(DataError, match=r"information of .* edges is unknown"):
            fuse(random_votes(4, positives=False), FuseConfig(criterion=criterion))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="needs the number of all sequences"):
        fuse(random_votes(4, positives=False), FuseConfig(criterion="caig"))


def test_nothing_tested_is_refused() -> None:
    with pytest.raises(DataError, match="no votes"):
        fuse(EdgeTable.join([]))


def mixed() -> EdgeTable:
    """Edge x found nine times where the label is there and promoted, once where it is not and inhibited."""
    return EdgeTable.join(
        [
            votes({("bad", "x"): 9}, {"bad": 10}),
            votes({("bad", "x"): 1, ("bad", "z"): 30}, {"bad": 50}, "absent", effect=-0.25),
        ]
    )


def test_the_paper_s_rules_count_sequences_with_the_label_only() -> None:
    assert fuse(mixed(), FuseConfig(criterion="union")).boundary("bad") == ["x"]
    assert sorted(fuse(mixed()).boundary("bad")) == ["x", "z"]


def test_an_edge_has_a_sign_and_the_share_of_votes_that_agree() -> None:
    told = fuse(mixed()).edges.sort("event").select("event", "sign", "agreement")
    assert told.rows() == [("x", 1, 0.9), ("z", -1, 1.0)]


def test_duplicating_every_sequence_leaves_frequencies_unchanged() -> None:
    once = random_votes(5)
    again = once.edges.with_columns(sequence=pl.col("sequence") + "-again")
    twice = EdgeTable.join([once, EdgeTable(again, once.support, once.exposed, once.positives)])
    config = FuseConfig(criterion="adaptive")
    assert fuse(twice, config).edges["frequency"].to_list() == fuse(once, config).edges["frequency"].to_list()


def test_total_votes_count_where_there_are_both_tests() -> None:
    prefix = table([("s1", "bad", "p", 0.5)] * 1, {"bad": 1}, {("bad", "p"): 1}, test="prefix")
    whole = EdgeTable.join([prefix, votes({("bad", "x"): 9}, {"bad": 10})])
    assert fuse(whole, FuseConfig(criterion="union")).boundary("bad") == ["x"]
    assert fuse(whole, FuseConfig(criterion="union", test="prefix")).boundary("bad") == ["p"]


def test_a_forbidden_edge_never_appears() -> None:
    for criterion in ("confident", "union"):
        graph = fuse(mixed(), FuseConfig(criterion=criterion), knowledge=Knowledge(forbidden={"bad": "x"}))  # type: ignore[arg-type]
        assert "x" not in graph.boundary("bad")


def test_a_required_edge_without_votes_has_the_frequency_zero() -> None:
    graph = fuse(mixed(), knowledge=Knowledge(required={"bad": "w"}).resolve(["bad"], ["w", "x", "z"]))
    row = graph.edges.filter(event="w").row(0, named=True)
    assert (row["frequency"], row["ci_low"], row["stability"], row["support"]) == (0.0, 0.0, 1.0, 10)
    assert 0 < row["ci_high"] < 0.3


def test_a_required_edge_with_too_few_votes_keeps_its_frequency() -> None:
    graph = fuse(
        votes({("bad", "x"): 1}, {"bad": 10}), knowledge=Knowledge(required={"bad": "x"}), config=FuseConfig()
    )
    assert graph.edges.select("event", "frequency", "stability").rows() == [("x", 0.1, 1.0)]


def test_a_required_edge_is_in_the_graph_of_every_rule() -> None:
    known = Knowledge(required={"L3": "E7"})
    for criterion in CRITERIA:
        graph = fuse(
            random_votes(1), FuseConfig(criterion=criterion, fpr=1e-9, penalty=9.0, tau=1.0), knowledge=known
        )
        assert "E7" in graph.boundary("L3")


def test_hand_computed_interval_of_an_edge() -> None:
    row = fuse(mixed(), FuseConfig(criterion="static")).edges.row(0, named=True)
    assert row["frequency"] == 0.9
    assert math.isclose(row["ci_low"], 0.6188, abs_tol=1e-3)
    assert math.isclose(row["ci_high"], 0.9893, abs_tol=1e-3)


def rows(whole: EdgeTable) -> pl.DataFrame:
    return VoteStore.of(whole).table("total").with_columns(required=pl.lit(False))


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
    with pytest.raises(DataError, match="1 label without a threshold, the first: 'bad'"):
        by_frequency(found(), {"good": 0.5})


def test_an_edge_has_the_interval_of_its_frequency() -> None:
    kept = by_frequency(found(), {"bad": 0.5})
    assert kept.select("ci_low", "ci_high").row(0) == tuple(end.item() for end in jeffreys(10, 20))


def test_information_has_to_be_above_its_cost() -> None:
    given = found().with_columns(information=pl.col("frequency"))
    assert events(by_information(given, {"bad": 0.25})) == ["x"]


def test_unknown_information_is_refused() -> None:
    with pytest.raises(DataError, match="information of 2 of 2 edges is unknown"):
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
