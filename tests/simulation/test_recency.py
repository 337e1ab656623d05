import pytest

from eventcargo.errors import ConfigError
from eventcargo.events import EventSequence
from eventcargo.simulation.recency import RecencyConfig, simulate_recency
from eventcargo.simulation.simulated import Simulated


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate_recency(RecencyConfig(sequences=3_000), seed=1)


def test_the_label_is_its_rule(simulated: Simulated) -> None:
    for label, events in simulated.truth.boundaries.items():
        (a,) = events
        for sequence in simulated.data:
            assert (label in sequence.labels) == holds(sequence, a)


def holds(sequence: EventSequence, a: str) -> bool:
    return a in sequence.events[-8:]


def test_a_cause_occurs_once(simulated: Simulated) -> None:
    for (a,) in simulated.truth.boundaries.values():
        assert {sequence.events.count(a) for sequence in simulated.data} == {1}


def test_a_cause_promotes(simulated: Simulated) -> None:
    assert set(simulated.truth.edges["sign"]) == {1}


@pytest.mark.parametrize(("knob", "refused", "allowed"), [("last", 3, 4), ("length_min", 11, 12)])
def test_a_setting_is_refused_beyond_its_edge_and_allowed_on_it(
    knob: str, refused: int, allowed: int
) -> None:
    with pytest.raises(ConfigError, match=f"{knob}={refused}"):
        RecencyConfig(**{knob: refused})
    simulate_recency(RecencyConfig(sequences=20, **{knob: allowed}))
