import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

from eventcargo import EventDataset, Knowledge, LabelGraph
from eventcargo.event_kinds import EventKinds
from eventcargo.events import TimeKind
from eventcargo.quality import Quality
from eventcargo.rules import Literal, Rule
from eventcargo.verdicts import checks
from eventcargo.verdicts.config import JudgeConfig
from eventcargo.verdicts.evidence import Evidence
from eventcargo.verdicts.judge import judge

from ..measured import measured
from .conftest import CLEAR, Kind, graph, sequences

Check = Callable[[Evidence, int], Iterator[Any]]


def found(
    check: Check,
    data: EventDataset,
    found_graph: LabelGraph,
    quality: Quality | None = None,
    **settings: float,
) -> list[Any]:
    """The findings of a check of edges, or the reasons of a check for missing ones."""
    config = JudgeConfig(**settings)  # type: ignore[arg-type]
    return list(check(Evidence(data, found_graph, quality, config), 0))


def one(*given: Any, **settings: Any) -> Any:
    (finding,) = found(*given, **settings)
    return finding


def test_a_model_that_was_not_trusted_is_told(clear: EventDataset) -> None:
    said = measured(trusted=False, reason="no better than its base rate")
    assert one(checks.check_model, clear, graph(), said) == (
        "doubt",
        "the label is untrusted: no better than its base rate",
    )


@pytest.mark.parametrize(
    ("p_values", "level"), [([0.05, 0.01], "caution"), ([0.06, 0.01], "doubt"), ([None, 0.01], "doubt")]
)
def test_the_data_may_bear_out_what_the_model_cannot_tell(
    clear: EventDataset, p_values: list[float | None], level: str
) -> None:
    edges = pl.DataFrame({"label": "bad", "event": ["x", "z"], "p_value": p_values})
    said = measured(trusted=False, reason="no better than its base rate")
    told, words = one(checks.check_model, clear, LabelGraph.from_edges(edges, {"bad": None}), said)
    assert (told, words.endswith("; its causes rest on the data alone")) == (level, level == "caution")


def test_an_empty_boundary_is_not_borne_out(clear: EventDataset) -> None:
    said = measured(trusted=False, reason="no better than its base rate")
    empty = LabelGraph.from_boundaries({"bad": []})
    assert one(checks.check_model, clear, empty, said)[0] == "doubt"


@pytest.mark.parametrize("said", [measured(), measured(label="other", trusted=False), None])
def test_other_models_are_fine(clear: EventDataset, said: dict[str, Any]) -> None:
    assert found(checks.check_model, clear, graph(), said) == []


@pytest.mark.parametrize(
    ("count", "level", "words"),
    [
        (9, "doubt", "only 9 sequences .* fewer than 10"),
        (10, "caution", "only 10 "),
        (29, "caution", "only 29 "),
    ],
)
def test_few_sequences_are_told(count: int, level: str, words: str) -> None:
    data = sequences((("x",), ("bad",), count), (("y",), (), 50))
    said = one(checks.check_basis, data, graph())
    assert said[0] == level
    assert re.match(words, said[1])


def test_enough_sequences_are_fine() -> None:
    data = sequences((("x",), ("bad",), 30), (("y",), (), 50))
    assert found(checks.check_basis, data, graph()) == []


def test_a_label_that_all_carry_is_told() -> None:
    said = one(checks.check_basis, sequences((("x",), ("bad",), 50)), graph())
    assert said == ("doubt", "of 50 sequences, all carry the label: there is nothing to compare with")


@pytest.mark.parametrize(("count", "level"), [(2, "doubt"), (3, None)])
def test_sequences_of_two_groups_are_too_few_to_predict_one_from_the_others(
    count: int, level: str | None
) -> None:
    data = sequences(*CLEAR)
    data.groups = np.arange(len(data), dtype=np.int32) % count
    findings = found(checks.check_basis, data, graph())
    assert [told for told, _ in findings] == ([level] if level else [])
    assert judge(data, graph())["bad"].level == (level or "trust")


@pytest.mark.parametrize(("f1", "level"), [(0.95, "caution"), (0.85, "trust")])
def test_a_rule_that_falls_short_of_the_model_is_told(clear: EventDataset, f1: float, level: str) -> None:
    rule = Rule("bad", ((Literal("presence", ("x",)),),), 100, 100, 0.83, 0.83, f1, falls_short=f1 > 0.9)
    verdict = judge(clear, graph(), rules={"bad": rule, "other": None})["bad"]
    words = "the model knows more than this rule says: F1 .95 against .83; read it as an approximation"
    assert verdict.level == level
    assert (words in verdict.reasons) == (level == "caution")


