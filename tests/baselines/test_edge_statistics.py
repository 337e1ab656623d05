import numpy as np
import pytest

from eventcargo.baselines.edge_statistics import edge_statistics

from ..statistics.tables import independence_of, label


def repeated(rows: list[tuple[int, int, int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Columns (event, other) and label from (event, other, label, times)."""
    table = np.array([row[:3] for row in rows for _ in range(row[3])], bool)
    return table[:, :2], table[:, 2]


def test_effect_alone_is_the_difference_of_probabilities() -> None:
    bits, target = repeated([(1, 0, 1, 30), (1, 0, 0, 10), (0, 0, 1, 12), (0, 0, 0, 48)])
    found = edge_statistics(independence_of(bits), label(target), [0], 0)
    assert found.effect == pytest.approx(30 / 40 - 12 / 60)
    assert found.sign == 1


def test_effect_given_another_member_weighs_its_strata() -> None:
    first = [(1, 0, 1, 10), (1, 0, 0, 10), (0, 0, 1, 5), (0, 0, 0, 15)]  # 0.50 against 0.25
    second = [(1, 1, 1, 10), (1, 1, 0, 30), (0, 1, 1, 30), (0, 1, 0, 10)]  # 0.25 against 0.75
    bits, target = repeated(first + second)
    found = edge_statistics(independence_of(bits), label(target), [0, 1], 0)
    weights = np.array([20 * 20 / 40, 40 * 40 / 80])
    assert found.effect == pytest.approx((weights * [0.25, -0.5]).sum() / weights.sum())
    assert found.sign == -1


def test_strength_of_a_copy_is_the_entropy_of_the_label() -> None:
    bits, target = repeated([(1, 0, 1, 50), (0, 0, 0, 50)])
    found = edge_statistics(independence_of(bits), label(target), [0], 0)
    assert found.strength == pytest.approx(np.log(2))
    assert found.p_value < 1e-20


def test_a_member_told_fully_by_the_others_has_no_strength() -> None:
    bits, target = repeated([(1, 1, 1, 50), (0, 0, 0, 50)])
    found = edge_statistics(independence_of(bits), label(target), [0, 1], 0)
    assert (found.strength, found.effect, found.p_value) == (0.0, 0.0, 1.0)
