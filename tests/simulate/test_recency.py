from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from eventcargo.errors import ConfigError
from eventcargo.events import EventSequence
from eventcargo.simulate.recency import RecencyConfig, simulate_recency
from eventcargo.simulate.simulated import Simulated


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate_recency(RecencyConfig(sequences=3_000), seed=1)


def test_the_label_is_its_rule(simulated: Simulated) -> None:
    for label, events in simulated.truth.boundaries.items():
        (a,) = events
        for sequence in simulated.data:
            assert (label in sequence.labels) == holds(sequence, a)


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
    clean = simulate_recency(RecencyConfig(sequences=1_000)).data.label_matrix().toarray()
    noisy = simulate_recency(RecencyConfig(sequences=1_000, label_noise=0.1)).data.label_matrix().toarray()
    assert (clean != noisy).mean() == pytest.approx(0.1, abs=0.02)


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