def test_a_label_without_a_boundary_is_told(clear: EventDataset) -> None:
    said = one(checks.check_basis, clear, graph({"bad": []}))
    assert said == ("doubt", "no event type was found to cause it")


def test_unstable_edges_are_told_with_the_worst(clear: EventDataset) -> None:
    edges = graph({"bad": ["x", "y", "z"]}).edges
    shaky = LabelGraph.from_edges(edges.with_columns(stability=pl.Series([0.9, 0.79, 0.7])))
    level, reason = one(checks.check_stability, clear, shaky)
    assert level == "caution"
    assert "2 of 3 edges unstable: z is found in only 70% of resampled data" in reason


def test_where_all_edges_are_unstable_there_is_doubt(clear: EventDataset) -> None:
    assert one(checks.check_stability, clear, graph(stability=0.79))[0] == "doubt"


def test_stable_edges_are_fine(clear: EventDataset) -> None:
    assert found(checks.check_stability, clear, graph(stability=0.8)) == []
    assert found(checks.check_stability, clear, graph()) == []


def test_wide_intervals_are_told(clear: EventDataset) -> None:
    level, reason = one(checks.check_intervals, clear, graph(ci_low=0.1, ci_high=0.7))
    assert level == "caution"
    assert "1 of 1 edge uncertain: the frequency of x may be anything from 10% to 70%" in reason


def test_narrow_intervals_are_fine(clear: EventDataset) -> None:
    assert found(checks.check_intervals, clear, graph(ci_low=0.45, ci_high=0.9)) == []


HALF = sequences((("x",), ("bad",), 70), (("x",), (), 30), (("y",), (), 80), (("y",), ("bad",), 20))
"""x, which brings the label by itself, explains about a fifth of it."""

WEAK = sequences((("x",), ("bad",), 40), (("x",), (), 60), (("y",), (), 180), (("y",), ("bad",), 20))
"""x explains about an eighth of the label, and most sequences with x are without it."""


def test_a_boundary_that_leaves_a_decided_label_open_is_told_with_its_least_decided_member() -> None:
    level, reason = one(checks.check_decided, HALF, graph())
    assert level == "caution"
    assert re.search(r"explains (1\d|2\d)% of the label, although a member brings it by itself", reason)
    assert "would look the same (least decided: x; of 100 sequences with it alone, 70% carry the" in reason


def test_a_boundary_that_decides_next_to_nothing_although_a_member_brings_the_label_is_doubted() -> None:
    data = sequences((("x",), ("bad",), 30), (("x",), (), 2), (("y",), ("bad",), 250), (("y",), (), 250))
    level, reason = one(checks.check_decided, data, graph())
    assert (level, "explains 3%" in reason) == ("doubt", True)


def test_where_every_cause_is_weak_a_boundary_that_explains_little_is_no_fault() -> None:
    assert found(checks.check_decided, WEAK, graph()) == []
    reason = one(checks.missing_explained, WEAK, graph())
    assert re.fullmatch(
        r"the boundary explains 1\d% of the label: the rest is random or not recorded", reason
    )


@pytest.mark.parametrize(("carrying", "told"), [(50, 0), (51, 1)])
def test_a_member_brings_the_label_if_most_of_the_sequences_with_it_alone_carry_it(
    carrying: int, told: int
) -> None:
    data = sequences((("x",), ("bad",), carrying), (("x",), (), 100 - carrying), (("y",), (), 99))
    assert len(found(checks.check_decided, data, graph())) == told


def test_a_member_alone_in_few_sequences_is_not_said_to_bring_the_label() -> None:
    few = ((("x",), ("bad",), 29), (("x", "z"), ("bad",), 60), (("x", "z"), (), 60), (("y",), ("bad",), 60))
    boundary = graph({"bad": ["x", "z"]})
    assert found(checks.check_decided, sequences(*few, (("y",), (), 200)), boundary) == []
    one_more = sequences(*few, (("y",), (), 200), (("x",), ("bad",), 1))
    assert len(found(checks.check_decided, one_more, boundary)) == 1


def test_how_much_is_enough_may_be_set() -> None:
    for check in (checks.check_decided, checks.missing_explained):
        assert len(found(check, HALF, graph())) == 1
        assert found(check, HALF, graph(), min_explained=0.1) == []


