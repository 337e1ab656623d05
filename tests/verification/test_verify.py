import itertools
import warnings
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from eventcargo.deadline import Deadline
from eventcargo.errors import ConfigError, DataError
from eventcargo.evaluation import evaluate
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.knowledge import Knowledge
from eventcargo.sequences import EventSequence
from eventcargo.simulation import simulate
from eventcargo.verification.verify import VerifyConfig, verify

from ..repeats import repeated
from .drawn import claimed, draw, draw_long

EXPOSED = {"a": 0.4, "b": 0.4, "c": 0.4, "d": 0.3, "z": 0.9}
ALWAYS = dict.fromkeys("abcd", 1.0)


def conjunction(events: list[str]) -> bool:
    return "a" in events and "b" in events


def a_before_b(events: list[str]) -> bool:
    return events.index("a") < events.index("b")


@pytest.fixture(scope="module")
def conjunctive() -> EventDataset:
    return draw(conjunction, EXPOSED)


@pytest.fixture(scope="module")
def ordered() -> EventDataset:
    return draw(a_before_b, ALWAYS)


def p_values(graph: LabelGraph) -> dict[str, float | None]:
    return dict(graph.edges.select("event", "p_value").iter_rows())


def test_a_spurious_edge_is_dropped(conjunctive: EventDataset) -> None:
    assert sorted(verify(claimed("abc"), conjunctive).boundary("bad")) == ["a", "b"]


def test_a_missing_edge_is_added(conjunctive: EventDataset) -> None:
    assert sorted(verify(claimed("a"), conjunctive).boundary("bad")) == ["a", "b"]


def test_with_no_rounds_nothing_is_added(conjunctive: EventDataset) -> None:
    assert verify(claimed("a"), conjunctive, VerifyConfig(rounds=0)).boundary("bad") == ["a"]


def test_an_inhibitor_is_added_with_its_sign() -> None:
    data = draw(lambda events: "a" in events and "c" not in events, EXPOSED)
    found = verify(claimed("a"), data).edges.filter(event="c").row(0, named=True)
    assert (found["sign"], found["frequency"], found["effect"] < -0.2) == (-1, None, True)


def test_an_added_edge_tells_its_gain_for_each_carrier(conjunctive: EventDataset) -> None:
    found = verify(claimed("a"), conjunctive).edges.filter(event="b").row(0, named=True)
    assert found["strength"] > 0.5
    assert found["support"] == conjunctive.support[0]


def test_what_phase_1_said_of_a_kept_edge_is_left_as_it_was(conjunctive: EventDataset) -> None:
    graph = claimed("ab", frequency=0.7)
    found = verify(graph, conjunctive)
    said = ("label", "event", "sign", "frequency", "strength", "effect", "support")
    assert found.edges.select(said).sort("event").equals(graph.edges.select(said).sort("event"))


def test_the_gain_is_what_the_data_say_a_carrier_is_worth(conjunctive: EventDataset) -> None:
    found = verify(claimed("ab"), conjunctive).edges["gain"].to_list()
    assert found == sorted(found, reverse=True)
    assert all(0.5 < gain < 3 for gain in found)  # log(1 / rate) is 1.7


def test_every_edge_that_can_be_tested_has_a_p_value(conjunctive: EventDataset) -> None:
    found = p_values(verify(claimed("ab"), conjunctive))
    assert all(p is not None and p < 1e-6 for p in found.values())


def test_order_confirms_what_presence_cannot_show(ordered: EventDataset) -> None:
    found = p_values(verify(claimed("ab"), ordered))
    assert sorted(found) == ["a", "b"]
    assert all(p is not None and p < 1e-6 for p in found.values())


def test_what_order_explains_is_dropped_though_always_present(ordered: EventDataset) -> None:
    assert sorted(verify(claimed("abc"), ordered).boundary("bad")) == ["a", "b"]


@pytest.mark.parametrize(
    ("rule", "members"),
    [
        (lambda events: events.rfind("a") > events.rfind("b"), "ab"),
        (lambda events: events.count("a") > events.count("b"), "ab"),
        (lambda events: events.count("a") >= 8, "a"),
    ],
)
def test_what_the_last_the_more_frequent_or_the_count_explains_is_dropped(
    rule: Callable[[str], bool], members: str
) -> None:
    data = draw_long(rule, "abcdx", seed=2)
    assert sorted(verify(claimed("abcd"), data).boundary("bad")) == list(members)


