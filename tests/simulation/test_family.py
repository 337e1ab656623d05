from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from eventcargo.errors import ConfigError
from eventcargo.simulation.family import FamilyConfig, simulate_family
from eventcargo.simulation.simulated import Simulated

PValues = Callable[[NDArray[np.bool_], NDArray[np.bool_]], NDArray[np.float64]]
Where = dict[str, NDArray[np.bool_]]


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate_family(FamilyConfig())


@pytest.fixture(scope="module")
def present(simulated: Simulated) -> Where:
    """Where each event type occurs."""
    columns = simulated.data.presence().toarray().astype(bool).T
    return dict(zip(simulated.data.event_names, columns, strict=True))


@pytest.fixture(scope="module")
def labels(simulated: Simulated) -> NDArray[np.bool_]:
    return np.asarray(simulated.data.label_matrix().toarray().astype(bool))


def test_every_label_has_its_own_family_of_30_that_promote(simulated: Simulated) -> None:
    assert [len(events) for events in simulated.truth.boundaries.values()] == [30] * 4
    assert simulated.truth.edges["event"].is_unique().all()
    assert set(simulated.truth.edges["sign"]) == {1}


def test_one_code_brings_its_label_and_the_leak_is_small(
    simulated: Simulated, present: Where, labels: NDArray[np.bool_]
) -> None:
    for y, codes in zip(labels.T, simulated.truth.boundaries.values(), strict=True):
        number = np.sum([present[code] for code in codes], axis=0)
        assert y[number == 1].mean() == pytest.approx(0.8, abs=0.05)
        assert y[number == 0].mean() == pytest.approx(0.005, abs=0.004)


def test_each_code_is_rare_and_brings_few_of_the_positives(
    simulated: Simulated, present: Where, labels: NDArray[np.bool_]
) -> None:
    for y, codes in zip(labels.T, simulated.truth.boundaries.values(), strict=True):
        assert np.mean([present[code].mean() for code in codes]) == pytest.approx(0.004, abs=0.0004)
        assert max(present[code][y].mean() for code in codes) < 0.1


def test_as_many_codes_are_as_rare_and_cause_nothing(
    simulated: Simulated, present: Where, labels: NDArray[np.bool_], p_values: PValues
) -> None:
    causes = set(simulated.truth.edges["event"])
    rare = [where for event, where in present.items() if event not in causes and where.mean() < 0.01]
    assert len(rare) == len(causes) == 120
    assert np.mean(rare) == pytest.approx(0.004, abs=0.0004)
    assert p_values(np.stack(rare, axis=1), labels).min() > 0.05 / (120 * 4)


def test_sequences_have_20_to_60_background_events(simulated: Simulated, present: Where) -> None:
    rare = {event for event, where in present.items() if where.mean() < 0.01}
    counts = [sum(event not in rare for event in sequence.events) for sequence in simulated.data]
    assert (min(counts), max(counts)) == (20, 60)


def test_the_same_seed_gives_the_same_data() -> None:
    one, same, other = (simulate_family(FamilyConfig(sequences=200), seed).data for seed in (3, 3, 4))
    assert one.fingerprint == same.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("knob", "refused", "allowed"),
    [
        ("event_types", 259, 260),
        ("labels", 0, 8),
        ("family_size", 0, 60),
        ("code_share", 0, 1.0),
        ("strength", 0, 1.0),
        ("leak", 1.1, 1.0),
        ("background_max", 19, 20),
    ],
)
def test_a_setting_is_refused_beyond_its_edge_and_allowed_on_it(
    knob: str, refused: float, allowed: float
) -> None:
    with pytest.raises(ConfigError, match=f"{knob}={refused}"):
        FamilyConfig(**{knob: refused})
    simulate_family(FamilyConfig(**{"sequences": 20, knob: allowed}))


def test_too_few_event_types_for_the_families_are_refused_with_what_is_needed() -> None:
    with pytest.raises(ConfigError, match="event_types=500: use a whole number of at least 560"):
        FamilyConfig(labels=9)
