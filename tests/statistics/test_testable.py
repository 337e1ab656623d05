import itertools

import numpy as np
import pytest
from scipy.stats import hypergeom

from eventcargo.binary_matrix import BinaryMatrix
from eventcargo.statistics.testable import log_smallest_p_values, n_testable


@pytest.mark.parametrize("seed", range(20))
def test_the_smallest_p_value_is_that_of_the_most_extreme_tables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    presence, stratum = (rng.random((40, 3)) < 0.3).astype(np.int32), rng.integers(3, size=40)
    positives = np.flatnonzero(rng.random(40) < rng.choice([0.1, 0.5, 0.8]))
    found = log_smallest_p_values(BinaryMatrix.of(presence), stratum, positives)
    for column, log_p in enumerate(found):
        expected = 0.0
        for one in np.unique(stratum):
            rows = np.flatnonzero(stratum == one)
            margins = (len(rows), np.isin(rows, positives).sum(), presence[rows, column].sum())
            law = hypergeom(*margins)
            low, high = law.support()
            expected += min(law.logpmf(low), law.logpmf(high))
        assert log_p == pytest.approx(expected, abs=1e-9)


def test_columns_without_rows_and_strata_of_one_outcome_say_nothing() -> None:
    presence = BinaryMatrix.of(np.array([[1, 0], [1, 0], [1, 0], [0, 0]]))
    stratum = np.array([0, 0, 1, 1])
    assert log_smallest_p_values(presence, stratum, np.array([0, 1])).tolist() == [0.0, 0.0]


def test_as_many_tests_are_testable_as_can_reach_the_corrected_level() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        smallest = np.exp(-rng.exponential(rng.choice([1.0, 5.0, 50.0]), rng.integers(1, 12)))
        ks = (k for k in itertools.count(1) if (smallest <= 0.05 / k).sum() <= k)
        assert n_testable(np.log(smallest), 0.05) == next(ks)


def test_one_test_is_counted_where_none_can_be_significant() -> None:
    assert n_testable(np.zeros(5), 0.05) == 1
    assert n_testable(np.zeros(0), 0.05) == 1


def test_copies_of_a_row_in_its_group_change_nothing() -> None:
    rng = np.random.default_rng(1)
    presence, stratum = (rng.random((30, 4)) < 0.4).astype(np.int32), rng.integers(3, size=30)
    carries = rng.random(30) < 0.4
    once = log_smallest_p_values(BinaryMatrix.of(presence), stratum, np.flatnonzero(carries))
    thrice = [np.repeat(each, 3, axis=0) for each in (presence, stratum, carries, np.arange(30))]
    found = log_smallest_p_values(
        BinaryMatrix.of(thrice[0]), thrice[1], np.flatnonzero(thrice[2]), groups=thrice[3]
    )
    np.testing.assert_allclose(found, once)
