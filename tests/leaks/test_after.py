import numpy as np
import pytest

from eventcargo.leaks import occurs_after, occurs_at_once


def test_what_comes_after_its_outcome_alone_is_named() -> None:
    before, after = np.array([[0, 40], [20, 3]]), np.array([[40, 0], [20, 97]])
    assert occurs_after(before, after).tolist() == [[True, False], [False, True]]


def test_few_exceptions_are_allowed_where_there_are_many() -> None:
    assert occurs_after([1, 5, 5], [11, 995, 25]).tolist() == [False, True, False]


@pytest.mark.parametrize(("expected", "flag"), [(0.5, True), (0.9, False)])
def test_more_must_come_after_than_comes_after_anyway(expected: float, flag: bool) -> None:
    assert occurs_after([0], [12], expected).tolist() == [flag]


def test_the_number_of_pairs_looked_at_counts() -> None:
    assert occurs_after([0], [12]).tolist() == [True]
    assert occurs_after([0], [12], tests=1_000_000).tolist() == [False]
    assert occurs_after(np.zeros(1000, int), np.full(1000, 12)).sum() == 0


def test_expectations_may_differ_by_pair() -> None:
    assert occurs_after([0, 0], [12, 12], np.array([0.5, 0.9])).tolist() == [True, False]


def test_nothing_observed_is_nothing_named() -> None:
    assert occurs_after([0, 5], [0, 0]).tolist() == [False, False]
    assert occurs_after([], []).tolist() == []


def test_what_comes_with_its_outcome_alone_is_named() -> None:
    assert occurs_at_once([12, 11, 0], [12, 12, 12]).tolist() == [True, False, False]
    assert occurs_at_once([2], [2], expected=0.5).tolist() == [False]
