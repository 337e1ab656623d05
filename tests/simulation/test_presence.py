"""Laws of the regimes in which every cause occurs in every sequence and presence decides nothing."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from eventcargo.simulation import Simulated, simulate

FLIPPED = ("ordered", "follows", "repeat", "timing", "recency")
REGIMES = (*FLIPPED, "state", "switch", "window")


@pytest.fixture(scope="module", params=REGIMES)
def simulated(request: pytest.FixtureRequest) -> Simulated:
    return simulate(request.param, sequences=3_000, seed=1)


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


@pytest.mark.parametrize("regime", FLIPPED)
def test_noise_flips_its_share_of_labels(regime: str) -> None:
    clean = simulate(regime, sequences=1_000).data.label_matrix().toarray()
    noisy = simulate(regime, sequences=1_000, label_noise=0.1).data.label_matrix().toarray()
    assert (clean != noisy).mean() == pytest.approx(0.1, abs=0.02)
