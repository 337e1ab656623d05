import re

import numpy as np
import pytest

from eventcargo import EventDataset, EventSequence, LabelGraph
from eventcargo.rules import Literal, Rule
from eventcargo.rules.occurrences import Occurrences
from eventcargo.simulation import simulate
from eventcargo.verdicts.config import JudgeConfig
from eventcargo.verdicts.evidence import Evidence
from eventcargo.verdicts.predictability import FOLDS, Predictability, Predictor, _folds

from ..repeats import repeated
from ..verification.drawn import draw_long
from .conftest import sequences


def told(data: EventDataset, members: list[str], seed: int = 0) -> Predictability:
    numbers = [list(data.event_names).index(name) for name in members]
    carries = data.label_matrix().toarray()[:, 0] > 0
    return Predictor(data).predict(carries, numbers, np.random.default_rng(seed))


def test_a_cause_explains_its_label(clear: EventDataset) -> None:
    assert told(clear, ["x"]).explained > 0.94


def test_what_always_occurs_explains_nothing(clear: EventDataset) -> None:
    assert told(clear, ["y"]).explained == pytest.approx(0, abs=0.01)


def test_nothing_explains_nothing(clear: EventDataset) -> None:
    assert told(clear, []).explained == pytest.approx(0, abs=0.01)


def test_exceptions_are_told() -> None:
    """x without y, or y without x: no sum of effects says that."""
    data = sequences(
        (("x", "z"), ("bad",), 60), (("y", "z"), ("bad",), 60), (("x", "y"), (), 60), (("z",), (), 60)
    )
    assert told(data, ["x", "y"]).explained > 0.95


@pytest.mark.parametrize("regime", ["ordered", "repeat", "recency", "timing", "follows"])
def test_arrangements_are_told_where_presence_is_not_enough(regime: str) -> None:
    simulated = simulate(regime, sequences=1000, labels=1, seed=100)
    assert told(simulated.data, simulated.truth.boundary("L000")).explained > 0.8


def test_a_rule_tells_what_arrangements_of_two_do_not() -> None:
    data = draw_long(lambda events: bool(re.search("b[^c]*a", events)), "abcx", length=12)
    members = [data.event_names.index(name) for name in "abc"]
    carries, rng = data.label_matrix().toarray()[:, 0] > 0, np.random.default_rng(0)
    held = Literal("state", ("a", "b", "c")).holds(Occurrences.locate(data, "abc"))
    alone, with_rule = (
        Predictor(data).predict(carries, members, rng, rule).explained for rule in (None, held)
    )
    assert alone < 0.7 < with_rule


def test_the_rule_of_a_label_is_read_by_its_verdict() -> None:
    data = draw_long(lambda events: bool(re.search("b[^c]*a", events)), "abcx", length=12)
    rule = Rule("bad", ((Literal("state", ("a", "b", "c")),),), 100, 100, 1.0, 1.0)
    boundary = LabelGraph.from_boundaries({"bad": "abc"})
    shares = [
        Evidence(data, boundary, None, JudgeConfig(), rules=rules).predictabilities[0]
        for rules in ({}, {"bad": rule})
    ]
    assert shares[0] is not None
    assert shares[1] is not None
    assert shares[0].explained + 0.1 < shares[1].explained


def test_noise_is_not_learnt_by_heart() -> None:
    simulated = simulate("ordered", sequences=1000, labels=2, seed=100)
    assert told(simulated.data, simulated.truth.boundary("L001")).explained < 0.05


def test_chances_are_as_frequent_as_they_say() -> None:
    data = sequences((("x",), ("bad",), 300), (("x",), (), 100), (("y",), ("bad",), 40), (("y",), (), 360))
    probabilities = told(data, ["x"]).probabilities
    x = data.presence()[:, [0]].toarray().ravel() > 0
    assert probabilities[x] == pytest.approx(0.75, abs=0.02)
    assert probabilities[~x] == pytest.approx(0.1, abs=0.02)


def test_no_sequence_is_told_by_itself() -> None:
    """One sequence with an event of its own: what it carries must not show in its chance."""
    data = sequences((("x",) * 5, ("bad",), 1), (("y",), ("bad",), 100), (("z",), (), 100))
    assert told(data, ["x"]).probabilities[0] == pytest.approx(0.5, abs=0.05)


def test_a_handful_of_sequences_is_no_rule() -> None:
    """Four sequences with x carry the label: too few for a leaf of their own."""
    data = sequences((("x",), ("bad",), 4), (("y",), ("bad",), 98), (("z",), (), 102))
    assert told(data, ["x"]).probabilities[0] == pytest.approx(0.5, abs=0.02)


def test_a_leaf_leans_towards_the_base_rate() -> None:
    data = sequences((("x",), ("bad",), 10), (("x",), (), 990))
    assert told(data, []).probabilities == pytest.approx(0.01, abs=1e-6)


def test_arrangements_that_tell_nothing_are_not_used() -> None:
    simulated = simulate("confounded", sequences=1000, labels=1, seed=100)
    probabilities = told(simulated.data, simulated.truth.boundary("L000")).probabilities
    assert len(np.unique(probabilities)) <= 2 * FOLDS


def test_a_label_that_all_carry_has_nothing_to_explain() -> None:
    assert told(sequences((("x",), ("bad",), 50)), ["x"]).explained == 0.0


def test_every_fold_has_its_part_of_the_label() -> None:
    carries = np.arange(100) < 10
    folds = _folds(carries, np.arange(100), np.random.default_rng(0))
    assert np.bincount(folds[carries], minlength=FOLDS).tolist() == [2] * FOLDS
    assert np.bincount(folds, minlength=FOLDS).tolist() == [20] * FOLDS


def test_folds_keep_groups_whole_and_share_the_label() -> None:
    carries, group = np.arange(300) % 30 == 0, np.arange(300) // 3
    folds = _folds(carries, group, np.random.default_rng(0))
    assert (folds.reshape(100, 3) == folds[::3, None]).all()
    assert np.bincount(folds[carries], minlength=FOLDS).tolist() == [2] * FOLDS


def test_a_label_that_only_repeats_is_not_foretold_from_its_copies() -> None:
    """A member for each sequence, so that a tree without groups knows every label from its copies."""
    alone = [EventSequence(f"s{i:02}", (f"e{i:02}",), (0.0,), ("bad",) if i % 2 else ()) for i in range(60)]
    members = [f"e{i:02}" for i in range(60)]
    once = EventDataset.from_sequences(alone)
    assert told(repeated(once, 20), members).explained < 0.1
    assert told(repeated(once, 20, grouped=False), members).explained > 0.5


def test_the_same_seed_gives_the_same_forecast(clear: EventDataset) -> None:
    assert np.array_equal(told(clear, ["x"], 3).probabilities, told(clear, ["x"], 3).probabilities)
