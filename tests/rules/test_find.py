from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eventcargo import ConfigError, DataError, EventDataset, EventSequence
from eventcargo.graphs import LabelGraph
from eventcargo.io import read_events, read_graph
from eventcargo.rules import Literal, Rule, RuleConfig, find_rules
from eventcargo.rules.find import _learning
from eventcargo.simulation import Simulated, simulate

from ..repeats import repeated
from .drawn import draw_labelled

DATA = Path(__file__).parents[3] / "shared" / "data"


def told(rules: dict[str, Rule | None]) -> dict[str, str | None]:
    return {label: None if rule is None else rule.text for label, rule in rules.items()}


@pytest.mark.parametrize(
    ("regime", "text"),
    [
        ("ordered", "{0} before {1}"),
        ("follows", "{1} directly before {0}"),
        ("repeat", "{0} >= 3 times"),
        ("recency", "{0} among the last 8 events"),
        ("chain", "{0}"),
    ],
)
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_rules_of_every_regime_are_found_as_they_are(regime: str, text: str, noise: float) -> None:
    made = simulate(regime, sequences=1500, labels=2, seed=101, label_noise=noise)
    expected = {label: text.format(*_names(rule)) for label, rule in made.rules.items()}
    assert told(find_rules(made.data, made.truth)) == expected


def _names(rule: str) -> list[str]:
    return [word.strip(",") for word in rule.split() if word.startswith("E0")]


@pytest.mark.parametrize(
    "literal",
    [
        Literal("state", ("A", "B", "C")),
        Literal("last_after", ("A", "B")),
        Literal("more", ("A", "B")),
        Literal("distance", ("A", "B"), 3.0),
        Literal("subsequence", ("A", "B", "C")),
        Literal("burst_events", ("A",), 6.0, times=3),
    ],
)
@pytest.mark.parametrize("members", ["", "DEF"])
def test_a_rule_of_every_kind_is_found_as_it_is(literal: Literal, members: str) -> None:
    assert told(find_rules(*draw_labelled(literal, members=members))) == {"x": literal.text}


def test_a_burst_in_time_is_found() -> None:
    rule = find_rules(*draw_labelled(Literal("burst", ("A",), 4.0, times=3)))["x"]
    assert rule is not None
    ((literal,),) = rule.literals
    assert (literal.kind, literal.events, literal.times) == ("burst", ("A",), 3)
    assert literal.limit == pytest.approx(4.0, rel=0.03)


def test_a_count_has_no_cap() -> None:
    true = Literal("count", ("A",), 14.0)
    assert told(find_rules(*draw_labelled(true, types="AAB", length=20))) == {"x": "A >= 14 times"}


def test_order_alone_gives_no_rule_on_time() -> None:
    literal = Literal("burst_events", ("A",), 6.0, times=3)
    assert told(find_rules(*draw_labelled(literal, time_kind="order"))) == {"x": literal.text}


def test_the_limit_of_time_is_found() -> None:
    made = simulate("timing", sequences=1500, labels=2, seed=101, limit=5.0)
    rules = find_rules(made.data, made.truth, RuleConfig(unit="h"))
    assert all(rule is not None and "within 5 h of" in rule.text for rule in rules.values()), told(rules)


def test_the_rules_of_a_fleet_hold_where_the_true_ones_do() -> None:
    made = simulate(
        "fleet", sequences=3000, labels=6, event_types=400, max_boundary=8, seed=101, label_noise=0.0
    )
    carried = made.data.label_matrix().toarray().astype(bool)
    for at, rule in enumerate(find_rules(made.data, made.truth).values()):
        assert rule is not None
        held = rule.holds(made.data)
        assert 2 * (held & carried[:, at]).sum() / (held.sum() + carried[:, at].sum()) > 0.97, rule.text


@pytest.fixture(scope="module")
def short() -> Simulated:
    return simulate("short", sequences=900, labels=2, seed=100)


def test_figures_are_those_of_the_held_out_sequences(short: Simulated) -> None:
    """Among all sequences the rule holds about three times as often as among the third held out."""
    rule = find_rules(short.data, short.truth)["L000"]
    assert rule is not None
    held = rule.holds(short.data).sum()
    assert rule.support == pytest.approx(0.34 * held, abs=1)
    assert rule.carrying == round(0.34 * short.data.support[0])
    assert (rule.precision, rule.recall) == (1.0, 1.0)


