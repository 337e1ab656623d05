import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from eventcargo.errors import ConfigError
from eventcargo.simulation.noisy_or import NoisyOrConfig, simulate_noisy_or
from eventcargo.simulation.simulated import Simulated

PValues = Callable[[NDArray[np.bool_], NDArray[np.bool_]], NDArray[np.float64]]
Where = dict[str, NDArray[np.bool_]]

WORDS = re.compile(r"(E\d+) \((\d\.\d+)(?:, followed by (E\d+))?(?:, raised by (E\d+))?\)")


@dataclass(frozen=True)
class Told:
    """A cause as its rule tells it."""

    event: str
    strength: float
    companion: str
    precursor: str


def told(simulated: Simulated) -> dict[str, list[Told]]:
    """The causes of each label, read from the rule in words."""
    return {
        label: [Told(event, float(strength), *others) for event, strength, *others in WORDS.findall(rule)]
        for label, rule in simulated.rules.items()
    }


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    """Many sequences, and decoys for half of the causes."""
    config = NoisyOrConfig(sequences=40_000, labels=5, companion_share=0.5, precursor_share=0.5)
    return simulate_noisy_or(config, seed=1)


@pytest.fixture(scope="module")
def default() -> Simulated:
    return simulate_noisy_or(NoisyOrConfig())


@pytest.fixture(scope="module")
def present(simulated: Simulated) -> Where:
    """Where each event type occurs."""
    columns = simulated.data.presence().toarray().astype(bool).T
    return dict(zip(simulated.data.event_names, columns, strict=True))


@pytest.fixture(scope="module")
def carried(simulated: Simulated) -> Where:
    """Where each label is."""
    columns = simulated.data.label_matrix().toarray().astype(bool).T
    return dict(zip(simulated.data.label_names, columns, strict=True))


def test_a_label_without_any_cause_is_the_leak(simulated: Simulated, present: Where, carried: Where) -> None:
    for label, causes in told(simulated).items():
        without = ~np.any([present[cause.event] for cause in causes], axis=0)
        assert carried[label][without].mean() == pytest.approx(0.02, abs=0.006)


def test_a_cause_alone_has_its_strength(simulated: Simulated, present: Where, carried: Where) -> None:
    for label, causes in told(simulated).items():
        number = np.sum([present[cause.event] for cause in causes], axis=0)
        for cause in causes:
            alone = present[cause.event] & (number == 1)
            expected = 1 - 0.98 * (1 - cause.strength)
            assert carried[label][alone].mean() == pytest.approx(expected, abs=0.05)


def test_causes_act_independently_of_each_other(simulated: Simulated, present: Where, carried: Where) -> None:
    found, expected = [], []
    for label, causes in told(simulated).items():
        together = np.sum([present[cause.event] for cause in causes], axis=0) >= 2
        spared = np.prod([1 - cause.strength * present[cause.event] for cause in causes], axis=0)
        found.append(carried[label][together])
        expected.append((1 - 0.98 * spared)[together])
    assert np.concatenate(found).mean() == pytest.approx(np.concatenate(expected).mean(), abs=0.015)


def test_a_companion_comes_with_its_cause_and_seldom_alone(simulated: Simulated, present: Where) -> None:
    pairs = [(one.event, one.companion) for own in told(simulated).values() for one in own if one.companion]
    assert len(pairs) >= 5
    for cause, companion in pairs:
        assert present[companion][present[cause]].mean() == pytest.approx(0.8, abs=0.03)
        assert present[companion][~present[cause]].mean() == pytest.approx(0.03, abs=0.005)


def test_a_precursor_makes_its_cause_likely_and_is_as_frequent(simulated: Simulated, present: Where) -> None:
    pairs = [(one.event, one.precursor) for own in told(simulated).values() for one in own if one.precursor]
    assert len(pairs) >= 5
    for cause, precursor in pairs:
        assert present[cause][present[precursor]].mean() == pytest.approx(0.5, abs=0.04)
        assert present[precursor].mean() == pytest.approx(present[cause].mean(), abs=0.01)


def test_causes_occur_in_their_share_of_sequences(simulated: Simulated, present: Where) -> None:
    shares = [present[event].mean() for event in simulated.truth.edges["event"]]
    assert min(shares) > 0.045
    assert max(shares) < 0.205
    assert np.ptp(shares) > 0.08


def decoys(simulated: Simulated) -> list[tuple[str, str, str]]:
    """Label, cause and decoy, for each companion and each precursor."""
    return [
        (label, cause.event, decoy)
        for label, causes in told(simulated).items()
        for cause in causes
        for decoy in (cause.companion, cause.precursor)
        if decoy
    ]


