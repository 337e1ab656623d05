import numpy as np
import pytest

from eventcargo.statistics.causal_power import WITH, WITHOUT, RiskRatio
from eventcargo.statistics.exact_g2 import PatternCounts


def drawn(rng: np.random.Generator, n: int, other: float) -> PatternCounts:
    """Noisy-or of two causes: the first has the power .3, the second `other`."""
    columns = rng.random((n, 2)) < (0.3, 0.4)
    spared = 0.95 * np.where(columns[:, 0], 0.7, 1.0) * np.where(columns[:, 1], 1 - other, 1.0)
    return PatternCounts.of(columns, rng.random(n) >= spared)


@pytest.mark.parametrize("other", [0.1, 0.8])
def test_the_power_of_a_cause_does_not_depend_on_the_others(other: float) -> None:
    found = RiskRatio.of(drawn(np.random.default_rng(0), 200_000, other), 0, WITHOUT)
    assert 1 - np.exp(found.log) == pytest.approx(0.3, abs=0.01)


def test_the_error_is_that_of_repeated_samples() -> None:
    rng = np.random.default_rng(1)
    found = [RiskRatio.of(drawn(rng, 400, 0.3), 0, WITHOUT) for _ in range(400)]
    assert np.mean([one.error for one in found]) == pytest.approx(np.std([one.log for one in found]), rel=0.1)


def test_groups_that_repeat_sequences_widen_the_error_as_much() -> None:
    rng = np.random.default_rng(2)
    columns = rng.random((500, 2)) < 0.4
    carries = rng.random(500) < np.where(columns[:, 0], 0.5, 0.2)
    once = RiskRatio.of(PatternCounts.of(columns, carries), 0, WITH)
    thrice = PatternCounts.of(
        np.repeat(columns, 3, axis=0), np.repeat(carries, 3), groups=np.repeat(np.arange(500), 3)
    )
    found = RiskRatio.of(thrice, 0, WITH)
    assert found.log == pytest.approx(once.log)
    assert found.error == pytest.approx(once.error, rel=1e-6)


def test_where_nobody_is_spared_there_is_no_ratio() -> None:
    patterns = PatternCounts(np.array([[False], [True]]), np.array([[50, 50], [0, 20]]))
    assert np.isnan(RiskRatio.of(patterns, 0, WITHOUT).log)
    assert RiskRatio.of(patterns, 0, WITH).log == pytest.approx(np.log(2))
