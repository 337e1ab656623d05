import math

import numpy as np
import pytest

from eventcargo import ConfigError, DataError
from eventcargo.errors import EventCargoWarning
from eventcargo.fusion import BetaMixture, beta, expected_fpr, fit_mixture


def draws(alpha: float, shape: float, weight: float, size: int) -> np.ndarray:
    rng = np.random.default_rng(11)
    is_edge = rng.random(size) < weight
    return np.where(is_edge, rng.beta(alpha, 1, size), rng.beta(1, shape, size))


def test_the_start_is_the_papers() -> None:
    assert BetaMixture() == BetaMixture(alpha=1.5, beta=5.0, weight=0.5)


def test_responsibility_is_as_computed_by_hand() -> None:
    # densities at 0.25: 1.5 * 0.5 = 0.75 and 5 * 0.75^4 = 1.58203125, equal weights
    assert BetaMixture().responsibility(np.array([0.25])) == pytest.approx([0.75 / 2.33203125])


def test_responsibility_weighs_the_components() -> None:
    # at 0.5: 2 * 0.5 = 1 and 2 * 0.5 = 1
    assert BetaMixture(2, 2, 0.1).responsibility(np.array([0.5])) == pytest.approx([0.1])


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_responsibility_is_known_where_both_densities_vanish(weight: float) -> None:
    assert BetaMixture(5000, 5000, weight).responsibility(np.array([0.5])) == pytest.approx([weight])


def test_the_update_is_as_computed_by_hand() -> None:
    x = np.array([math.exp(-0.5), math.exp(-0.25), 1 - math.exp(-0.25)])
    found = BetaMixture().updated(x, np.array([0.5, 1.0, 0.0]))
    # alpha = 1.5 / (0.25 + 0.25); beta = 1.5 / (0.5 * -log(1 - exp(-0.5)) + 0.25); weight = 1.5 / 3
    shape = 1.5 / (-0.5 * math.log(1 - math.exp(-0.5)) + 0.25)
    assert (found.alpha, found.beta, found.weight) == pytest.approx((3.0, shape, 0.5))


def test_shapes_are_never_below_one() -> None:
    x = np.array([0.01, 0.99])
    found = BetaMixture().updated(x, np.array([1.0, 0.0]))
    assert (found.alpha, found.beta) == (1.0, 1.0)


def test_a_component_without_weight_keeps_its_shape() -> None:
    x = np.array([0.5, 0.5])
    assert BetaMixture(3, 7, 0.5).updated(x, np.zeros(2)).alpha == 3
    assert BetaMixture(3, 7, 0.5).updated(x, np.ones(2)).beta == 7


def test_known_parameters_are_recovered() -> None:
    found = fit_mixture(draws(8, 20, 0.3, 20_000))
    assert found.alpha == pytest.approx(8, rel=0.05)
    assert found.beta == pytest.approx(20, rel=0.05)
    assert found.weight == pytest.approx(0.3, abs=0.02)


def test_the_fit_has_settled() -> None:
    values = draws(2, 3, 0.5, 500)  # overlapping components settle slowly
    found = fit_mixture(values)
    after = found.updated(values, found.responsibility(values))
    assert (after.alpha, after.beta, after.weight) == pytest.approx(
        (found.alpha, found.beta, found.weight), rel=1e-4
    )


def test_false_edges_pass_the_cutoff_at_the_stated_rate() -> None:
    cutoff = fit_mixture(draws(8, 20, 0.3, 20_000)).cutoff(0.05)
    noise = np.random.default_rng(12).beta(1, 20, 20_000)
    assert (noise > cutoff).mean() == pytest.approx(0.05, abs=0.01)


def test_the_order_of_the_values_changes_nothing() -> None:
    values = draws(8, 20, 0.3, 500)
    assert fit_mixture(values) == fit_mixture(values[::-1])


@pytest.mark.parametrize("values", [[0.0], [1.0], [0.0, 1.0], [0.5] * 9, [0.0] * 5, [1e-9, 0.3]])
def test_few_equal_and_extreme_values_give_a_finite_mixture(values: list[float]) -> None:
    found = fit_mixture(values)
    assert 1 <= found.alpha < math.inf
    assert 1 <= found.beta < math.inf
    assert 0 <= found.weight <= 1


@pytest.mark.parametrize(
    ("values", "message"),
    [([], "0 values, none"), ([-0.1, 0.5], "-0.1 to"), ([0.5, 1.1], "to 1.1"), ([math.nan, 0.5], "to nan")],
)
def test_values_outside_of_0_to_1_are_refused(values: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        fit_mixture(values)


def test_a_mixture_that_does_not_settle_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beta, "MAX_STEPS", 1)
    with pytest.warns(EventCargoWarning, match="after 1 steps"):
        fit_mixture([0.01, 0.02, 0.9])


@pytest.mark.parametrize("fpr", [0.0, 1.0, -0.5])
def test_a_rate_that_is_no_chance_is_refused(fpr: float) -> None:
    with pytest.raises(ConfigError, match=f"fpr={fpr}"):
        BetaMixture().cutoff(fpr)


def test_the_threshold_in_nats_is_the_cutoff_mapped_back() -> None:
    nats = np.array([0.001, 0.002, 0.004, 0.3, 0.5])
    cutoff = fit_mixture(1 - np.exp(-2 * nats)).cutoff(0.15)
    assert 1 - math.exp(-2 * expected_fpr(nats, 0.15)) == pytest.approx(cutoff)


def test_a_lower_rate_asks_for_more_information() -> None:
    nats = np.random.default_rng(3).exponential(0.02, 200)
    thresholds = [expected_fpr(nats, fpr) for fpr in (0.2, 0.15, 0.05, 0.01)]
    assert thresholds == sorted(thresholds)
    assert thresholds[0] < thresholds[-1]


@pytest.mark.parametrize("value", [-0.25, float("nan"), float("inf")])
def test_information_that_is_no_number_of_nats_is_refused(value: float) -> None:
    with pytest.raises(DataError, match=f"1 values.*the first: {value}"):
        expected_fpr([0.1, value])
