from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from eventcargo.errors import ConfigError
from eventcargo.events import EventSequence
from eventcargo.simulation.simulated import Simulated
from eventcargo.simulation.timing import TimingConfig, simulate_timing


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate_timing(TimingConfig(sequences=3_000), seed=1)


def test_the_label_is_its_rule(simulated: Simulated) -> None:
    for label in simulated.rules:
        a, b = causes_of(simulated, label)
        for sequence in simulated.data:
            assert (label in sequence.labels) == holds(sequence, a, b)


def holds(sequence: EventSequence, a: str, b: str) -> bool:
    return abs(sequence.times[sequence.events.index(a)] - sequence.times[sequence.events.index(b)]) < 1.0


def causes_of(simulated: Simulated, label: str) -> tuple[str, ...]:
    return tuple(simulated.rules[label].removesuffix(" less than 1 apart in time").split(" and "))


def distances(simulated: Simulated, label: str) -> NDArray[np.int64]:
    a, b = causes_of(simulated, label)
    return np.array([one.events.index(b) - one.events.index(a) for one in simulated.data])


def test_order_and_number_of_events_between_say_nothing(
    simulated: Simulated, p_values: Callable[..., NDArray[np.float64]]
) -> None:
    labels = simulated.data.label_matrix().toarray().astype(bool)
    for column, label in enumerate(simulated.rules):
        steps = distances(simulated, label)
        seen = np.stack([steps == step for step in (-3, -2, -1, 1, 2, 3)], axis=1)
        assert seen.any(1).all()
        assert seen.any(0).all()
        assert p_values(seen, labels[:, [column]]).min() > 0.05 / 24


def test_signs_are_unknown(simulated: Simulated) -> None:
    assert set(simulated.truth.edges["sign"]) == {0}


@pytest.mark.parametrize(("knob", "refused", "allowed"), [("limit", 0.09, 0.1), ("length_min", 16, 17)])
def test_a_setting_is_refused_beyond_its_edge_and_allowed_on_it(
    knob: str, refused: float, allowed: float
) -> None:
    with pytest.raises(ConfigError, match=f"{knob}={refused}"):
        TimingConfig(**{knob: refused})
    simulate_timing(TimingConfig(sequences=20, **{knob: allowed}))


def test_lengths_are_as_asked_for(simulated: Simulated) -> None:
    assert (simulated.data.lengths.min(), simulated.data.lengths.max()) == (20, 40)