def test_what_is_held_out_does_not_change_the_rule(short: Simulated) -> None:
    chosen = told(find_rules(short.data, short.truth, RuleConfig(seed=1)))
    assert chosen == told(find_rules(short.data, short.truth, RuleConfig(seed=2)))


def test_same_seed_same_rules(short: Simulated) -> None:
    assert find_rules(short.data, short.truth) == find_rules(short.data, short.truth)


def test_an_event_type_without_influence_is_left_out(short: Simulated) -> None:
    wider = {
        label: [*short.data.event_names[:6], *short.truth.boundary(label)] for label in short.truth.labels
    }
    graph = LabelGraph.from_boundaries({label: dict.fromkeys(events) for label, events in wider.items()})
    assert told(find_rules(short.data, graph)) == {"L000": "E00022 & E00034", "L001": "E00012 & !E00005"}


def test_a_label_without_a_boundary_has_no_rule(short: Simulated) -> None:
    graph = LabelGraph.from_boundaries({"L000": [], "L001": ["E00012"]})
    assert find_rules(short.data, graph)["L000"] is None


def test_a_label_that_its_boundary_does_not_move_has_no_rule() -> None:
    made = simulate("chain", sequences=600, labels=2, seed=100)
    graph = LabelGraph.from_boundaries({"L000": made.truth.boundary("L001")})
    assert find_rules(made.data, graph) == {"L000": None}


def test_a_boundary_that_never_occurs_has_no_rule(short: Simulated) -> None:
    assert find_rules(short.data, LabelGraph.from_boundaries({"L000": ["unheard of"]})) == {"L000": None}


def test_too_few_sequences_with_or_without_a_label_give_no_rule() -> None:
    sequences = [
        EventSequence(f"s{i:03}", ("a",) if i < 19 else ("b",), (0.0,), ("rare",) if i < 19 else ("common",))
        for i in range(200)
    ]
    data = EventDataset.from_sequences(sequences)
    graph = LabelGraph.from_boundaries({"rare": ["a"], "common": ["b"]})
    assert find_rules(data, graph) == {"rare": None, "common": None}
    assert told(find_rules(data, graph, RuleConfig(min_support=19))) == {"rare": "a", "common": "b"}


def noisy(hits: int, alarms: int, missed: int) -> tuple[EventDataset, LabelGraph]:
    """Event `a` in `hits` sequences with the label and in `alarms` without; `missed` have the label only."""
    kinds = [("a", True)] * hits + [("a", False)] * alarms + [("b", True)] * missed + [("b", False)] * 2000
    sequences = [
        EventSequence(f"s{i:04}", (event,), (0.0,), ("x",) if carried else ())
        for i, (event, carried) in enumerate(kinds)
    ]
    return EventDataset.from_sequences(sequences), LabelGraph.from_boundaries({"x": ["a"]})


@pytest.mark.parametrize(("name", "counts"), [("min_precision", (100, 300, 0)), ("min_recall", (50, 0, 200))])
def test_a_rule_below_a_bar_is_dropped(name: str, counts: tuple[int, int, int]) -> None:
    data, graph = noisy(*counts)
    lower: dict[str, Any] = {name: 0.15}
    assert find_rules(data, graph) == {"x": None}
    assert told(find_rules(data, graph, RuleConfig(**lower))) == {"x": "a"}


