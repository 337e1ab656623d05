from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from eventcargo import EventDataset, EventSequence, LabelGraph
from eventcargo.event_kinds import EventKinds
from eventcargo.report import ReportInput
from eventcargo.report.event_types import LONGEST
from eventcargo.report.page_data import build_page_data, shorter

from .material import dataset, edge_table, garage


def test_a_label_has_its_line_and_its_part() -> None:
    found = build_page_data(garage(), max_sequences=8)
    assert [line["name"] for line in found.overview["labels"]] == ["brake", "fuel", "horn"]
    assert [len(part["edges"]) for part in found.labels] == [2, 1, 0]


def test_a_label_looked_at_in_vain_has_no_rule_and_another_none_at_all() -> None:
    brake, fuel, horn = build_page_data(garage(), max_sequences=8).overview["labels"]
    assert brake["rule"]["text"] == "P01 & !U02"
    assert brake["rule"]["shortfall"].startswith("the model knows more")
    assert fuel["rule"] is None
    assert "rule" not in horn


def test_a_label_has_both_answers_of_its_verdict() -> None:
    brake, fuel, _ = build_page_data(garage(), max_sequences=8).overview["labels"]
    assert brake["missing"] == ["X07 is not in the boundary", "<i>explains</i> 16%"]
    assert (fuel["reasons"], fuel["missing"]) == (["few sequences: 2"], [])
    (unjudged, *_) = build_page_data(replace(garage(), verdicts={}), max_sequences=8).overview["labels"]
    assert (unjudged["level"], unjudged["missing"]) == (None, [])


def test_settings_are_shown_as_words_and_other_texts_unchanged() -> None:
    about = {"max_time": "30m", "near_miss": "2", "seed": "7", "<b_c>": "x"}
    content = ReportInput(LabelGraph.from_boundaries({"brake": []}), dataset([("s1", "A", "")]), about=about)
    names = [name for name, _ in build_page_data(content, max_sequences=8).overview["about"]]
    assert names == ["time limit", "near miss", "seed", "<b_c>"]


def test_support_is_counted_in_the_data() -> None:
    assert [line["support"] for line in build_page_data(garage(), max_sequences=8).overview["labels"]] == [
        2,
        2,
        1,
    ]


def test_the_sequences_for_which_a_label_is_known_are_counted_where_not_all_are() -> None:
    data = dataset([("s1", "A", "brake"), ("s2", "A", "fuel"), ("s3", "A", "")])
    content = ReportInput(LabelGraph.from_boundaries({"brake": [], "fuel": [], "odd": []}), data)
    assert "known" not in build_page_data(content, max_sequences=8).overview["labels"][0]
    known = data.knowing(np.array([[True, False], [True, True], [True, False]]))
    lines = build_page_data(replace(content, data=known), max_sequences=8).overview["labels"]
    assert [line.get("known") for line in lines] == [3, 1, None]


def test_support_of_a_label_that_the_data_do_not_know_is_the_graph_s() -> None:
    content = ReportInput(LabelGraph.from_boundaries({"odd": []}, {"odd": 9}), dataset([("s1", "A", "")]))
    assert build_page_data(content, max_sequences=8).overview["labels"][0]["support"] == 9


def test_the_sign_of_an_edge_that_has_none_is_that_of_its_effect() -> None:
    edges = pl.DataFrame({"label": ["brake"] * 2, "event": ["A", "B"], "effect": [-0.1, None]})
    content = ReportInput(LabelGraph.from_edges(edges), dataset([("s1", "A B", "brake")]))
    causes = build_page_data(content, max_sequences=8).overview["labels"][0]["causes"]
    assert [cause[:2] for cause in causes] == [[0, -1], [1, 0]]


def test_numbers_that_are_unknown_are_left_out() -> None:
    edges = pl.DataFrame(
        {"label": ["brake"], "event": ["A"], "strength": [float("inf")], "effect": [0.1234567]}
    )
    content = ReportInput(LabelGraph.from_edges(edges), dataset([("s1", "A", "brake")]))
    assert build_page_data(content, max_sequences=8).labels[0]["edges"] == [{"event": 0, "effect": 0.1235}]