def test_an_edge_whose_partner_is_missing_is_believed(ordered: EventDataset) -> None:
    assert verify(claimed("a", strength=9.0, frequency=1.0), ordered).boundary("bad") == ["a"]


def test_twins_are_both_believed_though_one_explains_the_other() -> None:
    sequences = [
        EventSequence(
            f"{i:03}", ("a", "b") if i % 2 else ("c",), (0.0, 0.0) if i % 2 else (0.0,), ("bad",) * (i % 2)
        )
        for i in range(400)
    ]
    found = verify(claimed("ab"), EventDataset.from_sequences(sequences), VerifyConfig(rounds=0))
    assert sorted(found.boundary("bad")) == ["a", "b"]
    assert None in p_values(found).values()


def test_a_few_sequences_do_not_refute(conjunctive: EventDataset) -> None:
    few = conjunctive[:20]
    assert "c" in verify(claimed("abc"), few, VerifyConfig(rounds=0)).boundary("bad")


def test_edges_into_a_doubted_label_must_be_confirmed(conjunctive: EventDataset) -> None:
    few, config = conjunctive[:26], VerifyConfig(rounds=0)
    assert sorted(verify(claimed("abc"), few, config).boundary("bad")) == ["a", "b", "c"]
    assert sorted(verify(claimed("abc"), few, config, untrusted=["bad"]).boundary("bad")) == ["a", "b"]
    assert "c" in verify(claimed("abc"), few, config, untrusted=["other"]).boundary("bad")


def test_a_doubted_label_may_lose_its_whole_boundary() -> None:
    noise, config = draw(lambda _: False, EXPOSED, 40, noise=0.4), VerifyConfig(rounds=0)
    graph = claimed("abc", strength=0.2)
    assert sorted(verify(graph, noise, config).boundary("bad")) == ["a", "b", "c"]
    assert verify(graph, noise, config, untrusted=["bad"]).boundary("bad") == []


def test_of_near_twins_a_doubted_label_keeps_the_better() -> None:
    kinds = [("xy", "bad", 10), ("x", "bad", 1), ("w", "", 10), ("yw", "", 1), ("xw", "", 1)]
    spread = [(events, label) for events, label, count in kinds for _ in range(count)]
    sequences = [
        EventSequence(f"{at:02}", tuple(events), (0.0,) * len(events), (label,) if label else ())
        for at, (events, label) in enumerate(spread)
    ]
    data, config = EventDataset.from_sequences(sequences), VerifyConfig(rounds=0)
    for claims in ("xy", "yx"):
        assert verify(claimed(claims), data, config, untrusted=["bad"]).boundary("bad") == ["x"]


def test_a_required_edge_into_a_doubted_label_stays(conjunctive: EventDataset) -> None:
    known = Knowledge(required={"bad": ["c"]}).resolve(conjunctive.label_names, conjunctive.event_names)
    found = verify(claimed("abc"), conjunctive[:20], VerifyConfig(rounds=0), known, untrusted=["bad"])
    assert "c" in found.boundary("bad")


def with_effect(of_b: float, n: int = 20_000) -> EventDataset:
    """`a` makes the label likely, `b` raises its rate by `of_b`."""
    rng = np.random.default_rng(0)
    sequences = []
    for at in range(n):
        a, b = rng.random(2) < 0.5
        holds = bool(rng.random() < (0.8 if a else 0.05) + (of_b if b else 0))
        events = tuple(name for name, has in (("a", a), ("b", b), ("x", True)) if has)
        sequences.append(EventSequence(f"{at:05}", events, (0.0,) * len(events), ("bad",) if holds else ()))
    return EventDataset.from_sequences(sequences)


def without_a(data: EventDataset) -> EventDataset:
    return data.select(~(data.presence().toarray()[:, data.event_names.index("a")] > 0))


@pytest.mark.parametrize("boundary", [[], ["b"]])
def test_a_tiny_effect_that_is_sure_is_an_edge(boundary: list[str]) -> None:
    data = without_a(with_effect(0.02))
    found = verify(LabelGraph.from_boundaries({"bad": boundary}), data)
    assert found.boundary("bad") == ["b"]
    assert found.edges["gain"][0] < VerifyConfig().min_gain
    assert found.edges["p_value"][0] < 1e-6


