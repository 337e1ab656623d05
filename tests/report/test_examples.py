from collections.abc import Sequence

import numpy as np
import pytest

from eventcargo import EdgeTable, LabelGraph
from eventcargo.errors import DataError
from eventcargo.report.examples import MAX_EVENTS, Shown, choose, show

from .material import Edge, Member, dataset, edge_table

GRAPH = LabelGraph.from_boundaries({"brake": ["A", "B", "C"], "fuel": []})


def edge(sequence: str, event: str, strength: float = 1.0, polarity: str = "present") -> Edge:
    return (sequence, "brake", event, 0, strength, 0.5, polarity, "total")


def chosen(table: EdgeTable, max_sequences: int = 8) -> list[str]:
    return choose(GRAPH, table, max_sequences)["sequence"].to_list()


def one(sequences: list[tuple[str, str, str]], edges: Sequence[Edge | Member]) -> Shown:
    table = edge_table(edges)
    return next(shown for _, shown in show(choose(GRAPH, table, 8), table, dataset(sequences)))


def test_causes_not_seen_yet_come_before_stronger_sequences() -> None:
    table = edge_table([edge("s1", "A", 9), edge("s2", "A", 8), edge("s3", "B", 1), edge("s4", "C", 2)])
    assert chosen(table, max_sequences=3) == ["s1", "s4", "s3"]


def test_a_sequence_that_shows_several_causes_comes_first() -> None:
    table = edge_table([edge("s1", "A", 9), edge("s2", "A", 1), edge("s2", "B", 1)])
    assert chosen(table)[0] == "s2"


def test_a_cause_that_acts_alone_is_shown_beside_sets_that_show_more() -> None:
    sets = [
        ("set" + name, "brake", event, 0, 9.0, 0.5, "present", "total", [other])
        for name in "123"
        for event, other in (("A", "B"), ("B", "A"))
    ]
    table = edge_table([*sets, edge("alone", "A", 1), edge("other", "B", 1)])
    assert chosen(table, max_sequences=3) == ["set1", "alone", "other"]


def test_edges_that_are_not_in_the_graph_choose_nothing() -> None:
    assert chosen(edge_table([edge("s1", "D")])) == []


def test_sequences_without_the_label_get_at_most_half_of_the_places() -> None:
    edges = [edge(f"p{at}", "A") for at in range(9)] + [edge(f"q{at}", "B", 2, "absent") for at in range(9)]
    assert [name[0] for name in chosen(edge_table(edges), max_sequences=4)] == ["p", "p", "q", "q"]


def test_places_that_no_carrier_takes_go_to_the_others() -> None:
    edges = [edge("p0", "A")] + [edge(f"q{at}", "B", 2, "absent") for at in range(9)]
    assert [name[0] for name in chosen(edge_table(edges), max_sequences=4)] == ["p", "q", "q", "q"]


def test_the_order_of_the_edges_changes_nothing() -> None:
    edges = [edge(f"s{at:02}", "ABC"[at % 3], float(at % 4)) for at in range(30)]
    assert chosen(edge_table(edges)) == chosen(edge_table(edges[::-1]))


def test_every_occurrence_has_the_effect_of_total_conditioning() -> None:
    shown = one([("s1", "A X A", "brake")], [("s1", "brake", "A", 0, 1.0, 0.5, "present", "total")])
    assert shown.effects == {0: 0.5, 2: 0.5}


def test_the_prefix_test_has_its_effect_at_one_place() -> None:
    shown = one([("s1", "A X A", "brake")], [("s1", "brake", "A", 2, 1.0, 0.5, "present", "prefix")])
    assert shown.effects == {2: 0.5}


def test_total_conditioning_counts_where_both_tests_were_made() -> None:
    effects = {"total": 0.75, "prefix": 0.25}
    edges = [("s1", "brake", "A", 0, 1.0, effect, "present", test) for test, effect in effects.items()]
    assert one([("s1", "A X", "brake")], edges).effects == {0: 0.75}


def test_effects_of_events_that_are_no_cause_are_shown_too() -> None:
    edges = [edge("s1", "A"), ("s1", "brake", "X", 1, 0.3, 0.125, "present", "total")]
    assert one([("s1", "A X", "brake")], edges).effects == {0: 0.5, 1: 0.125}


def test_polarity_says_whether_a_sequence_carries_the_label() -> None:
    assert not one([("s1", "A", "")], [edge("s1", "A", polarity="absent")]).carries


def test_a_long_sequence_is_cut_to_what_is_near_a_cause() -> None:
    events = " ".join(["X"] * 500 + ["A"] + ["X"] * 500)
    shown = one([("s1", events, "brake")], [edge("s1", "A")])
    assert len(shown.sequence) == 1001
    assert np.array_equal(shown.positions, np.arange(500 - MAX_EVENTS // 2, 500 + MAX_EVENTS // 2))


def test_a_sequence_that_the_data_do_not_have_is_refused() -> None:
    with pytest.raises(DataError, match="'s1'"):
        one([("s2", "A", "")], [edge("s1", "A")])


def test_event_types_hidden_together_are_shown_as_one_set_in_their_order() -> None:
    members = [(event, [other]) for event, other in (("A", "B"), ("B", "A"))]
    edges = [("s1", "brake", event, 0, 1.0, 0.5, "present", "total", others) for event, others in members]
    shown = one([("s1", "X B A B", "brake")], edges)
    assert shown.sets == {("B", "A"): 1}
    assert shown.effects == {1: 0.5, 2: 0.5, 3: 0.5}


def test_an_event_type_that_is_hidden_alone_is_no_set() -> None:
    assert one([("s1", "A B", "brake")], [(*edge("s1", "A"), [])]).sets == {}
