import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import fisher_exact, kstest

from eventcargo.binary_matrix import BinaryMatrix
from eventcargo.statistics.exact_g2 import PatternCounts
from eventcargo.statistics.score_test import ScoreScreen, ScoreTest

from .tables import Bits, columns

Floats = NDArray[np.float64]


def score_of(bits: Bits, carries: Bits, column: int, given: list[int]) -> ScoreTest:
    return ScoreTest.of(PatternCounts.of(bits, carries), column, given)


def of_table(table: list[list[int]]) -> ScoreTest:
    """The test of a column without a condition: sequences without it and with it, by label."""
    return ScoreTest.of(PatternCounts(np.array([[0], [1]], bool), np.array(table)), 0, [])


def additive(seed: int, n: int = 3000, effect: float = 0.0) -> tuple[Bits, Bits]:
    """Four columns, of which the last three have effects on the log odds of the label, the first `effect`.

    The first comes with the second.
    """
    rng = np.random.default_rng(seed)
    bits = columns(n, 4, seed + 1000)
    bits[:, 0] = rng.random(n) < np.where(bits[:, 1], 0.6, 0.2)
    return bits, rng.random(n) < expit(bits @ [effect, 1.0, -0.7, 0.5] - 0.8)


def fitted(X: Floats, y: Floats, penalised: bool) -> Floats:
    """Probabilities by logistic regression row by row, of Firth or of largest likelihood."""
    beta = np.zeros(X.shape[1])
    for _ in range(200):
        p = expit(X @ beta)
        inverse = np.linalg.inv(X.T @ (X * (p * (1 - p))[:, None]))
        leverage = p * (1 - p) * np.einsum("nc,cd,nd->n", X, inverse, X)
        beta = beta + inverse @ X.T @ (y - p + penalised * leverage * (0.5 - p))
    return np.asarray(expit(X @ beta))


def textbook_z(bits: Bits, carries: Bits, column: int, given: list[int], penalised: bool) -> float:
    """Rao's score, divided by the root of its efficient information, with the matrices of all rows."""
    X, x = np.column_stack([np.ones(len(bits)), bits[:, given]]), bits[:, column].astype(float)
    p = fitted(X, carries.astype(float), penalised)
    W = np.diag(p * (1 - p))
    on_others = np.linalg.solve(X.T @ W @ X, X.T @ W @ x)
    rest = x - X @ on_others
    return float(rest @ (carries - p) / np.sqrt(x @ W @ x - x @ W @ X @ on_others))


@pytest.mark.parametrize("effect", [0.0, 0.4, -0.6])
def test_z_is_that_of_the_textbook(effect: float) -> None:
    bits, carries = additive(0, 800, effect)
    found = score_of(bits, carries, 0, [1, 2, 3])
    assert found.z == pytest.approx(textbook_z(bits, carries, 0, [1, 2, 3], penalised=True), rel=1e-5)
    assert found.z == pytest.approx(textbook_z(bits, carries, 0, [1, 2, 3], penalised=False), abs=0.03)


def test_without_a_condition_the_square_of_z_is_nearly_pearsons() -> None:
    found = of_table([[300, 100], [60, 40]])
    rate, n = 140 / 500, 500
    pearson = (40 - 100 * rate) ** 2 / (rate * (1 - rate) * 100 * 400 / n)
    assert found.z**2 == pytest.approx(pearson, rel=0.01)


def test_what_others_explain_is_no_effect_of_a_column() -> None:
    bits, carries = additive(1, 20_000)
    assert abs(score_of(bits, carries, 0, []).z) > 10
    assert abs(score_of(bits, carries, 0, [1]).z) < 3


def test_z_has_the_sign_of_the_effect_and_the_other_label_the_other() -> None:
    bits, carries = additive(2, effect=1.0)
    found, other = (score_of(bits, label, 0, [1, 2, 3]) for label in (carries, ~carries))
    assert found.z > 8
    assert other.z == pytest.approx(-found.z)
    assert other.p_value == pytest.approx(found.p_value)
    assert other.gain == pytest.approx(found.gain)