def test_a_tiny_effect_that_no_sequence_shows_is_no_edge_beside_a_strong_one() -> None:
    data = with_effect(0.02)
    assert verify(claimed("ab", frequency=0.01), data).boundary("bad") == ["a", "b"]
    for missing in ("a", ""):
        assert verify(claimed(missing), data).boundary("bad") == ["a"]
    mute = pl.concat([claimed("a", evidence=5000.0).edges, claimed("b", None, None, evidence=40.0).edges])
    assert verify(LabelGraph.from_edges(mute), data).boundary("bad") == ["a"]


def test_a_claim_that_the_data_leave_room_for_needs_no_confirmation(conjunctive: EventDataset) -> None:
    found = verify(claimed("abz", frequency=0.1, strength=0.2), conjunctive, VerifyConfig(rounds=0))
    assert sorted(found.boundary("bad")) == ["a", "b", "z"]


def test_a_claim_with_evidence_must_be_borne_out_a_little(conjunctive: EventDataset) -> None:
    evident = claimed("abz", frequency=0.1, strength=0.2, evidence=6.0)
    found = verify(evident, conjunctive, VerifyConfig(rounds=0))
    assert sorted(found.boundary("bad")) == ["a", "b"]
    assert found.edges["evidence"].to_list() == [6.0, 6.0]


def test_an_edge_by_evidence_alone_must_be_confirmed(conjunctive: EventDataset) -> None:
    few, config = conjunctive[:26], VerifyConfig(rounds=0)
    voted = claimed("abc", evidence=None)
    mute = claimed("abc", None, None, evidence=1.0)
    assert sorted(verify(voted, few, config).boundary("bad")) == ["a", "b", "c"]
    assert sorted(verify(mute, few, config).boundary("bad")) == ["a", "b"]


def halves(n_bad: int) -> EventDataset:
    """Twelve sequences with a, of which `n_bad` carry the label, and as many without both; 50 event types."""
    others = ("u", *(f"o{at:02}" for at in range(47)))
    return EventDataset.from_sequences(
        [
            EventSequence(f"{name}{at:02}", (name, *others), (0.0,) * 49, ("bad",) if at < bad else ())
            for name, bad in (("a", n_bad), ("x", 12 - n_bad))
            for at in range(12)
        ]
    )


@pytest.mark.parametrize(("n_bad", "of_voted", "of_proposed"), [(9, "a", ""), (10, "a", "a")])
def test_what_evidence_alone_proposes_must_be_surer_than_what_has_votes(
    n_bad: int, of_voted: str, of_proposed: str
) -> None:
    data, config = halves(n_bad), VerifyConfig(rounds=0, alpha=0.1)
    (p_value,) = p_values(verify(claimed("a"), data, config)).values()
    assert p_value is not None
    assert (p_value < 0.1, p_value < 0.2 * 0.1) == (n_bad >= 9, n_bad >= 10)  # of one edge
    for frequency, found in ((0.3, of_voted), (None, of_proposed)):
        graph = claimed("a", frequency, 0.1, evidence=0.5)
        assert "".join(verify(graph, data, config).boundary("bad")) == found


@pytest.mark.parametrize(("n_bad", "found"), [(10, []), (11, ["a"])])
def test_what_nothing_names_is_corrected_for_all_pairs(n_bad: int, found: list[str]) -> None:
    data, config, alone = halves(n_bad), VerifyConfig(rounds=0, alpha=0.25), claimed("a", None, None)
    (p_value,) = p_values(verify(claimed("a"), data, config)).values()
    assert p_value is not None
    # of one in fifty; the first must be five times as sure
    assert (p_value < 0.25 / 50, p_value < 0.05 / 50) == (True, n_bad >= 11)
    assert verify(claimed(""), data, VerifyConfig(alpha=0.25)).boundary("bad") == found
    assert verify(alone, data, config, untrusted=["bad"]).boundary("bad") == found
    assert verify(alone, data, config).boundary("bad") == ["a"]


def test_the_surest_edge_comes_first() -> None:
    data = draw(lambda events: "a" in events or {"b", "c"} <= set(events), EXPOSED)
    found = verify(claimed("cba"), data).edges
    assert found["event"][0] == "a"
    assert found["p_value"].to_list() == sorted(found["p_value"])


