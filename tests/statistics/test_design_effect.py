"""Design effects: 1 for independent sequences, m for m copies, and right sizes of tests in between."""

import numpy as np
import pytest
import scipy.sparse as sp

from eventcargo.statistics.design_effect import ScoreDesignEffect, share_design_effect, sums_by_group
from eventcargo.statistics.exact_g2 import ExactG2, PatternCounts
from eventcargo.statistics.g2 import IndependenceTest, Target

COPIES = 5


def share_of(hits: np.ndarray, groups: np.ndarray) -> float:
    """The design effect of the share of sequences that are hits."""
    k, n = (np.bincount(groups, each) for each in (hits, np.ones(len(hits))))
    sums = (len(k), (k * k).sum(), (k * n).sum(), (n * n).sum())
    return float(share_design_effect(k.sum(), n.sum(), *sums))


def by_subject(rng: np.random.Generator, n_groups: int, size: int) -> np.ndarray:
    """Events of subjects, each with a rate of their own."""
    rates = rng.beta(0.5, 0.5, n_groups)
    return (rng.random((n_groups, size)) < rates[:, None]).ravel()


def test_a_share_of_independent_sequences_has_no_design_effect() -> None:
    hits = np.random.default_rng(0).random(200) < 0.3
    assert share_of(hits, np.arange(200)) == pytest.approx(1.0)


def test_a_share_of_copies_counts_each_group_once() -> None:
    hits = np.random.default_rng(0).random(200) < 0.3
    effect = share_of(np.repeat(hits, COPIES), np.repeat(np.arange(200), COPIES))
    assert COPIES <= effect < 1.01 * COPIES


def test_sequences_that_do_not_resemble_their_group_are_nearly_independent() -> None:
    hits = np.random.default_rng(0).random(5_000) < 0.3
    assert share_of(hits, np.arange(5_000) // 10) == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("value", [0, 1])
def test_a_share_without_variation_counts_each_group_once(value: int) -> None:
    assert share_of(np.full(12, value), np.arange(12) // 4) == 4.0


def test_one_group_counts_as_one_sequence() -> None:
    assert share_of(np.arange(10) < 3, np.zeros(10, int)) == 10.0


def test_the_design_effect_of_a_share_is_that_of_its_variance() -> None:
    """Over many samples, the variance of the share is design effect times p (1 - p) / n."""
    rng, groups = np.random.default_rng(1), np.arange(400) // 8
    samples = [by_subject(rng, 50, 8) for _ in range(400)]
    variance = np.var([hits.mean() for hits in samples])
    stated = np.mean([share_of(hits, groups) * hits.mean() * (1 - hits.mean()) / 400 for hits in samples])
    assert stated == pytest.approx(variance, rel=0.15)


def test_sums_by_group_keep_columns_apart() -> None:
    values = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    assert sums_by_group(values, np.array([1, 0, 1])).tolist() == [[2.0, 20.0], [5.0, 50.0]]
    assert sums_by_group(values, None) is values


def test_a_score_is_the_sum_over_sequences_written_out() -> None:
    rng = np.random.default_rng(0)
    y, x, stratum = rng.random(300) < 0.4, rng.random(300) < 0.3, rng.integers(3, size=300)
    group = rng.integers(60, size=300)
    score = np.zeros(300)
    for s in range(3):
        at = stratum == s
        score[at] = (y[at] - y[at].mean()) * (x[at] - x[at].mean())
    expected = (np.bincount(group, score) ** 2).sum() / (score**2).sum()
    found = ScoreDesignEffect.of(y, stratum, group).of_rows(np.flatnonzero(x))
    assert found == pytest.approx(max(expected, 1.0))


def test_a_column_that_says_nothing_has_no_design_effect() -> None:
    effect = ScoreDesignEffect.of(np.arange(10) < 5, np.zeros(10, int), np.arange(10) // 2)
    assert effect.of_rows(np.arange(10)) == effect.of_rows(np.zeros(0, int)) == 1.0


def rejections(n_groups: int, size: int, corrected: bool) -> float:
    """Share of p <= .05 for label and event type that depend on the subject, not on each other."""
    rng, groups = np.random.default_rng(0), np.repeat(np.arange(n_groups), size)
    found, given = list[bool](), [1]
    for _ in range(300):
        label, event, other = (by_subject(rng, n_groups, size) for _ in range(3))
        presence = sp.csr_array(np.stack([event, other], axis=1).astype(np.int32))
        test = IndependenceTest(presence, groups=groups if corrected else None)
        target = Target(np.flatnonzero(label).astype(np.int32))
        fast = test.p_value(target, 0, given)
        counts = PatternCounts.of(np.stack([event, other], axis=1), label, 0, groups if corrected else None)
        exact = ExactG2.of(counts.tables(0, given), counts.design_effect(0, given)).p_value
        assert exact is not None
        found += [fast <= 0.05, exact <= 0.05]
    return float(np.mean(found))


def test_tests_by_group_keep_their_level() -> None:
    assert rejections(60, 8, corrected=True) < 0.08
    assert rejections(60, 8, corrected=False) > 0.3