def test_a_boundary_that_explains_nothing_is_doubted(clear: EventDataset) -> None:
    level, reason = one(checks.check_predictive, clear, graph({"bad": ["y"]}))
    assert (level, reason.startswith("its boundary explains nothing:")) == ("doubt", True)
    assert "explains 0% of the label" in one(checks.missing_explained, clear, graph({"bad": ["y"]}))


def test_a_boundary_that_explains_anything_is_not_doubted_for_it() -> None:
    assert found(checks.check_predictive, WEAK, graph()) == []


@pytest.mark.parametrize(("p_value", "told"), [(0.05, 0), (0.06, 1)])
def test_edges_that_the_data_confirm_need_not_foretell(
    clear: EventDataset, p_value: float, told: int
) -> None:
    assert len(found(checks.check_predictive, clear, graph({"bad": ["y"]}, p_value=p_value))) == told


def test_a_boundary_that_explains_less_than_the_model_is_told_and_not_called_random() -> None:
    reason = one(checks.missing_explained, HALF, graph(), measured(log_loss=0.07, base_log_loss=0.7))
    assert "% of the label, its model 90%: causes are missing, or it depends on their arrangement" in reason


def test_a_boundary_that_explains_less_than_the_model_is_not_trusted() -> None:
    level, reason = one(checks.check_lag, HALF, graph(), measured(log_loss=0.07, base_log_loss=0.7))
    assert (level, "clearly worse than the label model" in reason) == ("caution", True)
    assert found(checks.check_lag, HALF, graph(), measured(log_loss=0.49)) == []
    assert found(checks.check_lag, HALF, graph()) == []


def test_a_boundary_that_explains_as_much_as_the_model_is_fine() -> None:
    for said in (measured(log_loss=0.49), measured(base_log_loss=0.0)):
        assert "its model" not in one(checks.missing_explained, HALF, graph(), said)


@pytest.mark.parametrize(
    "check",
    [checks.check_predictive, checks.check_decided, checks.missing_explained],
    ids=lambda c: c.__name__,
)
def test_an_empty_boundary_is_not_told_twice(check: Check, clear: EventDataset) -> None:
    assert found(check, clear, graph({"bad": []})) == []


def test_event_types_beyond_the_boundary_are_told() -> None:
    data = sequences(
        (("x",), ("bad",), 90),
        (("x",), (), 10),
        (("w",), ("bad",), 60),
        (("w",), (), 40),
        (("y",), (), 100),
        (("z",), (), 100),
    )
    reason = one(checks.missing_beyond, data, graph())
    assert "w is not in the boundary, yet occurs with the label in 60 sequences where" in reason
    assert "predicts 20, and 2 other event types likewise" in reason


def test_a_complete_boundary_leaves_nothing(clear: EventDataset) -> None:
    assert found(checks.missing_beyond, clear, graph()) == []
    assert found(checks.missing_together, clear, graph()) == []


def test_labels_that_go_together_are_told() -> None:
    data = sequences((("x",), ("bad", "worse"), 60), (("x",), (), 60), (("y",), (), 60))
    reason = one(checks.missing_together, data, graph({"bad": ["x"], "worse": ["x"]}))
    assert "it occurs together with worse in 60 sequences where the boundaries predict 30:" in reason


FEW: tuple[Kind, ...] = ((("y", "x", "y"), ("bad",), 12), (("y",), (), 500))
"""x occurs with bad and without it never."""


@pytest.mark.parametrize("count", [5, 12, 400])
def test_a_record_of_the_label_is_told_however_many_carry_it(count: int) -> None:
    level, reason = one(checks.check_leakage, sequences((*FEW[0][:2], count), FEW[1]), graph())
    assert level == "caution"
    assert f"x is in {count} of {count} sequences with bad and in 0 of 500 without: a cause this" in reason
    assert "check that it comes first" in reason


def test_a_record_outside_the_boundary_is_told() -> None:
    data = sequences((("w", "x", "y"), ("bad",), 12), (("y",), (), 500))
    inside, outside = found(checks.check_leakage, data, graph())
    assert inside[1].startswith("x is in 12 of 12")
    assert outside[0] == "caution"
    assert outside[1].startswith("w is in 12 of 12")
    assert "it is not in the boundary, but the model has read it" in outside[1]


