import pytest

from eventcargo.errors import ConfigError
from eventcargo.events import EventSequence
from eventcargo.simulation.repeat import RepeatConfig, simulate_repeat
from eventcargo.simulation.simulated import Simulated


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate_repeat(RepeatConfig(sequences=3_000), seed=1)


def test_the_label_is_its_rule(simulated: Simulated) -> None:
    for label, events in simulated.truth.boundaries.items():
        (a,) = events
        for sequence in simulated.data:
            assert (label in sequence.labels) == holds(sequence, a)


def holds(sequence: EventSequence, a: str) -> bool:
    return sequence.events.count(a) >= 3


def test_another_number_of_times_can_be_asked_for() -> None:
    simulated = simulate_repeat(RepeatConfig(sequences=100, times=2))
    (a,) = simulated.truth.boundary("L000")
    assert all(("L000" in one.labels) == (one.events.count(a) >= 2) for one in simulated.data)


def test_a_cause_promotes(simulated: Simulated) -> None:
    assert set(simulated.truth.edges["sign"]) == {1}


@pytest.mark.parametrize(("knob", "refused", "allowed"), [("times", 1, 2), ("length_min", 16, 17)])
def test_a_setting_is_refused_beyond_its_edge_and_allowed_on_it(
    knob: str, refused: int, allowed: int
) -> None:
    with pytest.raises(ConfigError, match=f"{knob}={refused}"):
        RepeatConfig(**{knob: refused})
    simulate_repeat(RepeatConfig(sequences=20, **{knob: allowed}))
