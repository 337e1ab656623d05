import numpy as np
import pytest

from eventcargo.errors import ConfigError
from eventcargo.simulation.fleet import FleetConfig, simulate_fleet
from eventcargo.simulation.noisy import NoisyConfig, simulate_noisy
from eventcargo.simulation.simulated import Simulated


@pytest.fixture(scope="module")
def noisy() -> Simulated:
    return simulate_noisy(NoisyConfig())


@pytest.fixture(scope="module")
def clean() -> Simulated:
    return simulate_noisy(NoisyConfig(label_noise=0.0))


def test_the_share_of_lost_labels_is_that_of_added_ones(noisy: Simulated, clean: Simulated) -> None:
    after, before = (one.data.label_matrix().toarray().astype(bool) for one in (noisy, clean))
    assert (before & ~after).sum() / before.sum() == pytest.approx(0.15, abs=0.015)
    assert (after & ~before).sum() / before.sum() == pytest.approx(0.15, abs=0.015)


def test_the_noise_of_each_label_is_in_proportion_to_its_support(noisy: Simulated, clean: Simulated) -> None:
    after, before = (one.data.label_matrix().toarray().astype(bool) for one in (noisy, clean))
    added = (after & ~before).sum(0) / before.sum(0)
    assert np.abs(added - 0.15).max() < 0.15


def test_events_and_truth_are_those_without_noise(noisy: Simulated, clean: Simulated) -> None:
    assert noisy.data.events.tobytes() == clean.data.events.tobytes()
    assert noisy.rules == clean.rules


def test_by_default_it_has_20_labels_of_some_support(noisy: Simulated) -> None:
    assert (len(noisy.data), len(noisy.truth.labels), noisy.regime) == (6_000, 20, "noisy")
    assert noisy.settings["event_types"] == 600
    assert noisy.data.support.min() >= 50
    assert max(len(events) for events in noisy.truth.boundaries.values()) <= 8


def test_it_is_a_fleet_with_other_defaults(noisy: Simulated) -> None:
    fleet = simulate_fleet(FleetConfig(**noisy.settings))
    assert noisy.data.fingerprint == fleet.data.fingerprint


def test_the_same_seed_gives_the_same_data() -> None:
    one, same, other = (simulate_noisy(NoisyConfig(sequences=500), seed).data for seed in (3, 3, 4))
    assert one.fingerprint == same.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("knob", "refused", "allowed"),
    [
        ("sequences", 0, 1),
        ("event_types", 31, 32),
        ("labels", 0, 1),
        ("label_noise", 1.1, 1.0),
        ("label_noise", -0.1, 0.0),
        ("max_boundary", 0, 1),
        ("rarest_support", 0, 1),
    ],
)
def test_a_setting_is_refused_beyond_its_edge_and_allowed_on_it(
    knob: str, refused: float, allowed: float
) -> None:
    with pytest.raises(ConfigError, match=f"{knob}={refused}"):
        NoisyConfig(**{knob: refused})
    NoisyConfig(**{knob: allowed})
