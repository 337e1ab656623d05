import re

import numpy as np
import pytest

from eventcargo import EventDataset, LabelGraph
from eventcargo.simulation import Simulated, simulate
from eventcargo.verdicts import checks
from eventcargo.verdicts.judge import judge

from ..measured import measured
from .conftest import graph, sequences


def with_decoys(simulated: Simulated) -> LabelGraph:
    """What a method finds where a hidden cause raises the label and a decoy: both."""
    decoys = {label: re.findall(r"raises (\S+)", rule)[0] for label, rule in simulated.rules.items()}
    return LabelGraph.from_boundaries(
        {label: [*simulated.truth.boundary(label), decoys[label]] for label in simulated.truth.labels}
    )


@pytest.fixture(scope="module")
def confounded() -> Simulated:
    return simulate("confounded", seed=100)


def test_hidden_common_causes_are_not_trusted(confounded: Simulated) -> None:
    verdicts = judge(confounded.data, with_decoys(confounded))
    assert {verdict.level for verdict in verdicts.values()} == {"caution"}
    assert all("hidden cause" in verdict.reasons[0] for verdict in verdicts.values())


def test_the_decoy_of_a_hidden_cause_is_named(confounded: Simulated) -> None:
    for label, verdict in judge(confounded.data, with_decoys(confounded)).items():
        decoy = re.findall(r"raises (\S+)", confounded.rules[label])[0]
        assert f"least decided: {decoy};" in verdict.reasons[0]


def test_the_decoy_of_a_hidden_cause_is_missing_where_it_was_left_out(confounded: Simulated) -> None:
    for label, verdict in judge(confounded.data, confounded.truth).items():
        decoy = re.findall(r"raises (\S+)", confounded.rules[label])[0]
        assert any(reason.startswith(f"{decoy} is not in the boundary") for reason in verdict.missing)
        assert not any("not in the boundary" in reason for reason in verdict.reasons)


@pytest.mark.parametrize("regime", ["noisy_or", "log_odds"])
def test_weak_causes_that_explain_little_are_trusted_and_the_share_is_told(regime: str) -> None:
    simulated = simulate(regime, seed=100)
    verdicts = judge(simulated.data, simulated.truth).values()
    assert {found.level for found in verdicts} == {"trust"}
    for found in verdicts:
        share = re.findall(r"explains (\d+)% of the label", found.reasons[0])[0]
        assert int(share) < 50
        assert f"explains {share}% of the label: the rest is random or not recorded" in found.missing[0]


@pytest.mark.parametrize("regime", ["noisy_or", "log_odds", "chain"])
def test_random_boundaries_are_not_trusted(regime: str) -> None:
    simulated, rng = simulate(regime, seed=100), np.random.default_rng(0)
    truth = simulated.truth.boundaries
    strange = set(simulated.data.event_names).difference(*truth.values())
    boundaries = {label: rng.choice(sorted(strange), len(truth[label]), replace=False) for label in truth}
    verdicts = judge(simulated.data, LabelGraph.from_boundaries(boundaries)).values()
    assert [found.level for found in verdicts].count("trust") <= len(verdicts) / 4


@pytest.mark.parametrize("regime", ["chain", "ordered"])
def test_true_boundaries_are_trusted(regime: str) -> None:
    simulated = simulate(regime, seed=100)
    assert {found.level for found in judge(simulated.data, simulated.truth).values()} == {"trust"}


def test_true_boundaries_of_a_fleet_are_trusted() -> None:
    simulated = simulate("fleet", sequences=4000, event_types=400, labels=12, max_boundary=8, seed=100)
    levels = [found.level for found in judge(simulated.data, simulated.truth).values()]
    assert levels.count("trust") >= 11


def test_trust_has_its_reason_too(clear: EventDataset) -> None:
    (reason,) = judge(clear, graph())["bad"].reasons
    assert reason == "its boundary of 1 event type explains 95% of the label, carried by 100 sequences"


def test_a_boundary_with_nothing_missing_says_so(clear: EventDataset) -> None:
    assert judge(clear, graph())["bad"].missing == ()


def test_less_than_nothing_is_not_explained() -> None:
    rng = np.random.default_rng(0)
    kinds = [
        (("x",) if rng.random() < 0.5 else ("y",), ("bad",) if rng.random() < 0.4 else (), 1)
        for _ in range(300)
    ]
    verdict = judge(sequences(*kinds), graph(p_value=0.01))["bad"]
    assert verdict.level == "trust"
    assert "explains 0% of the label" in verdict.reasons[0]


def test_every_label_of_the_graph_has_a_verdict() -> None:
    data = sequences((("x",), ("a", "b"), 2), (("y",), ("a",), 50), (("z",), (), 50))
    verdicts = judge(data, graph({"b": [], "a": ["y"]}))
    assert {label: verdict.label for label, verdict in verdicts.items()} == {"a": "a", "b": "b"}
    assert verdicts["b"].level == "doubt"
    assert verdicts["b"].reasons[0].startswith("only 2 sequences")
    assert verdicts["b"].reasons[1] == "no event type was found to cause it"


def test_reasons_from_the_quality_of_models_count(clear: EventDataset) -> None:
    assert judge(clear, graph(), measured(trusted=False, reason="no"))["bad"].level == "doubt"


def test_the_same_seed_gives_the_same_verdicts(confounded: Simulated) -> None:
    one, other = (judge(confounded.data, confounded.truth, seed=3) for _ in range(2))
    assert one == other


def test_data_without_sequences_give_no_trust() -> None:
    data = sequences((("x",), ("bad",), 1)).select([])
    assert judge(data, graph())["bad"].level == "doubt"


def test_the_seed_decides_how_sequences_are_divided() -> None:
    data = sequences((("x",), ("bad",), 20), (("x",), (), 13), (("y",), (), 17))
    assert len({judge(data, graph(), seed=seed)["bad"].reasons for seed in range(6)}) > 1


def test_every_check_is_made() -> None:
    for kind, made in (("check_", checks.CHECKS), ("missing_", checks.MISSING)):
        assert {check.__name__ for check in made} == {name for name in vars(checks) if name.startswith(kind)}
