from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from eventcargo.errors import ConfigError
from eventcargo.simulation.fleet import FleetConfig
from eventcargo.simulation.simulated import Simulated
from eventcargo.simulation.twins import TwinsConfig, simulate_twins


@dataclass(frozen=True)
class Pair:
    """A cause and the event type that resembles it most among those that cause nothing."""

    cause: str
    twin: str
    has_cause: NDArray[np.bool_]
    has_twin: NDArray[np.bool_]

    @property
    def together(self) -> float:
        """Share of the cause's sequences that have the twin."""
        return float(self.has_twin[self.has_cause].mean())

    @property
    def alone(self) -> float:
        """Share of the twin's sequences that do not have the cause."""
        return float((~self.has_cause)[self.has_twin].mean())


def pairs(simulated: Simulated) -> list[Pair]:
    names, causes = np.array(simulated.data.event_names), set(simulated.truth.edges["event"])
    present = simulated.data.presence().toarray().astype(bool)
    likeness = np.corrcoef(present.T.astype(float))
    is_cause = np.isin(names, list(causes))
    likeness[:, is_cause] = -1
    twins = likeness.argmax(1)
    return [
        Pair(str(names[i]), str(names[twins[i]]), present[:, i], present[:, twins[i]])
        for i in np.flatnonzero(is_cause)
    ]


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate_twins(TwinsConfig(), seed=1)


@pytest.fixture(scope="module")
def found(simulated: Simulated) -> list[Pair]:
    return pairs(simulated)


def test_every_cause_has_a_twin_of_its_own(simulated: Simulated, found: list[Pair]) -> None:
    assert len({pair.twin for pair in found}) == simulated.truth.edges["event"].n_unique()


def test_a_twin_comes_with_its_cause_nine_times_in_ten(found: list[Pair]) -> None:
    assert np.mean([pair.together for pair in found]) == pytest.approx(0.9, abs=0.02)
    assert min(pair.together for pair in found) > 0.75


def test_a_twin_occurs_alone_in_a_tenth_of_its_sequences_or_more(found: list[Pair]) -> None:
    alone = [pair.alone for pair in found]
    assert np.quantile(alone, 0.05) > 0.1
    assert 0.15 < np.median(alone) < 0.3


def test_without_twin_alone_some_twins_hardly_occur_alone() -> None:
    alone = [pair.alone for pair in pairs(simulate_twins(TwinsConfig(twin_alone=0.0), seed=1))]
    assert np.median(alone) < 0.1


def test_a_twin_alone_does_not_bring_the_label_of_its_cause(simulated: Simulated, found: list[Pair]) -> None:
    labels = simulated.data.label_matrix().toarray().astype(bool)
    of_cause = {pair.cause: pair for pair in found}
    single = [rule for rule in simulated.rules.values() if rule in of_cause]
    assert single
    for column, rule in zip(labels.T, simulated.rules.values(), strict=True):
        if rule in of_cause:
            pair = of_cause[rule]
            assert column[pair.has_cause].mean() > 0.95
            assert column[pair.has_twin & ~pair.has_cause].mean() < 0.05


def test_the_chance_of_a_companion_is_a_setting() -> None:
    seldom = pairs(simulate_twins(TwinsConfig(companion_chance=0.6), seed=1))
    assert np.mean([pair.together for pair in seldom]) == pytest.approx(0.62, abs=0.03)


def test_by_default_it_is_a_fleet_of_20_labels_with_little_noise(simulated: Simulated) -> None:
    assert (len(simulated.data), len(simulated.truth.labels), simulated.regime) == (6_000, 20, "twins")
    assert (simulated.settings["event_types"], simulated.settings["label_noise"]) == (600, 0.01)
    assert simulated.data.support.min() >= 50
    assert max(len(events) for events in simulated.truth.boundaries.values()) <= 8


def test_the_same_seed_gives_the_same_data() -> None:
    one, same, other = (simulate_twins(TwinsConfig(sequences=500), seed).data for seed in (3, 3, 4))
    assert one.fingerprint == same.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("knob", "refused", "allowed"),
    [
        ("sequences", 0, 1),
        ("event_types", 31, 600),
        ("labels", 0, 1),
        ("max_boundary", 0, 1),
        ("companion_share", 1.1, 0.0),
        ("companion_chance", 1.1, 1.0),
        ("companion_chance", -0.1, 0.0),
        ("twin_alone", -0.1, 0.0),
        ("twin_alone", 10.1, 10.0),
        ("precursor_share", 1.1, 1.0),
        ("rarest_support", 0, 1),
    ],
)
def test_a_setting_is_refused_beyond_its_edge_and_allowed_on_it(
    knob: str, refused: float, allowed: float
) -> None:
    with pytest.raises(ConfigError, match=f"{knob}={refused}"):
        TwinsConfig(**{knob: refused})
    TwinsConfig(**{knob: allowed})


@pytest.mark.parametrize(("knob", "refused"), [("companion_chance", 1.1), ("twin_alone", 10.1)])
def test_the_fleet_refuses_the_same(knob: str, refused: float) -> None:
    with pytest.raises(ConfigError, match=f"{knob}={refused}"):
        FleetConfig(**{knob: refused})
