import pytest

from eventcargo.events import EventSequence
from eventcargo.simulation.ordered import OrderedConfig, simulate_ordered
from eventcargo.simulation.simulated import Simulated


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate_ordered(OrderedConfig(sequences=3_000), seed=1)


def test_the_label_is_its_rule(simulated: Simulated) -> None:
    for label in simulated.rules:
        a, b = causes_of(simulated, label)
        for sequence in simulated.data:
            assert (label in sequence.labels) == holds(sequence, a, b)


def holds(sequence: EventSequence, a: str, b: str) -> bool:
    return sequence.events.index(a) < sequence.events.index(b)


def causes_of(simulated: Simulated, label: str) -> tuple[str, ...]:
    return tuple(simulated.rules[label].split(" before "))


def test_signs_are_unknown(simulated: Simulated) -> None:
    assert set(simulated.truth.edges["sign"]) == {0}


def test_a_cause_may_stand_anywhere(simulated: Simulated) -> None:
    a, _ = causes_of(simulated, "L000")
    assert {sequence.events.index(a) for sequence in simulated.data} >= set(range(30))