@pytest.mark.parametrize(
    "table",
    [
        [[9700, 300], [7, 3]],
        [[9700, 300], [24, 6]],
        [[9700, 300], [21, 9]],
        [[9970, 30], [96, 4]],
        [[9970, 30], [95, 5]],
        [[2900, 100], [14, 5]],
        [[2900, 100], [11, 8]],
        [[900, 100], [33, 17]],
        [[1800, 200], [6, 6]],
        [[99_500, 500], [4, 1]],
        [[900, 100], [50, 0]],  # the tail of the other side is three times as heavy
        [[900, 100], [99, 1]],
        [[4000, 1000], [60, 4]],
    ],
)
def test_p_values_of_rare_columns_are_twice_the_tail_of_fisher_and_never_smaller(
    table: list[list[int]],
) -> None:
    side = "greater" if of_table(table).z > 0 else "less"
    exact, found = 2 * fisher_exact(table, alternative=side).pvalue, of_table(table).p_value
    assert found is not None
    assert exact <= found <= 2 * exact
    assert exact < 0.06


def test_far_out_a_normal_tail_would_be_wrong_by_orders_of_magnitude() -> None:
    found = of_table([[99_500, 500], [4, 1]])
    assert found.z > 6
    assert (found.p_value or 0) > 0.02


def nulls(n_tests: int, n: int, density: float, intercept: float) -> list[float]:
    """P-values of a column that comes with the causes of the label but is none."""
    found = []
    for seed in range(n_tests):
        rng = np.random.default_rng(seed)
        others = rng.random((n, 3)) < 0.3
        column = rng.random(n) < np.where(others.any(axis=1), 2 * density, density / 2)
        carries = rng.random(n) < expit(others @ [1.5, 1.0, -1.0] + intercept)
        found.append(score_of(np.column_stack([column, others]), carries, 0, [1, 2, 3]).p_value or 1.0)
    return found


def test_p_values_are_even_under_independence() -> None:
    found = np.array(nulls(600, 1000, 0.3, -1.0))
    assert kstest(found, "uniform").pvalue > 0.01
    assert 0.025 < (found < 0.05).mean() < 0.075


def test_p_values_of_rare_columns_and_labels_are_not_too_small() -> None:
    found = np.array(nulls(1500, 600, 0.02, -4.0))
    for level in (0.05, 0.01, 0.001):
        assert (found <= level).mean() <= level * 1.2
    assert (found < 0.05).any()


def test_copies_in_groups_are_as_sure_as_each_once() -> None:
    bits, carries = additive(3, 500, effect=0.6)
    groups = np.tile(np.arange(500), 5)
    copied = PatternCounts.of(np.tile(bits, (5, 1)), np.tile(carries, 5), groups=groups)
    effect = copied.design_effect(0, [1, 2, 3])
    assert effect == pytest.approx(5)
    once = score_of(bits, carries, 0, [1, 2, 3])
    copies, torn = (ScoreTest.of(copied, 0, [1, 2, 3], each) for each in (effect, 1.0))
    assert (copies.z, copies.p_value) == pytest.approx((once.z, once.p_value))
    assert copies.gain == pytest.approx(5 * once.gain)
    assert (torn.p_value or 1) < 1e-3 * (once.p_value or 0)


def test_the_gain_is_that_of_the_likelihood_beyond_chance() -> None:
    bits, carries = additive(4, 20_000, effect=0.2)
    found = score_of(bits, carries, 0, [1, 2, 3])
    likelihoods = []
    for given in ([1, 2, 3], [0, 1, 2, 3]):
        X = np.column_stack([np.ones(len(bits)), bits[:, given]])
        p = fitted(X, carries.astype(float), penalised=False)
        likelihoods.append(np.log(np.where(carries, p, 1 - p)).sum())
    assert found.gain == pytest.approx(likelihoods[1] - likelihoods[0] - 0.5, rel=0.02)


def test_the_gain_of_a_rare_column_is_no_more_than_it_can_be_worth() -> None:
    found = of_table([[99_500, 500], [0, 5]])
    assert found.z > 30
    assert found.gain < 5 * np.log(100_000 / 500) + 1
    assert np.isfinite(found.gain)


def test_within_chance_there_is_no_gain() -> None:
    assert of_table([[300, 100], [31, 10]]).gain == 0


@pytest.mark.parametrize(
    "table", [[[10, 20], [0, 0]], [[0, 0], [10, 20]], [[9, 0], [5, 0]], [[0, 9], [0, 5]]]
)
def test_where_nothing_varies_there_is_no_p_value(table: list[list[int]]) -> None:
    found = of_table(table)
    assert (found.p_value, found.z, found.gain) == (None, 0, 0)


def test_a_column_that_others_determine_has_no_p_value() -> None:
    bits, carries = additive(5)
    for twin in (bits[:, 1], ~bits[:, 1]):
        assert score_of(np.column_stack([twin, bits[:, 1:]]), carries, 0, [1, 2]).p_value is None