def test_a_rule_that_held_out_sequences_do_not_confirm_is_dropped() -> None:
    """The label goes with the event in the sequences learnt from, and not at all elsewhere."""
    carried = np.arange(400) % 2 == 0
    draw, own = np.random.default_rng(0).random(400), np.arange(400)
    learn = _learning(carried, draw, RuleConfig().held_out, own)
    occurs = np.where(learn, carried, np.arange(400) // 2 % 2 == 0)
    sequences = [
        EventSequence(f"s{i:03}", ("a",) if occurs[i] else ("b",), (0.0,), ("x",) if carried[i] else ())
        for i in range(400)
    ]
    graph = LabelGraph.from_boundaries({"x": ["a"]})
    assert find_rules(EventDataset.from_sequences(sequences), graph) == {"x": None}


def test_a_label_of_what_does_not_occur_has_a_rule() -> None:
    sequences = [
        EventSequence(f"s{i:03}", ("a",) if i < 60 else ("b",), (0.0,), () if i < 60 else ("x",))
        for i in range(120)
    ]
    graph = LabelGraph.from_boundaries({"x": ["a"]})
    assert told(find_rules(EventDataset.from_sequences(sequences), graph)) == {"x": "!a"}


def test_presence_alone_can_be_asked_for() -> None:
    made = simulate("ordered", sequences=600, labels=1, seed=100)
    assert find_rules(made.data, made.truth, RuleConfig(kind="presence")) == {"L000": None}


def test_only_the_strongest_event_types_are_looked_at(short: Simulated) -> None:
    graph = LabelGraph.from_boundaries({"L000": ["E00022", "E00034"]})
    rule = find_rules(short.data, graph, RuleConfig(max_events=1))["L000"]
    assert rule is not None
    assert rule.text == "E00022"


def test_progress_is_told_label_by_label(short: Simulated) -> None:
    seen: list[tuple[int, int]] = []
    find_rules(short.data, short.truth, progress=lambda *report: seen.append(report[1:3]))
    assert seen == [(1, 2), (2, 2)]


def test_a_label_that_the_data_do_not_have_is_refused(short: Simulated) -> None:
    with pytest.raises(DataError, match=r"1 of 1 label .* 'brake'"):
        find_rules(short.data, LabelGraph.from_boundaries({"brake": ["E00022"]}))


@pytest.mark.parametrize(
    ("name", "bad", "good"),
    [
        ("kind", "times", "presence"),
        ("held_out", 0.04, 0.05),
        ("held_out", 0.81, 0.8),
        ("min_precision", 1.1, 1.0),
        ("min_recall", -0.1, 0.0),
        ("min_support", 0, 1),
        ("max_events", 0, 1),
        ("max_literals", 0, 1),
        ("max_conjunctions", 0, 1),
        ("penalty", 0.0, 0.1),
        ("seed", -1, 0),
    ],
)
def test_settings_outside_of_what_is_allowed_are_refused(name: str, bad: Any, good: Any) -> None:
    with pytest.raises(ConfigError, match=f"{name}={bad!r}"):
        RuleConfig(**{name: bad})
    assert getattr(RuleConfig(**{name: good}), name) == good


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no folder {DATA}")
def test_components_fail_where_their_errors_come_at_the_end() -> None:
    folder = DATA / "azure_pdm"
    data = read_events(folder / "events.csv.gz", folder / "labels.csv.gz")
    truth = read_graph(folder / "truth.csv")
    present = find_rules(data, truth, RuleConfig(kind="presence"))["comp2"]
    arranged = find_rules(data, truth, RuleConfig(unit="h"))["comp2"]
    assert present is not None
    assert arranged is not None
    assert present.text == "error2 & error3"
    assert arranged.text == "error2 among the last 3 events & last error3 after last error2"
    assert np.all(present.holds(data) >= arranged.holds(data))
    assert arranged.precision > 0.98 > 0.4 > present.precision


def test_held_out_sequences_are_whole_groups() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(80, size=400)
    draw, carried = rng.random(80)[group], rng.random(400) < 0.2
    learn = _learning(carried, draw, 0.34, group)
    assert not set(group[learn]) & set(group[~learn])
    assert 0.28 < (~learn).mean() < 0.42
    assert 0.2 < (~learn)[carried].mean() < 0.5


def test_a_rule_confirmed_by_copies_of_few_sequences_alone_is_dropped() -> None:
    """Twelve sequences say nothing about a rule that is right in two out of three."""
    kinds = [("a", True), ("a", True), ("a", False), ("b", False)] * 3
    once = EventDataset.from_sequences(
        [
            EventSequence(f"s{i:03}", (event,), (0.0,), ("x",) if label else ())
            for i, (event, label) in enumerate(kinds)
        ]
    )
    graph, config = LabelGraph.from_boundaries({"x": ["a"]}), RuleConfig(min_precision=0.0, min_recall=0.0)
    assert find_rules(repeated(once, 50), graph, config) == {"x": None}
    assert find_rules(repeated(once, 50, grouped=False), graph, config)["x"] is not None


def test_a_rule_learnt_from_copies_is_not_confirmed_by_them() -> None:
    """The label goes with two sequences alone: copies of them on both sides would confirm their events."""
    once = EventDataset.from_sequences(
        [EventSequence(f"s{i:02}", (f"e{i:02}",), (0.0,), ("x",) if i < 2 else ()) for i in range(40)]
    )
    graph = LabelGraph.from_boundaries({"x": ["e00", "e01"]})
    config = RuleConfig(min_precision=0.0, min_recall=0.0)
    assert find_rules(repeated(once, 30), graph, config) == {"x": None}
    assert told(find_rules(repeated(once, 30, grouped=False), graph, config)) == {"x": "e00 | e01"}
