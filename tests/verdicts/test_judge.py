import re

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
    made = {check.__name__ for check in checks.CHECKS}
    assert made == {name for name in vars(checks) if name.startswith("check_")}
