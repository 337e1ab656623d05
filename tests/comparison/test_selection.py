import numpy as np
import pytest

from eventcargo.comparison.selection import Selection, search_threshold
from eventcargo.statistics.difference import WIDTH


def estimates(values: np.ndarray) -> np.ndarray:
    """Estimates with a standard error of 1."""
    return np.stack([values, values - WIDTH, values + WIDTH])


def selection(a: float, b: float, threshold: float = 4.0) -> Selection:
    return Selection.of(estimates(np.array([a])), estimates(np.array([b])), (threshold, threshold))


@pytest.mark.parametrize("effect", [0.0, 2.0, 3.5])
def test_pairs_that_were_looked_at_and_did_not_change_have_uniform_p_values(effect: float) -> None:
    rng = np.random.default_rng(0)
    a, b = effect + rng.standard_normal((2, 1_000_000))
    threshold = 3.0
    looked_at = (np.abs(a) > threshold) | (np.abs(b) > threshold)
    p = Selection.of(estimates(a[looked_at]), estimates(b[looked_at]), (threshold, threshold)).p_value
    for level in (0.01, 0.05, 0.2):
        assert np.mean(p <= level) == pytest.approx(
            level, abs=0.15 * level + 3 / np.sqrt(len(p)) * level**0.5
        )


def test_a_weak_effect_that_one_search_found_is_no_change() -> None:
    found = selection(4.3, 0.0)
    assert found.p_value[0] > 0.1  # a plain test says .002: z = 4.3 / sqrt(2)


def test_a_clear_effect_that_one_search_lacks_is_a_change() -> None:
    assert selection(9.0, 0.0).p_value[0] < 1e-6


def test_of_effects_that_both_data_show_clearly_the_p_value_is_the_usual_one() -> None:
    assert selection(9.0, 12.0).p_value[0] == pytest.approx(0.0339, abs=1e-3)  # z = 3 / sqrt(2)


def test_an_effect_that_reaches_the_threshold_in_neither_data_is_no_change() -> None:
    assert selection(3.2, 0.1).p_value[0] > 0.9


def test_without_an_estimate_there_is_no_p_value() -> None:
    assert np.isnan(selection(np.nan, 1.0).p_value[0])


def test_a_search_of_more_event_types_asks_for_more() -> None:
    assert 1.95 < search_threshold(1) < search_threshold(100) < search_threshold(30_000) < 5.5
