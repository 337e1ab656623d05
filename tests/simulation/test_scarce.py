import numpy as np
import pytest

from eventcargo.errors import ConfigError
from eventcargo.simulation.fleet import FleetConfig, simulate_fleet
from eventcargo.simulation.scarce import ScarceConfig, simulate_scarce


@pytest.mark.parametrize("sequences", [300, 1_000, 3_000])
@pytest.mark.parametrize("seed", range(4))
def test_every_label_has_ten_positives_and_most_have_few(sequences: int, seed: int) -> None:
    support = simulate_scarce(ScarceConfig(sequences=sequences), seed).data.support
    assert support.min() >= 10
    assert np.median(support) < 60
    assert support.max() < 0.3 * sequences


def test_the_rarest_label_is_as_rare_with_more_sequences() -> None:
    for sequences in (300, 1_000, 3_000):
        assert simulate_scarce(ScarceConfig(sequences=sequences)).data.support.min() <= 20


def test_by_default_it_is_small() -> None:
    simulated = simulate_scarce(ScarceConfig())
    assert (len(simulated.data), len(simulated.truth.labels), simulated.regime) == (1_000, 15, "scarce")
    assert (simulated.settings["event_types"], simulated.settings["rarest_support"]) == (400, 15)
    assert simulated.data.lengths.mean() == pytest.approx(60, abs=3)
    assert max(len(events) for events in simulated.truth.boundaries.values()) == 6


def test_it_is_a_fleet_with_other_defaults() -> None:
    scarce = simulate_scarce(ScarceConfig(), seed=2)
    fleet = simulate_fleet(FleetConfig(**scarce.settings), seed=2)
    assert scarce.data.fingerprint == fleet.data.fingerprint
    assert fleet.regime == "fleet"


def test_the_same_seed_gives_the_same_data() -> None:
    one, same, other = (simulate_scarce(ScarceConfig(), seed).data for seed in (3, 3, 4))
    assert one.fingerprint == same.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("knob", "refused", "allowed"),
    [
        ("sequences", 0, 1),
        ("event_types", 7, 400),
        ("event_types", 23, 400),
        ("labels", 0, 1),
        ("length_mean", 14, 15),
        ("length_mean", 121, 120),
        ("length_sd", -1, 0),
        ("length_min", 0, 1),
        ("length_max", 14, 60),
        ("max_boundary", 0, 1),
        ("rarest_support", 0, 1),
    ],
)
def test_a_setting_is_refused_beyond_its_edge_and_allowed_on_it(
    knob: str, refused: float, allowed: float
) -> None:
    with pytest.raises(ConfigError, match=f"{knob}={refused}"):
        ScarceConfig(**{knob: refused})
    ScarceConfig(**{knob: allowed})