def test_several_records_are_counted() -> None:
    data = sequences((("w", "x", "y"), ("bad",), 12), (("y",), (), 500))
    _, reason = one(checks.check_leakage, data, graph({"bad": ["w", "x"]}))
    assert "(and 1 other event type likewise)" in reason


def test_an_event_type_that_ends_the_sequence_is_told() -> None:
    data = sequences((("y", "x"), ("bad",), 99), (("w",), ("bad",), 99), *CLEAR[1:2])
    level, reason = one(checks.check_leakage, data, graph())
    assert level == "caution"
    assert "and is the last event of 99 of these 99: it may have been recorded with the outcome" in reason


def test_an_event_type_that_ends_the_sequence_matters_in_the_boundary_alone() -> None:
    data = sequences((("y", "x"), ("bad",), 99), (("w",), ("bad",), 99), *CLEAR[1:2])
    assert found(checks.check_leakage, data, graph({"bad": ["w"]})) == []


@pytest.mark.parametrize(("share", "level"), [(12, "doubt"), (6, "caution")])
def test_an_event_type_of_the_labels_name_is_told(share: int, level: str) -> None:
    data = sequences((("Bad ", "y"), ("bad",), share), (("y",), ("bad",), 12 - share), (("y",), (), 500))
    told, reason = one(checks.check_leakage, data, graph({"bad": ["Bad "]}))
    assert told == level
    assert "it has the name of the outcome" in reason


def test_a_cause_is_no_record(clear: EventDataset) -> None:
    assert found(checks.check_leakage, clear, graph()) == []


def test_knowledge_decides_what_is_a_record() -> None:
    data = sequences(*FEW)
    for knowledge in (Knowledge(required={"bad": "x"}), Knowledge(forbidden={"bad": "x"})):
        assert known(checks.check_leakage, data, graph({"bad": []}), knowledge) == []
    assert len(known(checks.check_leakage, data, graph({"bad": []}), Knowledge(forbidden={"bad": "y"}))) == 1


def known(
    check: Check, data: EventDataset, found_graph: LabelGraph, knowledge: Knowledge, quality: Any = None
) -> list[Any]:
    resolved = knowledge.resolve(list(data.label_names), list(data.event_names))
    evidence = Evidence(data, found_graph, quality, JudgeConfig(), knowledge=resolved)
    return list(check(evidence, 0))


FORBIDDEN = sequences(
    (("x",), ("bad",), 90),
    (("x",), (), 10),
    (("w",), ("bad",), 80),
    (("w",), (), 20),
    (("y",), (), 100),
    (("z",), (), 100),
)
"""x and w cause bad."""

NO_W = Knowledge(forbidden={"*": "w"})


def test_event_types_that_knowledge_forbids_are_not_missing() -> None:
    assert "w is not in the boundary" in one(checks.missing_beyond, FORBIDDEN, graph())
    assert known(checks.missing_beyond, FORBIDDEN, graph(), NO_W) == []


def test_event_types_that_go_with_forbidden_ones_are_not_missing() -> None:
    data = sequences(
        (("w", "v"), ("bad",), 80),
        (("w", "v"), (), 20),
        (("x",), ("bad",), 90),
        (("y",), (), 100),
        (("z",), (), 100),
    )
    assert "other event types likewise" in one(checks.missing_beyond, data, graph())
    assert known(checks.missing_beyond, data, graph(), NO_W) == []


def test_a_cause_besides_forbidden_ones_is_missing_still() -> None:
    (reason,) = known(checks.missing_beyond, FORBIDDEN, graph({"bad": ["y"]}), NO_W)
    assert reason.startswith("z is not in the boundary")
    assert "and 1 other event type likewise" in reason


def test_a_model_that_reads_forbidden_event_types_may_explain_more() -> None:
    good = measured(log_loss=0.07, base_log_loss=0.7)
    assert "causes are missing" in one(checks.missing_explained, FORBIDDEN, graph(), good)
    (reason,) = known(checks.missing_explained, FORBIDDEN, graph(), NO_W, good)
    assert "causes are missing" not in reason
    assert known(checks.check_lag, FORBIDDEN, graph(), NO_W, good) == []


def test_labels_that_share_a_forbidden_cause_do_not_surprise() -> None:
    both = ("bad", "worse")
    data = sequences((("w", "x"), both, 60), (("w", "x"), (), 1), (("x",), (), 60), (("y",), (), 60))
    boundaries = graph({"bad": ["x"], "worse": ["x"]})
    assert len(found(checks.missing_together, data, boundaries)) == 1
    assert known(checks.missing_together, data, boundaries, NO_W) == []


