import numpy as np
import pytest
from scipy.special import expit

from eventcargo import Vocabulary
from eventcargo.batches import Batches
from eventcargo.features import sides
from eventcargo.models.linear.columns import Columns
from eventcargo.models.linear.fit import fit_linear
from eventcargo.models.linear.hiding import hiding
from eventcargo.models.linear.lasso import Fit
from eventcargo.models.linear.ubiquitous import Ubiquitous
from eventcargo.simulation import simulate

KEYS = {"presence": np.array([4, 5, 6]), "ordered": np.array([4 * 7 + 5, 5 * 7 + 4, 6 * 7 + 6])}
"""The presence of 4, 5 and 6; 4 before 5, 5 before 4, 6 twice."""


@pytest.fixture
def rows() -> tuple[Columns, np.ndarray]:
    """4 and 5 are in all of 400 rows, 6 in half; 4 is before 5 in a quarter, which carry the label."""
    rng = np.random.default_rng(0)
    six, before = np.arange(400) % 2, np.arange(400) % 4 == 0
    table = np.c_[np.ones((400, 2)), six, before, ~before, six * (rng.random(400) < 0.5)]
    return Columns.of(table), before.astype(float)


@pytest.mark.parametrize(
    "fit",
    [
        Fit(np.array([0.0, 0.0, 0.0, 12.0, 0.0, 0.0]), -6.0),
        Fit(np.array([0.0, 0.0, 0.0, 0.0, -12.0, 0.0]), 6.0),
        Fit(np.array([3.0, -3.0, 1.0, 6.0, -6.0, -0.5]), 0.0),
    ],
)
def test_hiding_one_of_two_that_are_everywhere_leaves_the_base_rate(
    rows: tuple[Columns, np.ndarray], fit: Fit
) -> None:
    X, y = rows
    found = Ubiquitous.of(X, KEYS, size=7, min_absent=5).settle(fit, X, y)
    assert found.logits(X) == pytest.approx(fit.logits(X))
    first, second = sides(KEYS, 7)
    for kind in (4, 5):
        about = (first == kind) | (second == kind)
        without = found.logits(X) - X.times(np.where(about, found.weights, 0.0))
        assert expit(without).mean() == pytest.approx(0.25)


def test_what_is_not_everywhere_keeps_its_weight(rows: tuple[Columns, np.ndarray]) -> None:
    X, y = rows
    fit = Fit(np.array([0.0, 0.0, 2.0, 0.0, 0.0, 1.0]), -2.0)
    found = Ubiquitous.of(X, KEYS, size=7, min_absent=5).settle(fit, X, y)
    assert found.bias == fit.bias
    assert found.weights.tolist() == fit.weights.tolist()


@pytest.mark.parametrize(("missing", "is_everywhere"), [(4, True), (5, False)])
def test_a_few_rows_may_be_without_it(missing: int, is_everywhere: bool) -> None:
    X = Columns.of((np.arange(100) >= missing).astype(float)[:, None])
    assert bool(Ubiquitous.of(X, {"presence": np.array([4])}, size=5, min_absent=5).columns) == is_everywhere


@pytest.mark.parametrize("regime", ["timing", "ordered"])
def test_a_label_that_a_pair_decides_is_open_without_one_of_it(regime: str) -> None:
    made = simulate(regime, sequences=600, labels=1, seed=1)
    vocabulary = Vocabulary.from_dataset(made.data)
    term = fit_linear(made.data, vocabulary, max_length=64)
    found = hiding(term).changes(Batches(made.data, vocabulary, 64).take(np.arange(len(made.data))))
    cause = vocabulary.encode([made.truth.boundary("L000")[0]])[0]
    mine = found.ids == cause
    without = expit(found.logits[found.rows[mine], 0] - found.taken[mine])
    assert len(without) == len(made.data)
    assert without.mean() == pytest.approx(made.data.support[0] / len(made.data), abs=0.01)
