import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency

from eventcargo.errors import ConfigError
from eventcargo.statistics.g2 import G2Tests, IndependenceTest, Target

from .tables import columns, independence_of, label


def test_g2_and_p_are_those_of_scipy_without_a_condition() -> None:
    bits = columns(300, 5, seed=1)
    target = bits[:, 0] ^ columns(300, 1, seed=2, density=0.3)[:, 0]
    result = independence_of(bits)(label(target))
    for column in range(5):
        counts = [[(bits[:, column] == a)[target == b].sum() for a in (0, 1)] for b in (0, 1)]
        expected = chi2_contingency(counts, correction=False, lambda_="log-likelihood")
        assert result.g2[column] == pytest.approx(expected.statistic)
        assert result.p_value[column] == pytest.approx(expected.pvalue)


def test_g2_given_a_condition_is_the_sum_over_its_strata() -> None:
    bits = columns(400, 3, seed=3)
    target = bits[:, 0] ^ columns(400, 1, seed=4, density=0.3)[:, 0]
    expected = 0.0
    for value in (False, True):
        inside = bits[:, 1] == value
        counts = [[(inside & (bits[:, 0] == a) & (target == b)).sum() for a in (0, 1)] for b in (0, 1)]
        expected += chi2_contingency(counts, correction=False, lambda_="log-likelihood").statistic
    result = independence_of(bits)(label(target), [1])
    assert result.g2[0] == pytest.approx(expected)
    assert result.p_value[0] == pytest.approx(chi2.sf(expected, 2))


def empty_stratum() -> tuple[np.ndarray, np.ndarray]:
    """Candidate 0 never varies where condition 1 is present, so one of two strata can tell."""
    candidate = np.array([1, 1, 0, 0, 1, 1, 0, 0] * 10 + [1] * 20, bool)
    condition = np.array([0] * 80 + [1] * 20, bool)
    target = np.array([1, 1, 0, 0, 1, 0, 1, 0] * 10 + [1, 0] * 10, bool)
    return np.column_stack([candidate, condition]), target


def test_observed_degrees_of_freedom_count_strata_that_can_tell() -> None:
    bits, target = empty_stratum()
    result = independence_of(bits, dof="observed")(label(target), [1])
    assert result.p_value[0] == pytest.approx(chi2.sf(result.g2[0], 1))


def test_full_degrees_of_freedom_double_with_each_condition() -> None:
    bits, target = empty_stratum()
    result = independence_of(bits, dof="full")(label(target), [1])
    assert result.p_value[0] == pytest.approx(chi2.sf(result.g2[0], 2))


def test_too_few_rows_for_a_degree_of_freedom_give_p_one() -> None:
    bits, target = empty_stratum()  # 80 rows can tell, one degree of freedom
    assert independence_of(bits, min_rows_per_dof=80)(label(target), [1]).p_value[0] < 1
    assert independence_of(bits, min_rows_per_dof=80.5)(label(target), [1]).p_value[0] == 1


def test_a_target_that_never_varies_depends_on_nothing() -> None:
    bits = columns(50, 4, seed=0)
    for target in (np.zeros(50, bool), np.ones(50, bool)):
        result = independence_of(bits)(label(target))
        assert result.g2.tolist() == [0.0] * 4
        assert result.p_value.tolist() == [1.0] * 4


def test_strongest_takes_the_largest_g2_below_alpha_and_the_first_of_equals() -> None:
    tests = G2Tests(np.array([7, 8, 9]), np.array([15.0, 19.0, 19.0]), np.array([1, 1, 1]))
    assert tests.strongest(0.01) == 8
    assert tests.strongest(0.01, exclude=[8]) == 9
    assert tests.strongest(1e-6) is None