def test_an_edge_with_an_odds_ratio_has_a_weight() -> None:
    brake, fuel, _ = build_page_data(garage(), max_sequences=8).labels
    assert [edge.get("weight") for edge in brake["edges"]] == ["strong", "weak"]
    assert "weight" not in fuel["edges"][0]


def test_effects_stand_at_the_places_of_their_events() -> None:
    found = build_page_data(garage(), max_sequences=8)
    sequence = found.labels[0]["sequences"][0]
    assert [found.overview["names"][event] for event in sequence["events"]] == ["P01", "X07", "P01", "K03"]
    assert (sequence["at"], sequence["effects"]) == ([0, 2], [0.9, 0.9])


def test_effects_of_a_cut_sequence_stand_at_the_places_that_are_left() -> None:
    data = dataset([("s1", " ".join(["X"] * 500 + ["A"]), "brake")])
    edges = edge_table([("s1", "brake", "A", 500, 1.0, 0.5, "present", "total")])
    found = build_page_data(
        ReportInput(LabelGraph.from_boundaries({"brake": ["A"]}), data, edges), max_sequences=8
    )
    (sequence,) = found.labels[0]["sequences"]
    assert sequence["first"][sequence["at"][0]] == 500
    assert (sequence["n"], len(sequence["events"])) == (501, 200)


@pytest.mark.parametrize(("scale", "expected"), [(1.0, [0, 1.5]), (1e-6, [0, 1.5e-6]), (1e6, [0, 1_500_000])])
def test_times_are_told_since_the_first_event(scale: float, expected: list[float]) -> None:
    sequence = EventSequence("s1", ("A", "B"), (100 * scale, 101.5 * scale), ("brake",))
    edges = edge_table([("s1", "brake", "A", 0, 1.0, 0.5, "present", "total")])
    graph = LabelGraph.from_boundaries({"brake": ["A"]})
    (shown,) = build_page_data(ReportInput(graph, EventDataset.from_sequences([sequence]), edges), 8).labels[
        0
    ]["sequences"]
    assert shown["times"] == pytest.approx(expected)
    assert shown["start"] == pytest.approx(100 * scale)


def test_an_order_of_events_has_no_times() -> None:
    sequence = EventSequence("s1", ("A", "B"), (0.0, 1.0), ("brake",))
    edges = edge_table([("s1", "brake", "A", 0, 1.0, 0.5, "present", "total")])
    data = EventDataset.from_sequences([sequence], time_kind="order")
    found = build_page_data(ReportInput(LabelGraph.from_boundaries({"brake": ["A"]}), data, edges), 8)
    assert found.labels[0]["sequences"][0]["times"] is None


def test_names_of_causes_are_whole_and_others_are_cut() -> None:
    cause, other = "c" * 300, "o" * 300
    edges = edge_table([("s1", "brake", cause, 0, 1.0, 0.5, "present", "total")])
    graph = LabelGraph.from_boundaries({"brake": [cause]})
    found = build_page_data(ReportInput(graph, dataset([("s1", f"{cause} {other}", "brake")]), edges), 8)
    assert found.overview["names"] == [cause, "o" * (LONGEST - 1) + "…"]


def test_labels_that_only_the_baseline_has_are_left_out() -> None:
    content = replace(garage(), baseline=LabelGraph.from_boundaries({"other": ["P01"]}))
    assert [line["baseline"] for line in build_page_data(content, 8).overview["labels"]] == [[], [], []]


def test_event_types_that_cause_nothing_follow_with_their_numbers_of_sequences() -> None:
    found = build_page_data(replace(garage(), edges=None, baseline=None), 8).overview
    assert list(zip(found["names"], found["seen"], strict=True)) == [
        ("P01", 3),
        ("U02", 1),
        ("K03", 2),
        ("X07", 5),
    ]


