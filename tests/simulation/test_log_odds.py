import re
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from eventcargo.errors import ConfigError
from eventcargo.simulation.log_odds import LogOddsConfig, simulate_log_odds
from eventcargo.simulation.simulated import Simulated

PValues = Callable[[NDArray[np.bool_], NDArray[np.bool_]], NDArray[np.float64]]


def told(simulated: Simulated, label: str) -> dict[str, float]:
    """What each cause multiplies the odds of the label by, read from the rule in words."""
    return {
        event: float(odds) for event, odds in re.findall(r"(E\d+) x (\S+?)(?:,|$)", simulated.rules[label])
    }


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    """So many sequences that odds can be measured, also those of inhibitors."""
    return simulate_log_odds(LogOddsConfig(sequences=60_000, labels=5, event_types=60), seed=2)


def columns(simulated: Simulated, label: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where the causes of a label are, in the order of the rule, and where the label is."""
    numbers = [simulated.data.event_names.index(event) for event in told(simulated, label)]
    present = simulated.data.presence().toarray().astype(bool)[:, numbers]
    labels = simulated.data.label_matrix().toarray().astype(bool)
    return present, labels[:, simulated.data.label_names.index(label)]


def pooled_odds_ratio(x: NDArray[np.bool_], y: NDArray[np.bool_], strata: NDArray[np.int64]) -> float:
    """The odds ratio of x and y within strata, after Mantel and Haenszel."""

    def count(where: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(strata[where], minlength=int(strata.max()) + 1)

    total = np.maximum(count(np.ones_like(x)), 1)
    concordant, discordant = count(x & y) * count(~x & ~y), count(x & ~y) * count(~x & y)
    return float((concordant / total).sum() / (discordant / total).sum())


def test_each_cause_multiplies_the_odds_whatever_the_others_do(simulated: Simulated) -> None:
    ratios = []
    for label in simulated.rules:
        present, y = columns(simulated, label)
        for number, odds in enumerate(told(simulated, label).values()):
            others = np.delete(present, number, axis=1) @ (2 ** np.arange(present.shape[1] - 1))
            ratios.append(pooled_odds_ratio(present[:, number], y, others) / odds)
    assert len(ratios) >= 15
    assert np.abs(np.log(ratios)).max() < 0.35
    assert np.mean(np.log(ratios)) == pytest.approx(0, abs=0.05)


def test_without_causes_the_label_has_the_base_rate(simulated: Simulated) -> None:
    for label in simulated.rules:
        present, y = columns(simulated, label)
        assert y[~present.any(axis=1)].mean() == pytest.approx(0.02, abs=0.004)


def test_causes_occur_in_their_share_of_sequences(simulated: Simulated) -> None:
    shares = np.concatenate([columns(simulated, label)[0].mean(0) for label in simulated.rules])
    assert shares.min() > 0.045
    assert shares.max() < 0.305
    assert np.ptp(shares) > 0.15


def test_the_truth_has_every_cause_with_its_sign(simulated: Simulated) -> None:
    for label in simulated.rules:
        signs = {event: 1 if odds > 1 else -1 for event, odds in told(simulated, label).items()}
        edges = simulated.truth.edges
        own = edges.filter(edges["label"] == label)
        assert dict(zip(own["event"], own["sign"], strict=True)) == signs


@pytest.fixture(scope="module")
def many() -> Simulated:
    """Many labels with few sequences: what is drawn for causes."""
    return simulate_log_odds(LogOddsConfig(sequences=50, labels=300, event_types=2_000))


def test_labels_have_two_to_six_causes_of_their_own(many: Simulated) -> None:
    sizes = {len(events) for events in many.truth.boundaries.values()}
    assert sizes == {2, 3, 4, 5, 6}
    assert many.truth.edges["event"].is_unique().all()


def test_three_in_ten_causes_inhibit(many: Simulated) -> None:
    assert (many.truth.edges["sign"] == -1).mean() == pytest.approx(0.3, abs=0.04)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_every_label_has_a_promoting_cause(share: float) -> None:
    config = LogOddsConfig(sequences=50, labels=100, event_types=1_000, inhibiting_share=share)
    edges = simulate_log_odds(config).truth.edges
    assert edges.filter(edges["sign"] == 1)["label"].n_unique() == 100


def test_odds_are_even_on_a_log_scale(many: Simulated) -> None:
    odds = np.abs(np.log([value for label in many.rules for value in told(many, label).values()]))
    expected = np.log(2) + np.log(4.5) * np.array([0.01, 0.25, 0.5, 0.75, 0.99])
    assert np.quantile(odds, [0.01, 0.25, 0.5, 0.75, 0.99]) == pytest.approx(expected, abs=0.08)


def test_the_background_says_nothing_about_any_label(simulated: Simulated, p_values: PValues) -> None:
    causes = set(simulated.truth.edges["event"])
    background = [i for i, name in enumerate(simulated.data.event_names) if name not in causes]
    present = simulated.data.presence().toarray().astype(bool)[:, background]
    found = p_values(present, simulated.data.label_matrix().toarray().astype(bool))
    assert found.size >= 150
    assert found.min() > 0.05 / found.size


def test_the_same_seed_gives_the_same_data() -> None:
    one, same, other = (simulate_log_odds(LogOddsConfig(sequences=200), seed).data for seed in (3, 3, 4))
    assert one.fingerprint == same.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("knob", "refused", "allowed"),
    [
        ("event_types", 139, 140),
        ("background_max", 9, 10),
        ("causes_min", 0, 1),
        ("causes_max", 1, 2),
        ("odds_min", 1, 9),
        ("odds_max", 1.9, 2),
        ("inhibiting_share", 1.1, 1.0),
        ("base_rate", 0, 0.5),
        ("base_rate", 1, 0.99),
        ("cause_share_min", 0, 0.3),
        ("cause_share_max", 0.04, 0.05),
        ("cause_share_max", 1, 0.99),
    ],
)
def test_a_setting_is_refused_beyond_its_edge_and_allowed_on_it(
    knob: str, refused: float, allowed: float
) -> None:
    with pytest.raises(ConfigError, match=f"{knob}={refused}"):
        LogOddsConfig(**{knob: refused})
    simulate_log_odds(LogOddsConfig(**{"sequences": 20, knob: allowed}))
