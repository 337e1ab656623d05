from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from eventcargo.event_kinds import EventKinds
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.sequences import EventSequence
from eventcargo.simulation import simulate
from eventcargo.verification.odds_ratios import odds_ratios

from ..repeats import repeated
from .drawn import claimed, draw

ODDS = ["odds_ratio", "odds_low", "odds_high"]
EXPOSED = {"a": 0.3, "b": 0.3, "c": 0.3, "z": 1.0}


def odds(graph: LabelGraph) -> dict[str, tuple[float | None, ...]]:
    """Odds ratio and interval of each event type of the label `bad`."""
    rows = graph.edges.filter(label="bad").select("event", *ODDS).iter_rows()
    return {event: tuple(values) for event, *values in rows}


@pytest.fixture(scope="module")
def data() -> EventDataset:
    return draw(lambda events: "a" in events, EXPOSED, n=600, noise=0.2)


def test_every_edge_has_an_odds_ratio_within_its_interval(data: EventDataset) -> None:
    found = odds(odds_ratios(claimed("abc"), data))
    assert sorted(found) == ["a", "b", "c"]
    assert all(low < ratio < high for ratio, low, high in found.values())
    (_, a_low, a_high), (_, b_low, b_high) = found["a"], found["b"]
    assert a_low < 16 < a_high  # four to one with a, one to four without
    assert b_low < 1 < b_high


def test_an_event_type_that_is_everywhere_or_nowhere_has_none(data: EventDataset) -> None:
    found = odds(odds_ratios(claimed("azy"), data))
    assert found["z"] == found["y"] == (None, None, None)
    assert found["a"] == odds(odds_ratios(claimed("a"), data))["a"]


def test_everything_else_stays_as_it_was(data: EventDataset) -> None:
    graph = replace(claimed("ca"), families={"a": ("a1",)}, alternatives={"bad": {"a": {"b": 0.1}}})
    found = odds_ratios(graph, data)
    assert found.edges.drop(ODDS).equals(graph.edges.drop(ODDS))
    assert found.edges.columns == graph.edges.columns
    assert (found.support, found.families, found.alternatives) == (
        graph.support,
        graph.families,
        graph.alternatives,
    )


def test_asked_again_it_says_the_same(data: EventDataset) -> None:
    once = odds_ratios(claimed("ab"), data)
    assert odds_ratios(once, data).edges.equals(once.edges)


def test_old_odds_ratios_do_not_stay(data: EventDataset) -> None:
    stale = claimed("az")
    stale = replace(stale, edges=stale.edges.with_columns(pl.lit(7.0).alias(name) for name in ODDS))
    assert odds(odds_ratios(stale, data))["z"] == (None, None, None)


def test_a_label_that_the_data_do_not_have_has_none(data: EventDataset) -> None:
    assert odds_ratios(LabelGraph.from_boundaries({"odd": ["a"]}), data).edges["odds_ratio"].to_list() == [
        None
    ]


def test_a_graph_without_edges_stays_empty(data: EventDataset) -> None:
    assert not len(odds_ratios(LabelGraph.from_boundaries({"bad": []}), data))


def shadowed() -> EventDataset:
    """A site raises both the label and an event type `b`, which has nothing to do with the label."""
    rng, sequences = np.random.default_rng(0), []
    for at in range(3000):
        site = rng.random() < 0.5
        events = ["site"] * bool(site) + ["b"] * bool(rng.random() < (0.6 if site else 0.1))
        labels = ("bad",) if rng.random() < (0.5 if site else 0.1) else ()
        sequences.append(EventSequence(f"{at:04}", tuple(events), (0.0,) * len(events), labels))
    return EventDataset.from_sequences(sequences)


def test_what_the_data_adjust_for_is_adjusted_for() -> None:
    data = shadowed()
    _, low, _ = odds(odds_ratios(claimed("b"), data))["b"]
    data.kinds = EventKinds(adjusted=("site",))
    _, adjusted_low, adjusted_high = odds(odds_ratios(claimed("b"), data))["b"]
    assert low > 1.5
    assert adjusted_low < 1 < adjusted_high


def test_only_sequences_for_which_a_label_is_known_count(data: EventDataset) -> None:
    both = EventDataset.from_sequences(
        [replace(one, labels=(*one.labels, "other") if at % 2 else one.labels) for at, one in enumerate(data)]
    )
    first_half = np.arange(len(both)) < 300
    known = np.ones((len(both), 2), bool)
    known[:, both.label_names.index("bad")] = first_half | both.label_matrix().toarray().astype(bool)[:, 0]
    graph = LabelGraph.from_boundaries({"bad": ["a", "b"], "other": ["a"]})
    found = odds_ratios(graph, both.knowing(known))
    alone = odds_ratios(graph, both.select(known[:, both.label_names.index("bad")]))
    assert odds(found) == odds(alone)
    assert odds(found) != odds(odds_ratios(graph, both))
    assert found.edges.filter(label="other")["odds_ratio"].null_count() == 0


def test_copies_of_sequences_in_one_group_do_not_narrow_the_interval(data: EventDataset) -> None:
    _, low, high = odds(odds_ratios(claimed("ab"), data))["a"]
    _, group_low, group_high = odds(odds_ratios(claimed("ab"), repeated(data)))["a"]
    _, copy_low, copy_high = odds(odds_ratios(claimed("ab"), repeated(data, grouped=False)))["a"]
    assert 0.99 < np.log(group_high / group_low) / np.log(high / low) < 1.05
    assert np.log(copy_high / copy_low) < 0.6 * np.log(high / low)


def test_the_odds_of_causes_that_shift_log_odds_are_found() -> None:
    simulated = simulate("log_odds", seed=100)
    found = odds_ratios(simulated.truth, simulated.data).edges
    promoting, inhibiting = (found.filter(sign=sign)["odds_ratio"] for sign in (1, -1))
    assert promoting.median() == pytest.approx(np.sqrt(2 * 9), rel=0.25)
    assert inhibiting.median() == pytest.approx(1 / np.sqrt(2 * 9), rel=0.4)
