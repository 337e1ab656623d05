import pytest

from eventcargo.errors import ConfigError
from eventcargo.events import EventSequence
from eventcargo.simulation.follows import FollowsConfig, simulate_follows
from eventcargo.simulation.simulated import Simulated


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate_follows(FollowsConfig(sequences=3_000), seed=1)


def test_the_label_is_its_rule(simulated: Simulated) -> None:
    for label in simulated.rules:
        b, a = causes_of(simulated, label)
        for sequence in simulated.data:
            assert (label in sequence.labels) == holds(sequence, a, b)


def holds(sequence: EventSequence, a: str, b: str) -> bool:
    return (a, b) in list(zip(sequence.events, sequence.events[1:], strict=False))


def causes_of(simulated: Simulated, label: str) -> tuple[str, ...]:
    return tuple(simulated.rules[label].split(" right after "))


def test_both_causes_stand_side_by_side_in_every_sequence(simulated: Simulated) -> None:
    for label in simulated.rules:
        b, a = causes_of(simulated, label)
        assert all(holds(sequence, a, b) or holds(sequence, b, a) for sequence in simulated.data)


def test_signs_are_unknown(simulated: Simulated) -> None:
    assert set(simulated.truth.edges["sign"]) == {0}


def test_sequences_too_short_for_four_events_a_label_are_refused() -> None:
    with pytest.raises(ConfigError, match="length_min=16: use at least 17 for 4 labels"):
        FollowsConfig(length_min=16)


def test_sequences_with_room_for_four_events_a_label_are_allowed() -> None:
    assert simulate_follows(FollowsConfig(sequences=20, length_min=17)).data.lengths.min() >= 17
