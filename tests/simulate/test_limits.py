from dataclasses import dataclass
from typing import Any

import pytest

from eventcargo.errors import ConfigError
from eventcargo.simulate.limits import check_count, check_share


@dataclass
class Setting:
    x: Any


@pytest.mark.parametrize("value", [1, 2.0, True, "3", None])
def test_a_count_below_its_least_or_no_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match=f"x={value!r}: use a whole number of at least 2"):
        check_count(Setting(value), "x", 2)


def test_the_least_count_is_allowed() -> None:
    check_count(Setting(2), "x", 2)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "0.5", True])
def test_a_share_outside_of_its_bounds_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match=f"x={value!r}: use a number from 0 to 1"):
        check_share(Setting(value), "x")


@pytest.mark.parametrize("value", [0, 1, 0.5])
def test_both_bounds_of_a_share_are_allowed(value: float) -> None:
    check_share(Setting(value), "x")
