import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from eventcargo.leaks.counts import is_closing, is_double, last_by_accident, practically, together_by_accident


def one(*counts: int) -> tuple[np.ndarray, ...]:
    return tuple(np.array([count]) for count in counts)


@pytest.mark.parametrize(
    ("both", "event", "label", "last", "double"),
    [
        (500, 500, 500, 0, True),
        (12, 12, 12, 0, True),
        (1, 1, 1, 0, True),
        (12, 13, 12, 0, False),
        (12, 12, 13, 0, False),
        (12, 12, 13, 12, True),
        (12, 12, 13, 7, False),
        (12, 12, 20, 12, False),
        (998, 1000, 1000, 0, True),
        (985, 1000, 1000, 0, False),
        (985, 1000, 1000, 600, True),
        (0, 0, 0, 0, False),
        (0, 12, 12, 0, False),
    ],
)
def test_a_double_has_no_exceptions_or_too_few_to_count(
    both: int, event: int, label: int, last: int, double: bool
) -> None:
    assert is_double(*one(both, event, label, last)).tolist() == [double]


@pytest.mark.parametrize(
    ("both", "event", "last", "closing"),
    [
        (100, 100, 100, True),
        (12, 12, 12, True),
        (12, 12, 11, False),
        (12, 13, 12, False),
        (100, 100, 97, True),
        (100, 100, 90, False),
        (100, 120, 100, False),
        (0, 0, 0, False),
    ],
)
def test_a_closing_event_type_brings_the_label_and_ends_the_sequence(
    both: int, event: int, last: int, closing: bool
) -> None:
    assert is_closing(*one(both, event, last)).tolist() == [closing]


def test_nothing_is_always_there_if_it_was_never_looked_for() -> None:
    assert not practically(0, 0, 0.5)


@pytest.mark.parametrize(("both", "event", "label", "n"), [(5, 5, 9, 40), (3, 3, 3, 50)])
def test_coincidence_is_exact_without_exceptions(both: int, event: int, label: int, n: int) -> None:
    exact = hypergeom.sf(both - 1, n, event, label)
    assert together_by_accident(*one(both, event, label), n) == pytest.approx(exact)


def test_coincidence_is_not_underestimated_with_exceptions() -> None:
    bound = together_by_accident(*one(9, 11, 12), 60)[0]
    assert hypergeom.sf(8, 60, 11, 12) <= bound < 2 * hypergeom.sf(8, 60, 11, 12)


def test_coming_last_by_accident_is_binomial() -> None:
    assert last_by_accident([3, 0], [4, 4], 0.25) == pytest.approx([binom.sf(2, 4, 0.25), 1.0])
