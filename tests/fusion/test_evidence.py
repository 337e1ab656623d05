"""Edges that the evidence of all sequences shows: which, how they are told, and that parts join exactly."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from eventcargo import EdgeTable, LabelGraph
from eventcargo.edges import GRAINS, POOLED, SQUARE_GRAINS, EdgeFolder
from eventcargo.fusion import FuseConfig, VoteStore, fuse_run, read_votes, write_votes
from eventcargo.fusion.evidence import discovered, evidence_stability, evidence_threshold, in_nats
from eventcargo.fusion.fuse import fuse
from eventcargo.fusion.vote_store import join_runs
from eventcargo.knowledge import Knowledge

from .ballots import table, votes

CONFIDENT = FuseConfig(criterion="confident")


def pooled(
    nats: dict[tuple[str, str], float], effect: float = 0.1, sd: float = 1.0, design_effect: float = 1.0
) -> pl.DataFrame:
    """Evidence of 100 sequences for each label and event type, with its standard deviation in groups."""
    rows = [
        {
            "label": label,
            "event": event,
            "sequences": 100,
            "evidence": round(value * GRAINS),
            "effect": round(100 * effect * GRAINS),
            "squares": round(sd**2 / design_effect * SQUARE_GRAINS),
            "group_squares": round(sd**2 * SQUARE_GRAINS),
        }
        for (label, event), value in nats.items()
    ]
    return pl.DataFrame(rows, schema=POOLED)


def ballot(nats: dict[tuple[str, str], float], **settings: float) -> EdgeTable:
    """bad <- x has nine votes of ten, bad <- y one; z and w have no votes; and evidence."""
    edges = [(f"s{n}", "bad", "x", 0.5) for n in range(9)] + [("s0", "bad", "y", -0.5)]
    met = {("bad", event): 10 for event in "wxyz"}
    return replace(table(edges, {"bad": 10}, met), pooled=pooled(nats, **settings))


def told(graph: LabelGraph, *names: str) -> dict[str, tuple[object, ...]]:
    return {row[0]: row[1:] for row in graph.edges.select("event", *names).iter_rows()}


def test_grains_are_nats() -> None:
    (row,) = in_nats(pooled({("bad", "x"): 12.5}, effect=-0.25, sd=3.0)).to_dicts()
    assert (row["evidence"], row["evidence_sd"], row["weight"]) == pytest.approx((12.5, 3.0, 12.5))
    assert row["mean_effect"] == pytest.approx(-0.25)


def test_groups_make_evidence_weigh_less_but_are_not_worth_less() -> None:
    (row,) = in_nats(pooled({("bad", "x"): 12.5}, sd=3.0, design_effect=5.0)).to_dicts()
    assert (row["evidence"], row["evidence_sd"], row["weight"]) == pytest.approx((12.5, 3.0, 2.5), rel=1e-4)


def test_groups_that_say_less_than_their_sequences_do_not_make_evidence_weigh_more() -> None:
    (row,) = in_nats(pooled({("bad", "x"): 12.5}, design_effect=0.5)).to_dicts()
    assert row["weight"] == 12.5


def test_evidence_without_a_square_weighs_what_it_is() -> None:
    (row,) = in_nats(pooled({("bad", "x"): 12.5}, sd=0.0)).to_dicts()
    assert (row["weight"], row["evidence_sd"]) == (12.5, 0.0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_tests", [60, 5000])
def test_the_threshold_is_that_of_benjamini_and_hochberg(seed: int, n_tests: int) -> None:
    rng = np.random.default_rng(seed)
    evidence = np.concatenate([rng.normal(0, 2, 40), rng.normal(10, 4, 20)])
    p = np.sort(np.exp(-evidence))
    passing = [k for k in range(1, 61) if p[k - 1] <= 0.05 * k / n_tests]
    threshold = evidence_threshold(evidence, 0.05, n_tests)
    assert 1 < max(passing) < 60
    assert threshold == pytest.approx(math.log(n_tests / 0.05 / max(passing)))
    assert (evidence >= threshold).sum() == max(passing)


@pytest.mark.parametrize("evidence", [[], [-5.0, 2.0]])
def test_without_a_discovery_the_threshold_is_that_of_the_first(evidence: list[float]) -> None:
    assert evidence_threshold(np.array(evidence), 0.05, 100) == pytest.approx(math.log(100 / 0.05))


NAMED = {("bad", event): nats for event, nats in (("x", 6.0), ("y", 6.0), ("z", 12.0))}


def test_discoveries_are_made_among_all_pairs_and_among_those_with_votes() -> None:
    voted = pl.DataFrame({"label": ["bad"], "event": ["x"]})
    found = discovered(in_nats(pooled(NAMED)), voted, 1000, 0.05)
    thresholds = dict(found.select("event", "threshold").iter_rows())
    assert thresholds == pytest.approx({"x": math.log(1 / 0.05), "z": math.log(1000 / 0.05)})


def test_an_edge_with_votes_needs_no_more_than_one_without() -> None:
    many = pl.DataFrame({"label": ["bad"] * 50, "event": [f"v{at}" for at in range(49)] + ["x"]})
    nats = in_nats(pooled({("bad", "x"): 5.0} | {("bad", f"z{at}"): 20.0 for at in range(20)}))
    found = discovered(nats, many, 60, 0.05)
    # among the voted, log(50 / .05) = 6.9 are needed, among all log(60 / .05 / 21) = 4.05
    assert found.filter(event="x")["threshold"].to_list() == pytest.approx([math.log(60 / 0.05 / 21)])


def test_edges_are_those_of_which_the_evidence_is_no_accident() -> None:
    given = ballot({("bad", "x"): 5.0, ("bad", "y"): 5.0, ("bad", "z"): 9.0, ("bad", "w"): -20.0})
    assert sorted(fuse(given).boundary("bad")) == ["x", "y", "z"]  # y: log(4 / .05 / 3) = 3.3
    assert sorted(fuse(given, FuseConfig(alpha=1e-3)).boundary("bad")) == ["z"]
    assert fuse(given, CONFIDENT).boundary("bad") == ["x"]


def test_votes_without_evidence_are_no_edge() -> None:
    assert fuse(ballot({("bad", "x"): 1.0, ("bad", "z"): 9.0})).boundary("bad") == ["z"]
    assert fuse(ballot({("bad", "z"): 9.0})).boundary("bad") == ["z"]


def test_sure_votes_make_less_evidence_enough() -> None:
    given = ballot({("bad", "x"): 3.5, ("bad", "y"): 3.5})  # log(1 / .05) is 3.0, log(4 / .05) is 4.4
    assert fuse(given).boundary("bad") == ["x"]


def test_copies_of_sequences_make_no_edge_of_what_each_once_does_not() -> None:
    once = ballot({("bad", "z"): 2.0})
    copies = ballot({("bad", "z"): 10.0}, sd=5.0, design_effect=5.0)
    torn = ballot({("bad", "z"): 10.0}, sd=5.0)
    assert [len(fuse(each).edges) for each in (once, copies, torn)] == [0, 0, 1]


def test_an_edge_by_evidence_alone_has_no_frequency_and_no_strength() -> None:
    graph = fuse(ballot({("bad", "x"): 9.0, ("bad", "y"): 9.0, ("bad", "z"): 9.0}, effect=-0.2))
    names = ("frequency", "strength", "ci_low", "ci_high", "agreement")
    known = told(graph, *names)
    assert known["z"] == known["y"] == (None,) * 5  # one vote is not sure
    assert known["x"][:2] == (0.9, 0.5)
    assert None not in known["x"]
    signs = told(graph, "sign", "effect", "support")
    assert signs["z"] == (-1, pytest.approx(-0.2), 10)
    assert signs["x"] == (1, 0.5, 10)  # the votes' own


def test_an_edge_has_its_evidence_with_its_error_and_threshold() -> None:
    graph = fuse(ballot({("bad", "x"): 9.0, ("bad", "z"): 12.0}, sd=2.5))
    known = told(graph, "evidence", "evidence_sd", "threshold")
    assert known["x"] == pytest.approx((9.0, 2.5, math.log(1 / 0.05)))
    assert known["z"] == pytest.approx((12.0, 2.5, math.log(4 / 0.05 / 2)))


def test_evidence_far_above_its_threshold_is_stable() -> None:
    edges = pl.DataFrame(
        {"evidence": [9.0, 9.0, 9.0], "evidence_sd": [2.0, 2.0, 0.0], "threshold": [9.0, 5.0, 5.0]}
    )
    assert evidence_stability(edges).tolist() == pytest.approx([0.5, 0.97725, 1.0], abs=1e-5)


def test_an_edge_is_as_stable_as_the_better_of_votes_and_evidence() -> None:
    of_votes = told(fuse(ballot({}), CONFIDENT), "stability")["x"][0]
    assert isinstance(of_votes, float)
    assert 0.9 < of_votes < 1
    shaky = fuse(ballot({("bad", "x"): 3.5, ("bad", "z"): 9.0}, sd=20.0))
    assert told(shaky, "stability")["x"][0] == of_votes
    assert told(shaky, "stability")["z"][0] == pytest.approx(0.6, abs=0.1)
    firm = fuse(ballot({("bad", "x"): 30.0}, sd=1.0))
    assert told(firm, "stability")["x"][0] == pytest.approx(1.0, abs=1e-9)


def test_without_evidence_the_criterion_is_confident() -> None:
    given = EdgeTable.join(
        [
            votes({("bad", "x"): 9}, {"bad": 10}),
            votes({("bad", "x"): 1, ("bad", "z"): 30}, {"bad": 50}, "absent", effect=-0.25),
        ]
    )
    assert given.pooled.is_empty()
    assert fuse(given).edges.equals(fuse(given, CONFIDENT).edges)
    assert len(fuse(given).edges) == 2


@pytest.mark.parametrize("criterion", ["confident", "static", "union"])
def test_other_criteria_do_not_look_at_evidence(criterion: str) -> None:
    config = FuseConfig(criterion=criterion)  # type: ignore[arg-type]
    with_evidence, without = (fuse(ballot(nats), config) for nats in ({("bad", "z"): 99.0}, {}))
    assert with_evidence.edges.equals(without.edges)


def test_a_forbidden_edge_is_not_shown_by_evidence() -> None:
    given = ballot({("bad", "x"): 9.0, ("bad", "z"): 9.0})
    for event, left in (("z", ["x"]), ("x", ["z"])):
        known = Knowledge(forbidden={"bad": event})
        assert fuse(given, knowledge=known).boundary("bad") == left
        resolved = known.resolve(["bad"], ["w", "x", "y", "z"])
        assert fuse(given, knowledge=resolved).boundary("bad") == left


def test_if_nothing_with_evidence_is_allowed_there_is_no_edge() -> None:
    given = ballot({("bad", "z"): 9.0})
    assert fuse(given, knowledge=Knowledge(forbidden={"bad": "z"})).boundary("bad") == []


@pytest.mark.parametrize("nats", [{}, {("bad", "x"): 9.0}, {("bad", "x"): 9.0, ("bad", "z"): -3.0}])
def test_a_required_edge_stays_whatever_its_evidence(nats: dict[tuple[str, str], float]) -> None:
    for event in "yz":
        graph = fuse(ballot(nats), knowledge=Knowledge(required={"bad": event}))
        assert event in graph.boundary("bad")
        assert told(graph, "stability")[event] == (1.0,)


def test_a_required_edge_keeps_its_votes_whatever_its_evidence() -> None:
    graph = fuse(ballot({("bad", "z"): 9.0}), knowledge=Knowledge(required={"bad": ["x", "y"]}))
    assert told(graph, "frequency") == {"x": (0.9,), "y": (0.1,), "z": (None,)}


def test_labels_are_told_apart() -> None:
    one, other = ballot({("bad", "z"): 9.0}), table([], {"good": 10}, {("good", "z"): 10})
    assert fuse(EdgeTable.join([one, other])).boundaries == {"bad": ["z"], "good": []}


def part(number: int) -> EdgeTable:
    """One shard; the evidence of no two shards is alike."""
    edges = [(f"s{number}-{n}", "bad", "x", 0.5) for n in range(3)]
    evidence = pooled({("bad", "x"): 5 / (number + 3), ("bad", f"y{number % 2}"): 1 / 3, ("bad", "z"): -0.1})
    return replace(table(edges, {"bad": 4}, {("bad", "x"): 4, ("bad", "z"): 4}), pooled=evidence)


def extracted(run: Path, numbers: range, data: str) -> Path:
    plan = {"model": "m", "labels": ["bad"], "untrusted": [], "seed": 0, "data": data, "shards": len(numbers)}
    folder = EdgeFolder.create(run / "edges", plan, resume=False)
    for at, number in enumerate(numbers):
        folder.write(at, part(number))
    return run


def test_evidence_adds_up_over_parts_in_any_order() -> None:
    parts = [part(number) for number in range(6)]
    whole = EdgeTable.join(parts).pooled
    assert whole["event"].to_list() == ["x", "y0", "y1", "z"]
    assert whole["sequences"].to_list() == [600, 300, 300, 600]
    evidence = sum(part["evidence"][0] for part in (each.pooled for each in parts))
    assert whole["evidence"][0] == evidence
    for order in (parts[::-1], parts[3:] + parts[:3]):
        assert_frame_equal(EdgeTable.join(order).pooled, whole, check_exact=True)
        assert_frame_equal(
            VoteStore.join([VoteStore.of(each) for each in order]).pooled, whole, check_exact=True
        )


def test_votes_joined_from_parts_have_the_bytes_of_one_pass(tmp_path: Path) -> None:
    graph = fuse_run(extracted(tmp_path / "all", range(6), "all"))
    days = [extracted(tmp_path / "one", range(4), "d1"), extracted(tmp_path / "two", range(4, 6), "d2")]
    joined = join_runs(days, tmp_path / "joined")
    names = ("all", "joined")
    first, second = ((tmp_path / name / "votes" / "pooled.parquet").read_bytes() for name in names)
    assert first == second
    assert fuse(joined).edges.equals(graph.edges)
    assert graph.edges["evidence"].to_list()


def test_evidence_is_read_as_it_was_written(tmp_path: Path) -> None:
    store = VoteStore.of(EdgeTable.join([part(0), part(1)]))
    write_votes(store, tmp_path / "votes")
    assert_frame_equal(read_votes(tmp_path / "votes").pooled, store.pooled, check_exact=True)