def test_every_edge_has_odds(conjunctive: EventDataset) -> None:
    found = verify(claimed("ab"), conjunctive).edges.row(0, named=True)
    assert 10 < found["odds_low"] < found["odds_ratio"] < found["odds_high"]


def test_what_mostly_comes_with_a_cause_gives_its_place_to_it() -> None:
    rng = np.random.default_rng(0)
    sequences = []
    for at in range(2000):
        a = rng.random() < 0.4
        b = rng.random() < (0.8 if a else 0.05)
        events = tuple(name for name, has in (("a", a), ("b", b), ("x", True)) if has)
        labels = ("bad",) if rng.random() < (0.7 if a else 0.1) else ()
        sequences.append(EventSequence(f"{at:05}", events, (0.0,) * len(events), labels))
    found = verify(claimed("b"), EventDataset.from_sequences(sequences), VerifyConfig(rounds=0))
    assert found.edges.select("event", "sign", "frequency").rows() == [("a", 1, None)]


def test_a_boundary_of_a_hundred_is_sifted() -> None:
    many = "".join(chr(0x4E00 + at) for at in range(98))
    data = draw(conjunction, EXPOSED | dict.fromkeys(many, 0.05), n=1000)
    assert sorted(verify(claimed("ab" + many), data).boundary("bad")) == ["a", "b"]


def test_a_forbidden_edge_is_not_added(conjunctive: EventDataset) -> None:
    known = Knowledge(forbidden={"bad": ["b"]}).resolve(conjunctive.label_names, conjunctive.event_names)
    assert "b" not in verify(claimed("a"), conjunctive, knowledge=known).boundary("bad")


def test_a_required_edge_is_not_dropped(conjunctive: EventDataset) -> None:
    known = Knowledge(required={"bad": ["c"]}).resolve(conjunctive.label_names, conjunctive.event_names)
    assert "c" in verify(claimed("abc"), conjunctive, knowledge=known).boundary("bad")


def test_the_support_a_graph_states_is_kept(conjunctive: EventDataset) -> None:
    graph = LabelGraph.from_edges(claimed("a").edges, {"bad": 77})
    found = verify(graph, conjunctive)
    assert found.support == {"bad": 77}
    assert found.edges["support"].drop_nulls().unique().to_list() == [77]


def test_a_label_nobody_carries_keeps_its_edges(conjunctive: EventDataset) -> None:
    nobody = conjunctive.select(np.diff(conjunctive.label_rows.offsets) == 0)
    found = verify(claimed("ac"), nobody)
    assert sorted(found.boundary("bad")) == ["a", "c"]
    assert set(p_values(found).values()) == {None}


def test_no_sequences_leave_the_graph_as_it_is(conjunctive: EventDataset) -> None:
    assert sorted(verify(claimed("ac"), conjunctive[:0]).boundary("bad")) == ["a", "c"]


def test_an_unknown_event_type_is_refused(conjunctive: EventDataset) -> None:
    with pytest.raises(DataError, match=r"1 event name not in the data, the first: 'q'"):
        verify(claimed("aq"), conjunctive)


def test_an_unknown_label_is_refused(conjunctive: EventDataset) -> None:
    with pytest.raises(DataError, match=r"1 label name not in the data, the first: 'worse'"):
        verify(LabelGraph.from_boundaries({"worse": ["a"]}), conjunctive)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 0.0}, "alpha=0.0"),
        ({"alpha": 1.0}, "alpha=1.0"),
        ({"min_gain": 0.0}, "min_gain=0.0"),
        ({"rounds": -1}, "rounds=-1"),
    ],
)
def test_odd_settings_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        VerifyConfig(**settings)  # type: ignore[arg-type]


def test_settings_at_their_limits_are_taken() -> None:
    taken = VerifyConfig(alpha=0.999, min_gain=1e-9, rounds=0)
    assert (taken.alpha, taken.min_gain, taken.rounds) == (0.999, 1e-9, 0)


