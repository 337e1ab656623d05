from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chi2_contingency, hypergeom, kstest

from eventcargo.statistics.exact_g2 import (
    ExactG2,
    PatternCounts,
    incomparable_share,
    max_presence_gain,
    own_residual_information,
    residual_information,
)
from eventcargo.statistics.risk_difference import risk_difference


def test_patterns_count_every_sequence_once() -> None:
    rng = np.random.default_rng(0)
    columns, carries = rng.random((500, 4)) < 0.4, rng.random(500) < 0.3
    found = PatternCounts.of(columns, carries, n_blank=11).tables(1, [0, 3])
    expected = np.zeros((4, 2, 2), int)
    np.add.at(
        expected, (columns[:, 0] * 2 + columns[:, 3], columns[:, 1].astype(int), carries.astype(int)), 1
    )
    expected[0, 0, 0] += 11
    assert sorted(found.tolist()) == sorted(expected.tolist())


def test_more_columns_than_bits_of_a_word_are_told_apart() -> None:
    columns = np.zeros((3, 200), bool)
    columns[0, 1] = columns[1, 199] = True
    found = PatternCounts.of(columns, np.array([True, False, False]))
    assert sorted(found.counts.tolist()) == [[0, 1], [1, 0], [1, 0]]


def test_without_a_condition_there_is_one_stratum() -> None:
    found = PatternCounts.of(np.array([[True], [False]]), np.array([True, False]))
    assert found.tables(0, []).tolist() == [[[1, 0], [0, 1]]]


def test_g2_is_that_of_scipy() -> None:
    table = np.array([[30, 12], [9, 41]])
    expected = chi2_contingency(table, correction=False, lambda_="log-likelihood")
    found = ExactG2.of(table[None])
    assert (found.g2, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))


@pytest.mark.parametrize(
    "table", [[[9, 1], [2, 1]], [[0, 7], [1, 3]], [[400, 3], [60, 1]], [[2, 30], [1, 40]]]
)
def test_moments_of_small_tables_are_those_of_all_tables_with_the_same_margins(
    table: list[list[int]],
) -> None:
    cells = np.array(table)
    whole, rows, columns = cells.sum(), cells[1].sum(), cells[:, 1].sum()
    values = [value for value in range(rows + 1) if 0 <= columns - value <= whole - rows]
    tables = [np.array([[whole - rows - columns + v, columns - v], [rows - v, v]]) for v in values]
    g2 = np.array([ExactG2.of(one[None]).g2 for one in tables])
    chance = hypergeom(whole, columns, rows).pmf(values)
    found = ExactG2.of(cells[None])
    mean = (chance * g2).sum()
    assert (found.mean, found.variance) == pytest.approx((mean, (chance * (g2 - mean) ** 2).sum()), rel=1e-6)


def test_p_values_are_even_under_independence_in_thousands_of_tiny_strata() -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        tables = np.zeros((400, 2, 2), int)
        rows = np.repeat(np.arange(400), 4)
        np.add.at(
            tables, (rows, (rng.random(1600) < 0.5).astype(int), (rng.random(1600) < 0.3).astype(int)), 1
        )
        found.append(ExactG2.of(tables).p_value)
    assert kstest(found, "uniform").pvalue > 0.01


def test_an_effect_in_one_of_many_strata_is_seen() -> None:
    tables = np.random.default_rng(0).integers(0, 3, (200, 2, 2))
    assert (ExactG2.of(tables).p_value or 0) > 0.05
    tables[7] = [[90, 2], [3, 85]]
    assert (ExactG2.of(tables).p_value or 1) < 1e-6


@pytest.mark.parametrize("table", [[[0, 0], [5, 5]], [[5, 0], [5, 0]], [[0, 0], [0, 0]]])
def test_where_nothing_can_differ_there_is_no_p_value(table: list[list[int]]) -> None:
    assert ExactG2.of(np.array([table])).p_value is None


def test_pairs_that_can_only_differ_say_nothing() -> None:
    found = ExactG2.of(np.tile([[[1, 0], [0, 1]]], (512, 1, 1)))
    assert (found.p_value, found.gain) == (None, 0)
    assert found.g2 > 1000  # by chi-square it would be certain


def test_most_gain_lies_above_the_gain() -> None:
    found = ExactG2.of(np.array([[[60, 40], [40, 60]]]))
    assert 0 < found.gain < found.max_gain < 5 * found.gain


def test_fewer_sequences_to_compare_with_leave_more_room() -> None:
    rooms = [max_presence_gain(np.array([[[0, n], [0, 50]]])) for n in (1, 4, 16, 64)]
    assert rooms == sorted(rooms, reverse=True)
    assert rooms[0] > 25 > 10 > rooms[2]


def test_strata_without_a_sequence_to_compare_with_leave_no_room() -> None:
    assert max_presence_gain(np.array([[[0, 0], [7, 50]]])) == 0


def test_errors_of_many_strata_do_not_pile_up() -> None:
    table = np.array([[[8, 8], [8, 8]]])
    assert max_presence_gain(np.tile(table, (100, 1, 1))) < 20 * max_presence_gain(table)


def test_what_the_rest_explains_leaves_nothing_over() -> None:
    assert residual_information(np.array([[[0, 500], [0, 50]], [[500, 0], [50, 0]]])) < 0.6


def test_what_the_rest_leaves_open_is_left_over() -> None:
    assert residual_information(np.array([[[5000, 5000], [20, 20]]])) == pytest.approx(
        40 * np.log(2), rel=0.01
    )


def test_left_over_of_strata_without_comparison_is_not_counted() -> None:
    assert residual_information(np.array([[[0, 0], [20, 20]]])) == 0


def test_own_left_over_is_learnt_from_the_sequences_themselves() -> None:
    assert own_residual_information(np.array([[[0, 0], [50, 50]]])) == pytest.approx(100 * np.log(2), rel=0.1)
    assert own_residual_information(np.array([[[0, 0], [0, 100]]])) < 4


def test_the_share_of_sequences_without_a_like_is_that_of_those_with_the_column() -> None:
    assert incomparable_share(np.array([[[0, 0], [3, 5]], [[1, 0], [7, 9]]])) == 8 / 24
    assert incomparable_share(np.array([[[9, 9], [0, 0]]])) == 0


def test_risk_difference_weighs_strata_by_what_they_tell() -> None:
    told, untold = [[10, 0], [0, 10]], [[0, 0], [40, 2]]
    assert risk_difference(np.array([told, untold])) == 1
    assert risk_difference(np.array([untold])) == 0


@pytest.mark.parametrize("bound", [max_presence_gain, residual_information, own_residual_information])
def test_bounds_of_copies_are_those_of_each_once_per_sequence(bound: Callable[..., float]) -> None:
    tables = np.array([[[30, 4], [6, 12]], [[9, 1], [2, 5]]])
    assert bound(5 * tables, 5.0) == pytest.approx(5 * bound(tables))


def test_the_exact_test_of_copies_is_that_of_each_once() -> None:
    tables = np.array([[[8, 1], [2, 3]], [[3, 0], [1, 2]]])
    once, copies = ExactG2.of(tables), ExactG2.of(5 * tables, 5.0)
    assert copies.p_value == pytest.approx(once.p_value)
    assert (copies.gain, copies.max_gain) == pytest.approx((5 * once.gain, 5 * once.max_gain))