def test_what_a_member_decides_is_counted_where_the_label_is_known() -> None:
    bad, good, other, unknown = (("x",), ("bad",), 60), (("x",), (), 40), (("y",), (), 40), (("x",), (), 200)
    data = sequences(bad, good, other, unknown).knowing(np.arange(340)[:, None] < 140)
    _, reason = one(checks.check_decided, data, graph())
    assert "of 100 sequences with it alone, 60% carry the label" in reason


def test_labels_that_are_not_studied_together_are_not_compared() -> None:
    """Sequences known for both labels are those of cases with both, and of their controls."""
    both, none = (("x",), ("bad", "worse"), 40), (("x",), (), 40)
    data = sequences(both, none, (("x",), ("bad",), 40), (("x",), ("worse",), 40))
    known = np.ones((160, 2), bool)
    known[80:120, 1] = known[120:, 0] = False
    found_graph = graph({"bad": ["x"], "worse": ["x"]})
    assert found(checks.missing_together, data[:80], found_graph) != []
    assert found(checks.missing_together, data.knowing(known), found_graph) == []


def test_another_threshold_of_a_member_is_a_better_cut_and_no_missing_cause() -> None:
    high, low = (("lab", "lab >= 1", "lab >= 2"), ("bad",), 90), (("lab", "lab >= 1"), (), 90)
    data = sequences(high, low, (("y",), (), 90), step=0.0)
    cuts = ("lab >= 1", "lab >= 2")
    data.kinds = EventKinds(scales=(cuts,), measured={"lab": cuts})
    reason = one(checks.missing_beyond, data, graph({"bad": ["lab >= 1"]}))
    assert reason.startswith("lab >= 2 is not in the boundary")
    assert reason.endswith("may be another than that of lab >= 1; try others with cut=")


FOLLOWED = sequences((("x", "repair"), ("bad",), 50), (("y",), (), 50), (("x", "repair"), (), 1))
TIMING = pl.DataFrame(
    {"label": "bad", "event": ["x", "repair"], "before": [40, 1], "same": 0, "after": [1, 60]}
)


def followers(boundary: list[str], knowledge: Knowledge | None = None) -> list[tuple[str, str]]:
    known = None if knowledge is None else knowledge.resolve(["bad"], list(FOLLOWED.event_names))
    evidence = Evidence(
        FOLLOWED, graph({"bad": boundary}), None, JudgeConfig(), knowledge=known, timing=TIMING
    )
    return list(checks.check_followers(evidence, 0))


@pytest.mark.parametrize(("boundary", "level"), [(["repair"], "doubt"), (["repair", "x"], "caution")])
def test_a_member_that_follows_its_outcome_is_told(boundary: list[str], level: str) -> None:
    ((told, reason),) = followers(boundary)
    assert told == level
    assert reason.startswith("'repair' first occurs after 'bad' in 60 of 61 subjects: it may be a record")
    assert "exclude='repair'" in reason


def test_what_follows_the_outcome_outside_the_boundary_is_not_told() -> None:
    assert followers(["x"]) == []


def test_somebody_may_answer_for_a_member_that_follows_its_outcome() -> None:
    assert followers(["repair"], Knowledge(required={"bad": ["repair"]})) == []


def undated(time_kind: TimeKind, timing: pl.DataFrame | None = None) -> list[tuple[str, str]]:
    data = sequences(
        (("note", "x"), ("bad",), 85), (("x",), ("bad",), 15), (("y",), (), 200), (("note",), (), 2)
    )
    data.time_kind = time_kind
    evidence = Evidence(data, graph({"bad": ["note", "x"]}), None, JudgeConfig(), timing=timing)
    return list(checks.check_undated(evidence, 0))


def test_where_only_events_have_dates_what_mostly_comes_with_the_label_may_be_its_record() -> None:
    ((level, reason),) = undated("datetime")
    assert level == "caution"
    assert reason.startswith(
        "note is in 85 of 100 sequences with bad and in 2 of 202 without: no date of the"
    )
    assert "label_time=" in reason


def test_where_outcomes_have_dates_or_events_have_none_nothing_is_said_of_them() -> None:
    assert undated("datetime", TIMING) == undated("number") == []
    assert undated("datetime", TIMING.clear())