def test_a_condition_that_says_the_same_twice_is_no_error() -> None:
    bits, carries = additive(6, effect=0.5)
    constant = np.ones(len(bits), bool)
    more = np.column_stack([bits, bits[:, 1], ~bits[:, 2], constant, ~constant])
    once, twice = score_of(bits, carries, 0, [1, 2, 3]), score_of(more, carries, 0, [4, 7, 1, 5, 2, 6, 3])
    assert (twice.z, twice.p_value) == pytest.approx((once.z, once.p_value), rel=1e-4)


def test_a_pattern_that_no_sequence_has_changes_nothing() -> None:
    everywhere, others = np.ones((4, 1), bool), np.array([[0, 0], [0, 1], [1, 0], [1, 1]], bool)
    bits, counts = np.column_stack([others, everywhere]), np.array([[90, 10], [80, 30], [50, 50], [20, 90]])
    blank = np.zeros((1, 3), bool), np.zeros((1, 2), int)
    plain = PatternCounts(bits, counts)
    padded = PatternCounts(*(np.concatenate(each) for each in zip((bits, counts), blank, strict=True)))
    for column, given in ((0, [1, 2]), (2, [0, 1])):
        one, other = (ScoreTest.of(each, column, given) for each in (plain, padded))
        assert (other.p_value is None) == (one.p_value is None) == (column == 2)
        assert other.z == pytest.approx(one.z, rel=1e-4)  # what the fit is exact to


def conjunctions(seed: int, n: int = 20_000) -> tuple[Bits, Bits]:
    """Columns a, b, c, d and e; the label mostly follows (a and b) or (c and d); e comes with any two."""
    rng = np.random.default_rng(seed)
    bits = columns(n, 4, seed + 1000, density=0.3)
    company = rng.random(n) < np.where(bits.sum(axis=1) >= 2, 0.8, 0.1)
    holds = bits[:, :2].all(axis=1) | bits[:, 2:].all(axis=1)
    return np.column_stack([bits, company]), rng.random(n) < np.where(holds, 0.9, 0.02)


@pytest.mark.parametrize("seed", range(3))
def test_what_comes_with_causes_that_act_together_is_none(seed: int) -> None:
    bits, carries = conjunctions(seed)
    assert abs(score_of(bits, carries, 4, []).z) > 20
    assert (score_of(bits, carries, 4, [0, 1, 2, 3]).p_value or 0) > 0.01
    for cause in range(4):
        others = [at for at in range(5) if at != cause]
        assert score_of(bits, carries, cause, others).z > 10


def presence_of(bits: Bits) -> BinaryMatrix:
    return BinaryMatrix.of(bits)


def rows_of(column: Bits) -> NDArray[np.int32]:
    return np.flatnonzero(column).astype(np.int32)


@pytest.mark.parametrize("given", [[], [1], [1, 2, 3], [3, 1, 3]])
@pytest.mark.parametrize("density", [0.4, 0.02])
def test_the_screen_is_the_test_of_every_column(given: list[int], density: float) -> None:
    n = 3000
    rng, bits = np.random.default_rng(7), columns(n, 8, 7, density)
    bits[:, 7] = ~bits[:, 1]
    carries = rng.random(n) < expit(bits @ [0.8, 1.0, -0.7, 0.5, 0, 0, 0, 0] - 2.0)
    screen = ScoreScreen(presence_of(bits)).z(rows_of(carries), [rows_of(bits[:, at]) for at in given])
    expected = [score_of(bits, carries, column, given).z for column in range(8)]
    assert screen.tolist() == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_the_screen_looks_at_pairs_as_the_test_does() -> None:
    bits, carries = conjunctions(3, 5000)
    given = [0, 1, 2, 3]
    screen = ScoreScreen(presence_of(bits)).z(rows_of(carries), [rows_of(bits[:, at]) for at in given])
    assert screen[4] == pytest.approx(score_of(bits, carries, 4, given).z, rel=1e-5)
    assert abs(screen[4]) < 4


@pytest.mark.parametrize("n_positives", [0, 50])
def test_the_screen_of_a_label_that_does_not_vary_is_zero(n_positives: int) -> None:
    presence = presence_of(columns(50, 4, 8))
    assert ScoreScreen(presence).z(np.arange(n_positives, dtype=np.int32), []).tolist() == [0, 0, 0, 0]
