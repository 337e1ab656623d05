import numpy as np
import pytest

from eventcargo.quality import Quality
from eventcargo.rules import Literal, Rule, find_rules
from eventcargo.rules.shortfall import _error, with_model

from ..measured import measured
from .drawn import draw_labelled


def rule(hits: int, false_alarms: int, missed: int) -> Rule:
    support, carrying = hits + false_alarms, hits + missed
    groups = ((Literal("presence", ("A",)),),)
    return Rule("bad", groups, support, carrying, hits / support, hits / carrying)


def quality(f1: float | None, held_out: int = 200, **knobs: object) -> Quality:
    return measured(f1=f1, held_out=held_out, **knobs)


@pytest.mark.parametrize(
    ("found", "f1", "held_out", "falls_short"),
    [
        (rule(166, 34, 34), 0.99, 200, True),
        (rule(16_600, 3_400, 3_400), 0.86, 20_000, False),  # less than the least difference
        (rule(8, 1, 1), 0.99, 200, False),  # too few sequences to be sure
        (rule(166, 34, 34), 0.9, 10, False),
        (rule(190, 10, 10), 0.8, 200, False),  # the rule is better
    ],
)
def test_a_rule_falls_short_if_the_model_is_clearly_better(
    found: Rule, f1: float, held_out: int, falls_short: bool
) -> None:
    compared = with_model(found, quality(f1, held_out).labels[0])
    assert (compared.model_f1, compared.falls_short) == (f1, falls_short)


@pytest.mark.parametrize("said", [quality(None), quality(0.99, trusted=False, reason="no")])
def test_a_model_that_is_unknown_or_untrusted_is_not_compared_with(said: Quality) -> None:
    assert with_model(rule(166, 34, 34), said.labels[0]) == rule(166, 34, 34)
    assert with_model(rule(166, 34, 34), None) == rule(166, 34, 34)


def test_the_error_of_f1_is_that_of_repeated_samples() -> None:
    rng = np.random.default_rng(0)
    hits = rng.binomial(120, 2 / 3, 20_000)  # of the sequences that carry the label or are said to
    assert _error(0.8, 120) == pytest.approx(np.std(2 * hits / (120 + hits)), rel=0.03)


def test_rules_are_compared_with_the_models_of_their_labels() -> None:
    data, graph = draw_labelled(Literal("last_after", ("A", "B")), noise=0.2)
    models = measured(label="x", f1=0.99, held_out=400)
    found = find_rules(data, graph, quality=models)["x"]
    assert found is not None
    assert found.falls_short
    assert find_rules(data, graph)["x"] is not None
    assert not find_rules(data, graph)["x"].falls_short  # type: ignore[union-attr]
