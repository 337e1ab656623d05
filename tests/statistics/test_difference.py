import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventcargo.statistics.difference import WIDTH, Difference


def around(value: float, below: float, above: float) -> np.ndarray:
    return np.array([[value], [value - below], [value + above]])


def test_of_symmetric_intervals_it_is_the_usual_z_test() -> None:
    found = Difference.of(around(1.0, WIDTH * 0.3, WIDTH * 0.3), around(2.0, WIDTH * 0.4, WIDTH * 0.4))
    assert found.value[0] == 1.0
    assert (found.low[0], found.high[0]) == pytest.approx((1 - WIDTH * 0.5, 1 + WIDTH * 0.5))
    assert found.p_value[0] == pytest.approx(0.0455, abs=1e-4)  # z = 2


sides = st.floats(0.01, 5.0)


@given(st.floats(-3, 3), sides, sides, st.floats(-3, 3), sides, sides)
def test_the_p_value_is_below_5_percent_exactly_if_the_interval_excludes_0(
    a: float, a_below: float, a_above: float, b: float, b_below: float, b_above: float
) -> None:
    found = Difference.of(around(a, a_below, a_above), around(b, b_below, b_above))
    if abs(found.p_value[0] - 0.05) > 1e-9:
        assert (found.p_value[0] < 0.05) == (found.low[0] > 0 or found.high[0] < 0)


def test_an_interval_that_is_wide_on_one_side_stays_so() -> None:
    found = Difference.of(around(0.0, 0.5, 3.0), around(5.0, 2.0, 9.0))
    assert found.high[0] - 5.0 == pytest.approx(np.hypot(9.0, 0.5))
    assert 5.0 - found.low[0] == pytest.approx(np.hypot(2.0, 3.0))


def test_without_an_estimate_there_is_no_difference() -> None:
    found = Difference.of(around(np.nan, 1.0, 1.0), around(1.0, 1.0, 1.0))
    assert np.isnan([found.value[0], found.low[0], found.high[0], found.p_value[0]]).all()


def test_equal_estimates_have_a_p_value_of_1() -> None:
    assert Difference.of(around(1.0, 1.0, 1.0), around(1.0, 1.0, 1.0)).p_value[0] == 1.0
