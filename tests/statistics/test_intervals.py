import numpy as np
import pytest
from scipy.stats import beta, binom

from eventcargo.statistics.intervals import clopper_pearson, jeffreys


def test_the_interval_is_the_middle_of_the_beta_distribution() -> None:
    low, high = jeffreys(3, 20)
    assert low == pytest.approx(beta.ppf(0.025, 3.5, 17.5))
    assert high == pytest.approx(beta.ppf(0.975, 3.5, 17.5))


def test_nothing_found_begins_at_zero_and_nothing_missed_ends_at_one() -> None:
    low, high = jeffreys([0, 7], 7)
    assert low[0] == 0
    assert high[1] == 1


def test_another_level_gives_another_width() -> None:
    assert jeffreys(5, 10, level=0.5)[0] > jeffreys(5, 10)[0]


def test_the_interval_covers_the_true_share_as_often_as_it_says() -> None:
    shares = np.linspace(0.02, 0.98, 97)
    found = np.arange(51)
    low, high = jeffreys(found, 50)
    inside = (low[:, None] <= shares) & (shares <= high[:, None])
    covered = (binom.pmf(found[:, None], 50, shares) * inside).sum(axis=0)
    assert 0.94 < covered.mean() < 0.96


@pytest.mark.parametrize(("found", "tried"), [(0, 12), (3, 12), (11, 12), (12, 12), (499, 500)])
def test_clopper_and_pearson_invert_the_binomial_test(found: int, tried: int) -> None:
    low, high = (float(bound) for bound in clopper_pearson(found, tried))
    if found > 0:
        assert binom.sf(found - 1, tried, low) == pytest.approx(0.05)
    if found < tried:
        assert binom.cdf(found, tried, high) == pytest.approx(0.05)
    assert 0.0 <= low <= found / tried <= high <= 1.0


def test_nothing_tried_says_nothing() -> None:
    low, high = clopper_pearson(0, 0)
    assert (float(low), float(high)) == (0.0, 1.0)