@pytest.mark.parametrize(("settings", "said"), [({"dof": "half"}, "half"), ({"min_rows_per_dof": -1}, "-1")])
def test_settings_out_of_range_are_refused_with_the_value(settings: dict, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        independence_of(columns(5, 2, seed=0), **settings)


@given(
    st.lists(st.tuples(st.floats(0, 200), st.integers(0, 40)), min_size=1, max_size=20),
    st.sampled_from([0.05, 0.01, 1e-7]),
)
def test_critical_values_decide_as_p_does(pairs: list, alpha: float) -> None:
    g2, dof = (np.array(part) for part in zip(*pairs, strict=True))
    found = G2Tests(np.arange(len(pairs)), g2.astype(float), dof)
    clear = np.abs(found.p_value - alpha) > 1e-9 * alpha
    assert (found.holds(alpha) == (found.p_value <= alpha))[clear].all()


def test_no_rows_needed_for_a_degree_of_freedom_is_allowed() -> None:
    bits, target = empty_stratum()
    assert independence_of(bits, min_rows_per_dof=0)(label(target), [1]).p_value[0] < 1


def test_the_first_event_type_as_a_target_is_no_candidate() -> None:
    assert Target(np.array([1], np.int32), column=0).itself == [0]


def test_five_rows_for_a_degree_of_freedom_are_needed_by_default() -> None:
    bits = np.array([1, 1, 0, 0, 0], bool)
    assert independence_of(bits[:, None])(label(bits)).p_value[0] < 1
    assert independence_of(bits[:4, None])(label(bits[:4])).p_value[0] == 1


def test_rows_are_counted_over_small_and_large_strata_together() -> None:
    candidate = np.array([1, 0] * 6 + [1, 0] * 2, bool)
    condition = np.array([0] * 12 + [1] * 4, bool)  # 16 rows, two degrees of freedom
    test = independence_of(np.column_stack([candidate, condition]), min_rows_per_dof=8)
    assert test(label(candidate), [1]).p_value[0] < 1
    test = independence_of(np.column_stack([candidate, condition]), min_rows_per_dof=8.5)
    assert test(label(candidate), [1]).p_value[0] == 1


def test_full_degrees_of_freedom_need_rows_for_empty_strata_too() -> None:
    bits, target = empty_stratum()
    target &= ~bits[:, 1]  # 80 rows in one stratum can tell, two degrees of freedom
    assert independence_of(bits, dof="full", min_rows_per_dof=40)(label(target), [1]).p_value[0] < 1
    assert independence_of(bits, dof="full", min_rows_per_dof=40.5)(label(target), [1]).p_value[0] == 1


def test_one_sequence_with_the_event_is_enough_for_it_to_vary() -> None:
    bits = np.arange(20) == 0
    assert independence_of(bits[:, None])(label(bits)).dof.tolist() == [1]


@pytest.mark.parametrize("dof", ["observed", "full"])
def test_many_questions_at_once_get_the_answers_of_one_by_one(dof: str) -> None:
    bits = columns(300, 5, seed=5)
    test = independence_of(bits, dof=dof)
    questions = [(label(bits[:, 0] ^ bits[:, 1]), [1, 2]), (label(bits[:, 3]), [])]
    for (target, condition), found in zip(questions, test.many(questions), strict=True):
        assert found.p_value.tolist() == test(target, condition).p_value.tolist()


def test_rounding_never_leaves_a_negative_g2() -> None:
    candidate = np.repeat(np.arange(20) < 1, 20)
    target = np.tile(np.arange(20) < 1, 20)  # exactly independent; unguarded the sum is -2e-12
    assert independence_of(candidate[:, None])(label(target)).g2.min() >= 0.0


def test_the_excess_of_copies_is_that_of_each_once_per_sequence() -> None:
    rng = np.random.default_rng(0)
    presence, rows = rng.random((80, 6)) < 0.4, np.flatnonzero(rng.random(80) < 0.5)
    again = np.repeat(np.arange(80), 5)
    once = IndependenceTest(sp.csr_array(presence.astype(np.int32)))(Target(rows.astype(np.int32)), [5])
    copies = IndependenceTest(sp.csr_array(presence[again].astype(np.int32)), groups=again)(
        Target(np.flatnonzero(np.isin(again, rows)).astype(np.int32)), [5]
    )
    tested = once.dof > 0
    assert copies.excess(tested)[tested] == pytest.approx(5 * once.excess(tested)[tested])
    assert copies.p_value == pytest.approx(once.p_value)
    assert copies.holds(0.3).tolist() == once.holds(0.3).tolist()
