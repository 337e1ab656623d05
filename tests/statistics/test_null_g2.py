import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, fisher_exact

from eventcargo.statistics.exact_g2 import ExactG2
from eventcargo.statistics.null_g2 import NullG2


def random_tables(seed: int, strata: int, sequences: int, event: float, label: float) -> NDArray[np.int64]:
    """Tables of an event type and a label that are independent in every stratum."""
    rng = np.random.default_rng(seed)
    tables = np.zeros((strata, 2, 2), np.int64)
    stratum = np.repeat(np.arange(strata), sequences)
    has = (rng.random(len(stratum)) < event).astype(int), (rng.random(len(stratum)) < label).astype(int)
    np.add.at(tables, (stratum, *has), 1)
    return tables


def by_convolution(null: NullG2, g2: float, step: float = 0.002, cells: int = 60_000) -> float:
    """The same tail by adding up strata one by one on a fine grid."""
    density = np.zeros(cells)
    density[0] = 1.0
    for probabilities, values in zip(null.probability, null.values, strict=True):
        after = np.zeros(cells)
        for probability, value in zip(probabilities, values, strict=True):
            shift = round(float(value) / step)
            if probability > 0 and shift < cells:
                after[shift:] += probability * density[: cells - shift]
        density = after
    return float(density[round(g2 / step) :].sum())


@pytest.mark.parametrize("table", [[[3327, 102], [14, 5]], [[500, 3], [40, 4]], [[90, 1], [10, 3]]])
def test_in_one_small_stratum_the_p_value_is_fishers(table: list[list[int]]) -> None:
    expected = fisher_exact(table).pvalue
    assert ExactG2.of(np.array([table])).p_value == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("deviations", [3, 6, 9])
@pytest.mark.parametrize(("strata", "sequences"), [(20, 50), (12, 150)])
def test_the_tail_of_many_small_strata_is_that_of_adding_them_up(
    strata: int, sequences: int, deviations: int
) -> None:
    null = NullG2.of(random_tables(1, strata, sequences, 0.05, 0.1))
    assert (null.n_chi_square, len(null.values) > 10) == (0, True)
    g2 = null.mean + deviations * np.sqrt(null.variance)
    assert null.p_value(g2) == pytest.approx(by_convolution(null, g2), rel=0.1)


def test_a_large_stratum_beside_one_that_hardly_varies_leaves_the_chi_square() -> None:
    tables = np.array([[[400, 300], [200, 260]], [[1, 0], [0, 1]]])
    null = NullG2.of(tables)
    assert (null.n_chi_square, len(null.values)) == (1, 1)
    beside = null.values[0].max()  # its only other table is as extreme, so its G2 is fixed
    for g2 in (20.0, 40.0):
        assert null.p_value(g2 + beside) == pytest.approx(chi2.sf(g2, 1), rel=0.1)


def test_the_largest_value_has_the_probability_of_its_tables() -> None:
    tables = np.array([[[9, 0], [0, 2]], [[7, 0], [0, 3]]])
    assert ExactG2.of(tables).p_value == pytest.approx(1 / 55 / 120, rel=1e-6)


def test_of_rare_events_and_labels_few_pass_a_strict_level() -> None:
    tests = [ExactG2.of(random_tables(seed, 1, 2_000, 0.004, 0.03)) for seed in range(3_000)]
    p_values = np.array([test.p_value for test in tests if test.p_value is not None])
    assert len(p_values) > 2_900
    for level in (0.01, 0.001):
        assert (p_values <= level).mean() <= level + 3 * np.sqrt(level / len(p_values))