def test_a_degraded_fleet_graph_is_repaired() -> None:
    fleet = simulate("fleet", sequences=4000, event_types=300, labels=8, seed=100)
    rng = np.random.default_rng(0)
    true = fleet.truth.edges.select("label", "event", "sign").with_columns(frequency=0.4, strength=1.0)
    lost = true.filter(pl.Series(rng.random(len(true)) < 0.8))
    wrong = pl.DataFrame(
        [
            (label, event)
            for label in fleet.data.label_names
            for event in rng.choice(fleet.data.event_names, 2)
        ],
        schema=["label", "event"],
        orient="row",
    ).with_columns(sign=pl.lit(1, pl.Int8), frequency=0.4, strength=1.0)
    degraded = LabelGraph.from_edges(pl.concat([lost, wrong]).unique(["label", "event"]))
    before = evaluate(degraded, fleet.truth).macro.f1
    after = evaluate(verify(degraded, fleet.data), fleet.truth).macro.f1
    assert before < 0.8
    assert after > 0.9


def test_twins_of_a_label_whose_model_is_doubted_are_reduced_to_one() -> None:
    sequences = [EventSequence(f"b{n}", ("x", "y"), (0.0, 1.0), ("bad",)) for n in range(100)]
    sequences += [EventSequence(f"g{n}", ("z",), (0.0,), ()) for n in range(100)]
    data = EventDataset.from_sequences(sequences)
    edges = {"label": ["bad"] * 2, "event": ["x", "y"], "frequency": [0.9] * 2, "strength": [1.0] * 2}
    twins = LabelGraph.from_edges(pl.DataFrame(edges))
    assert sorted(verify(twins, data).boundary("bad")) == ["x", "y"]
    assert len(verify(twins, data, untrusted=["bad"]).boundary("bad")) == 1


def _edges(graph: LabelGraph) -> dict[tuple[str, str], tuple[float | None, float | None]]:
    columns = ("label", "event", "p_value", "gain")
    return {(row[0], row[1]): (row[2], row[3]) for row in graph.edges.select(columns).iter_rows()}


@pytest.mark.parametrize(
    ("regime", "sequences"), [("fleet", 600), ("confounded", 300), ("ordered", 300), ("timing", 300)]
)
def test_copies_of_sequences_make_no_edge_surer(regime: str, sequences: int) -> None:
    simulated = simulate(regime, sequences=sequences, seed=100)
    empty = LabelGraph.from_boundaries({label: [] for label in simulated.data.label_names})
    for graph in (simulated.truth, empty):
        once, copies = (_edges(verify(graph, data)) for data in (simulated.data, repeated(simulated.data)))
        assert once.keys() == copies.keys()
        for edge, figures in once.items():
            assert copies[edge] == pytest.approx(figures, rel=1e-6)


def test_copies_without_groups_add_false_edges() -> None:
    simulated = simulate("confounded", sequences=300, seed=100)
    data = repeated(simulated.data, grouped=False)
    assert len(verify(simulated.truth, data).edges) > len(verify(simulated.truth, simulated.data).edges)


def test_groups_of_one_sequence_change_nothing() -> None:
    simulated = simulate("confounded", sequences=300, seed=100)
    alone = simulated.data.in_groups(np.arange(300)[::-1])
    once, grouped = (_edges(verify(simulated.truth, data)) for data in (simulated.data, alone))
    assert once.keys() == grouped.keys()
    for edge, figures in once.items():
        assert grouped[edge] == pytest.approx(figures, rel=1e-9)


@pytest.mark.parametrize(("named", "found"), [("", []), ("u", ["a"])])
def test_beside_a_named_edge_another_need_not_be_a_discovery_among_all_pairs(
    named: str, found: list[str]
) -> None:
    data, config = halves(10), VerifyConfig(alpha=0.25)
    (p_value,) = p_values(verify(claimed("a"), data, config)).values()
    assert p_value is not None
    assert 0.05 / 50 < p_value < 0.05 / 2  # the other event types are in every sequence, but for one
    assert [event for event in verify(claimed(named), data, config).boundary("bad") if event == "a"] == found


def test_a_label_is_tested_wholly_or_not_at_all(conjunctive: EventDataset) -> None:
    graph, config = claimed("abcd"), VerifyConfig(rounds=0)
    tested = sorted(verify(graph, conjunctive, config).boundary("bad"))
    found = set()
    for ticks in range(60):
        clock = itertools.count().__next__  # every look at the clock takes a second
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = verify(graph, conjunctive, config, deadline=Deadline(float(ticks), clock))
        assert all("not tested on the data" in str(one.message) for one in caught)
        found.add((tuple(sorted(result.boundary("bad"))), bool(caught)))
    assert found == {(tuple("abcd"), True), (tuple(tested), False)}
