import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from eventcargo.statistics import odds_ratio
from eventcargo.statistics.exact_g2 import PatternCounts
from eventcargo.statistics.odds_ratio import OddsRatios, independent

TRUE = np.log([4.0, 0.3, 1.0])
SHARES = (0.3, 0.15, 0.08)


def drawn(rng: np.random.Generator, n: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Columns and a label whose log odds they shift."""
    columns = rng.random((n, 3)) < SHARES
    return columns, rng.random(n) < expit(-2.0 + columns @ TRUE)


def spread(ratios: OddsRatios) -> NDArray[np.float64]:
    return np.log(ratios.high / ratios.low)


@pytest.mark.parametrize("n", [150, 1000])
def test_the_interval_covers_the_truth_as_often_as_it_says(n: int) -> None:
    rng = np.random.default_rng(n)
    inside = []
    for _ in range(400):
        found = OddsRatios.of(PatternCounts.of(*drawn(rng, n)))
        inside.append((found.low <= np.exp(TRUE)) & (np.exp(TRUE) <= found.high))
    for share in np.mean(inside, axis=0):
        assert 0.92 <= share <= 0.98


def test_the_estimate_is_right_in_the_middle() -> None:
    rng = np.random.default_rng(0)
    found = [np.log(OddsRatios.of(PatternCounts.of(*drawn(rng, 400))).ratio) for _ in range(300)]
    assert np.mean(found, axis=0) == pytest.approx(TRUE, abs=0.08)


def test_an_odds_ratio_is_adjusted_for_the_other_columns() -> None:
    rng = np.random.default_rng(0)
    cause = rng.random(20_000) < 0.3
    shadow = np.where(rng.random(20_000) < 0.9, cause, rng.random(20_000) < 0.3)
    label = rng.random(20_000) < np.where(cause, 0.4, 0.05)
    alone = OddsRatios.of(PatternCounts.of(shadow[:, None], label))
    both = np.column_stack([shadow, cause])
    assert alone.low[0] > 4
    for found in (
        OddsRatios.of(PatternCounts.of(both, label)),
        OddsRatios.of(PatternCounts.of(both, label, n_adjusted=1)),
    ):
        assert found.low[0] < 1 < found.high[0]


def test_what_is_adjusted_for_has_no_odds_ratio_of_its_own() -> None:
    columns, label = drawn(np.random.default_rng(0), 500)
    assert len(OddsRatios.of(PatternCounts.of(columns, label, n_adjusted=2)).ratio) == 1


@pytest.mark.parametrize("value", [False, True])
def test_a_column_that_does_not_vary_has_none_and_changes_nothing(value: bool) -> None:
    columns, label = drawn(np.random.default_rng(0), 500)
    constant = np.full((500, 1), value)
    found = OddsRatios.of(PatternCounts.of(np.hstack([columns[:, :1], constant, columns[:, 1:]]), label))
    alone = OddsRatios.of(PatternCounts.of(columns, label))
    assert np.isnan(found.ratio[1])
    assert found.high[[0, 2, 3]] == pytest.approx(alone.high)


def test_twins_have_none_and_the_others_keep_theirs() -> None:
    columns, label = drawn(np.random.default_rng(0), 500)
    found = OddsRatios.of(PatternCounts.of(np.hstack([columns, columns[:, 1:2]]), label))
    alone = OddsRatios.of(PatternCounts.of(columns, label))
    assert np.isnan(found.ratio).tolist() == [False, True, False, True]
    assert found.low[[0, 2]] == pytest.approx(alone.low[[0, 2]], rel=1e-4)


@pytest.mark.parametrize("value", [False, True])
def test_a_label_that_does_not_vary_has_none(value: bool) -> None:
    columns, _ = drawn(np.random.default_rng(0), 500)
    assert np.isnan(OddsRatios.of(PatternCounts.of(columns, np.full(500, value))).ratio).all()


def test_a_label_without_columns_has_none() -> None:
    assert not len(OddsRatios.of(PatternCounts.of(np.zeros((9, 0), bool), np.arange(9) < 3)).ratio)


def test_a_column_that_separates_has_a_finite_interval() -> None:
    columns, label = drawn(np.random.default_rng(0), 500)
    sure = label & (np.random.default_rng(1).random(500) < 0.2)
    found = OddsRatios.of(PatternCounts.of(np.column_stack([columns, sure]), label))
    assert found.low[3] > 5
    assert np.isfinite(found.high).all()


def test_copies_in_one_group_do_not_narrow_the_interval() -> None:
    columns, label = drawn(np.random.default_rng(0), 400)
    alone = OddsRatios.of(PatternCounts.of(columns, label))
    copies = [np.repeat(each, 5, axis=0) for each in (columns, label)]
    together = OddsRatios.of(PatternCounts.of(*copies, groups=np.repeat(np.arange(400), 5)))
    apart = OddsRatios.of(PatternCounts.of(*copies))
    assert together.ratio == pytest.approx(alone.ratio, rel=0.02)
    assert (spread(together) > 0.999 * spread(alone)).all()
    assert (spread(together) < 1.1 * spread(alone)).all()  # few groups have the last column
    assert (spread(apart) < 0.6 * spread(alone)).all()


def test_sequences_that_are_their_own_groups_are_as_without_groups() -> None:
    columns, label = drawn(np.random.default_rng(0), 2000)
    grouped = OddsRatios.of(PatternCounts.of(columns, label, groups=np.arange(2000)))
    assert spread(grouped) == pytest.approx(spread(OddsRatios.of(PatternCounts.of(columns, label))), rel=1e-3)


@pytest.mark.parametrize("having", [3, 8, 60])
def test_with_subjects_that_differ_the_interval_covers_the_truth(having: int) -> None:
    """The label depends on the subject, and not on the column, which some or all of sixty subjects have."""
    rng, groups, inside = np.random.default_rng(0), np.repeat(np.arange(60), 8), np.zeros((200, 2), bool)
    for at in range(200):
        shares = np.where(np.arange(60) < having, rng.beta(1, 0.5, 60), 0.0)[:, None]
        column = (rng.random((60, 8)) < shares).reshape(-1, 1)
        label = (rng.random((60, 8)) < rng.beta(0.5, 0.5, 60)[:, None]).ravel()
        for kind, own in enumerate((groups, None)):
            found = OddsRatios.of(PatternCounts.of(column, label, groups=own))
            inside[at, kind] = found.low[0] <= 1 <= found.high[0]
    assert inside[:, 1].mean() < 0.85 < 0.92 < inside[:, 0].mean()


def test_one_group_with_the_column_says_as_much_as_one_sequence() -> None:
    """Thirty sequences of one group have the column, and all but one of them the label."""
    label, column = (np.arange(130) > 0) & (np.arange(130) < 33), np.arange(130)[:, None] < 30
    apart = OddsRatios.of(PatternCounts.of(column, label))
    together = OddsRatios.of(PatternCounts.of(column, label, groups=np.maximum(np.arange(130), 29)))
    assert apart.low[0] > 50
    assert together.low[0] < 2


def test_where_the_label_does_not_vary_each_group_is_one_sequence() -> None:
    """Twenty groups of ten sequences with column and label, against twenty sequences."""
    label = np.concatenate([np.ones(200), np.arange(300) % 5 == 0]).astype(bool)
    groups = np.concatenate([np.arange(200) // 10, np.arange(100, 400)])
    first = np.unique(groups, return_index=True)[1]
    column = groups[:, None] < 100
    single = OddsRatios.of(PatternCounts.of(column[first], label[first]))
    together = OddsRatios.of(PatternCounts.of(column, label, groups=groups))
    apart = OddsRatios.of(PatternCounts.of(column, label))
    assert apart.low[0] > 3 * single.low[0]
    assert together.low[0] < 1.05 * single.low[0]


def test_many_patterns_have_wald_s_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = PatternCounts.of(*drawn(np.random.default_rng(0), 300))
    profile = OddsRatios.of(patterns)
    monkeypatch.setattr(odds_ratio, "MAX_WORK", 0)
    wald = OddsRatios.of(patterns)
    assert wald.low * wald.high == pytest.approx(wald.ratio**2)
    assert np.abs(np.log(wald.high / profile.high)).max() > 0.01
    assert wald.high == pytest.approx(profile.high, rel=0.3)


def test_a_sum_of_columns_makes_all_of_them_unclear() -> None:
    rng = np.random.default_rng(0)
    a, other = rng.random(50) < 0.3, rng.random(50) < 0.5
    b = ~a & (rng.random(50) < 0.5)
    X = np.column_stack([np.ones(50), a, other, b, a | b])
    kept, is_clear = independent(X)
    assert is_clear.tolist() == [True, False, True, False, False]
    assert 0 in kept
    assert np.linalg.matrix_rank(X[:, kept]) == len(kept) == 4