def test_decoys_depend_on_the_label(
    simulated: Simulated, present: Where, carried: Where, p_values: PValues
) -> None:
    for label, _, decoy in decoys(simulated):
        assert p_values(present[decoy][:, None], carried[label][:, None])[0, 0] < 1e-4


def test_given_the_cause_its_decoys_are_independent(
    simulated: Simulated, present: Where, carried: Where, p_values: PValues
) -> None:
    found = [
        p_values(present[decoy][rows, None], carried[label][rows, None])[0, 0]
        for label, cause, decoy in decoys(simulated)
        for rows in (present[cause], ~present[cause])
    ]
    assert min(found) > 0.05 / len(found)


def test_a_companion_follows_and_a_precursor_precedes(simulated: Simulated) -> None:
    causes = [cause for own in told(simulated).values() for cause in own]
    pairs = [(one.event, one.companion) for one in causes if one.companion]
    pairs += [(one.precursor, one.event) for one in causes if one.precursor]
    for number in range(500):
        events = simulated.data[number].events
        both = [pair for pair in pairs if set(pair) <= set(events)]
        assert all(events.index(first) < events.index(second) for first, second in both)


def test_the_truth_is_the_causes_alone(simulated: Simulated) -> None:
    for label, causes in told(simulated).items():
        assert simulated.truth.boundary(label) == sorted(cause.event for cause in causes)
    assert set(simulated.truth.edges["sign"]) == {1}


def test_by_default_labels_have_two_to_five_causes_of_their_own(default: Simulated) -> None:
    sizes = [len(events) for events in default.truth.boundaries.values()]
    assert (len(sizes), min(sizes), max(sizes)) == (12, 2, 5)
    assert default.truth.edges["event"].is_unique().all()
    strengths = [cause.strength for own in told(default).values() for cause in own]
    assert 0.15 <= min(strengths) < 0.2 < 0.3 < max(strengths) <= 0.35


def test_by_default_three_in_ten_causes_have_a_decoy_of_each_kind(default: Simulated) -> None:
    causes = [cause for own in told(default).values() for cause in own]
    assert np.mean([bool(cause.companion) for cause in causes]) == pytest.approx(0.3, abs=0.02)
    assert np.mean([bool(cause.precursor) for cause in causes]) == pytest.approx(0.3, abs=0.02)


def test_by_default_sequences_have_about_20_to_60_events(default: Simulated) -> None:
    assert np.quantile(default.data.lengths, [0.05, 0.95]) == pytest.approx([22, 60], abs=4)


def test_the_background_says_nothing_about_any_label(default: Simulated, p_values: PValues) -> None:
    named = set(re.findall(r"E\d+", " ".join(default.rules.values())))
    background = [number for number, name in enumerate(default.data.event_names) if name not in named]
    present = default.data.presence().toarray().astype(bool)[:, background]
    found = p_values(present, default.data.label_matrix().toarray().astype(bool))
    assert found.shape[0] > 200
    assert found.min() > 0.05 / found.size


def test_the_same_seed_gives_the_same_data() -> None:
    one, same, other = (simulate_noisy_or(NoisyOrConfig(sequences=200), seed).data for seed in (3, 3, 4))
    assert one.fingerprint == same.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("knob", "refused", "allowed"),
    [
        ("event_types", 199, 200),
        ("background_min", 0, 1),
        ("background_max", 14, 15),
        ("causes_min", 0, 1),
        ("causes_max", 1, 2),
        ("strength_min", 0, 0.35),
        ("strength_max", 0.1, 0.15),
        ("leak", 1.1, 1.0),
        ("cause_share_min", 0, 0.2),
        ("cause_share_max", 0.04, 0.05),
        ("cause_share_max", 0.51, 0.5),
        ("companion_share", 1.1, 1.0),
        ("companion_chance", 1.1, 1.0),
        ("companion_alone", -0.1, 0.0),
        ("precursor_share", 1.1, 1.0),
        ("precursor_chance", 1.1, 1.0),
    ],
)
def test_a_setting_is_refused_beyond_its_edge_and_allowed_on_it(
    knob: str, refused: float, allowed: float
) -> None:
    with pytest.raises(ConfigError, match=f"{knob}={refused}"):
        NoisyOrConfig(**{knob: refused})
    simulate_noisy_or(NoisyOrConfig(**{"sequences": 20, knob: allowed}))