def test_event_types_that_are_adjusted_for_are_not_listed() -> None:
    data = dataset([("s1", "A site=1 B", "brake")])
    data.kinds = EventKinds(attributes=("site=1",), adjusted=("site=1",))
    found = build_page_data(ReportInput(LabelGraph.from_boundaries({"brake": ["B"]}), data), 8).overview
    assert found["names"] == ["B", "A"]


def test_the_rarest_event_types_are_left_out_of_a_page_of_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eventcargo.report.event_types.MAX_TYPES", 2)
    content = ReportInput(
        LabelGraph.from_boundaries({"brake": ["C"]}), dataset([("s1", "A B B C", "brake"), ("s2", "B", "")])
    )
    found = build_page_data(content, 8).overview
    assert (found["names"], found["data"]["types"]) == (["C", "B"], 3)


def test_a_data_set_without_sequences_can_be_told() -> None:
    content = ReportInput(LabelGraph.from_boundaries({"brake": []}), EventDataset.from_sequences([]))
    assert build_page_data(content, 8).overview["data"]["lengths"] == [0, 0, 0]


def test_the_members_of_a_family_are_named() -> None:
    graph = LabelGraph.from_boundaries({"brake": ["P01"]}).with_kinds({"P01": ("P011", "P012")})
    data = EventDataset.from_sequences([EventSequence("car1", ("P01",), (0.0,), ("brake",))])
    found = build_page_data(ReportInput(graph, data), 8).overview
    assert found["names"] == ["P01", "P011", "P012"]
    assert found["families"] == {"0": {"n": 2, "members": [1, 2]}}


def test_a_cause_and_a_rule_have_their_plain_counts() -> None:
    brake, fuel, _ = build_page_data(garage(), 8).overview["labels"]
    assert brake["among"] == [2, 5]
    assert [cause[5:] for cause in brake["causes"]] == [[2, 3], [0, 1]]
    assert brake["rule"]["counts"] == [2, 2]
    assert [cause[5:] for cause in fuel["causes"]] == [[1, 2]]


def test_a_label_that_the_data_do_not_have_has_no_counts() -> None:
    content = ReportInput(LabelGraph.from_boundaries({"odd": ["A"]}), dataset([("s1", "A", "brake")]))
    (odd,) = build_page_data(content, 8).overview["labels"]
    assert "among" not in odd
    assert odd["causes"][0][5:] == [None, None]


def test_a_page_with_fewer_sequences_is_the_page_made_with_fewer() -> None:
    edges = [(f"p{at}", "brake", "A", 0, 1.0, 0.5, "present", "total") for at in range(6)]
    edges += [(f"q{at}", "brake", "A", 0, 1.0, 0.5, "absent", "total") for at in range(3)]
    data = dataset([(f"p{at}", "A", "brake") for at in range(6)] + [(f"q{at}", "A", "") for at in range(3)])
    content = ReportInput(LabelGraph.from_boundaries({"brake": ["A"]}), data, edge_table(edges))
    whole = build_page_data(content, 8)
    for most in (6, 4, 2, 1, 0):
        assert shorter(whole, most).labels == build_page_data(content, most).labels


def test_curves_stand_at_the_events_shown() -> None:
    def rising(sequences: EventDataset) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for row, length in enumerate(sequences.lengths.tolist()):
            read = np.arange(1, length)  # all but the first
            yield read, np.linspace(0, 1, length + 1)[:, None] + 0.01 * row

    data = dataset([("s1", "A B C", "brake"), ("s2", "B A", "brake")])
    edges = edge_table([(name, "brake", "A", 0, 1.0, 0.5, "present", "total") for name in ("s1", "s2")])
    content = ReportInput(LabelGraph.from_boundaries({"brake": ["A"]}), data, edges, probabilities=rising)
    curves = {shown["id"]: shown["curve"] for shown in build_page_data(content, 8).labels[0]["sequences"]}
    assert curves == {"s1": [0.0, None, 0.333, 0.667, 1.0], "s2": [0.01, None, 0.51, 1.01]}


def test_without_a_model_there_are_no_curves() -> None:
    parts = build_page_data(garage(), 8).labels
    assert all("curve" not in shown for part in parts for shown in part["sequences"])
