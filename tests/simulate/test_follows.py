from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from eventcargo.errors import ConfigError
from eventcargo.events import EventSequence
from eventcargo.simulate.follows import FollowsConfig, simulate_follows
from eventcargo.simulate.simulated import Simulated


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate_follows(FollowsConfig(sequences=3_000), seed=1)


def test_the_label_is_its_rule(simulated: Simulated) -> None:
    for label in simulated.rules:
        b, a = causes_of(simulated, label)
        for sequence in simulated.data:
            assert (label in sequence.labels) == holds(sequence, a, b)


def test_every_cause_occurs_in_every_sequence(
    simulated: Simulated, causes_everywhere: Callable[[Simulated], bool]
) -> None:
    assert causes_everywhere(simulated)


def test_presence_says_nothing_about_any_label(
    simulated: Simulated, presence_p_values: Callable[[Simulated], NDArray[np.float64]]
) -> None:
    found = presence_p_values(simulated)
    assert found.size >= 60
    assert found.min() > 0.05 / found.size


def test_length_says_nothing_about_any_label(simulated: Simulated) -> None:
    labels = simulated.data.label_matrix().toarray().astype(float)
    correlations = [np.corrcoef(simulated.data.lengths, column)[0, 1] for column in labels.T]
    assert np.abs(correlations).max() < 3 / np.sqrt(len(labels))


def test_labels_are_independent_of_each_other(simulated: Simulated) -> None:
    labels = simulated.data.label_matrix().toarray().astype(float)
    off_diagonal = np.corrcoef(labels.T)[~np.eye(labels.shape[1], dtype=bool)]
    assert np.abs(off_diagonal).max() < 3.5 / np.sqrt(len(labels))


def test_the_share_of_carriers_is_as_asked_for(simulated: Simulated) -> None:
    assert simulated.data.support / 3_000 == pytest.approx(0.4, abs=0.03)


def test_noise_flips_its_share_of_labels() -> None:
    clean = simulate_follows(FollowsConfig(sequences=1_000)).data.label_matrix().toarray()
    noisy = simulate_follows(FollowsConfig(sequences=1_000, label_noise=0.1)).data.label_matrix().toarray()
    assert (clean != noisy).mean() == pytest.approx(0.1, abs=0.02)


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
    with pytest.raises(ConfigError, match="length_min=16: 4 labels need 17 events"):
        FollowsConfig(length_min=16)


def test_sequences_with_room_for_four_events_a_label_are_allowed() -> None:
    assert simulate_follows(FollowsConfig(sequences=20, length_min=17)).data.lengths.min() >= 17
