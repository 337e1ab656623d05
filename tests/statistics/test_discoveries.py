import numpy as np
import pytest
from scipy.stats import false_discovery_control

from eventcargo.statistics.discoveries import discovery_level


def test_the_level_is_that_of_benjamini_and_hochberg() -> None:
    given = [0.010, None, 0.039, 0.013, 0.2]  # limits at .05 of four: .0125, .025, .0375, .05
    assert discovery_level(given, 0.05, n_tests=4) == pytest.approx(0.025)


@pytest.mark.parametrize("seed", range(5))
def test_what_passes_the_level_are_the_discoveries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p_values = np.concatenate([rng.random(80), rng.random(20) * 0.02])
    level = discovery_level(p_values.tolist(), 0.1, n_tests=100)
    expected = false_discovery_control(p_values) <= 0.1
    assert 0 < expected.sum() < 100
    assert ((p_values <= level) == expected).all()


def test_a_p_value_above_its_own_limit_passes_if_a_larger_one_does_not_exceed_its_own() -> None:
    assert discovery_level([0.03, 0.04], 0.05, n_tests=2) == 0.05


def test_tests_that_are_not_given_count_as_no_discovery() -> None:
    given = [1e-4, 8e-4, None, 0.5]
    assert discovery_level(given, 0.05, n_tests=4) == pytest.approx(0.025)
    assert discovery_level(given, 0.05, n_tests=100) == pytest.approx(0.001)
    assert discovery_level(given, 0.05, n_tests=1000) == pytest.approx(5e-5)


@pytest.mark.parametrize("given", [[], [None], [0.9]])
def test_without_a_discovery_the_level_is_that_of_the_first(given: list[float | None]) -> None:
    assert discovery_level(given, 0.05, n_tests=10) == pytest.approx(0.005)


def test_the_level_of_no_test_is_alpha() -> None:
    assert discovery_level([], 0.05, n_tests=0) == 0.05


def test_with_a_discount_the_first_discovery_must_be_surer_and_many_hardly() -> None:
    assert discovery_level([], 0.05, 10, discount=0.8) == pytest.approx(0.001)
    assert discovery_level([0.002], 0.05, 10, discount=0.8) == pytest.approx(0.001)
    assert discovery_level([0.0009], 0.05, 10, discount=0.8) == pytest.approx(0.001)
    assert discovery_level([0.002, 0.005], 0.05, 10, discount=0.8) == pytest.approx(0.006)
    assert discovery_level([1e-9] * 10, 0.05, 10, discount=0.8) == pytest.approx(0.046)
