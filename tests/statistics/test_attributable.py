from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from eventcargo.statistics.attributable import AttributableNumber

Bools = NDArray[np.bool_]


def drawn(rng: np.random.Generator, n: int) -> tuple[Bools, Bools, Bools, float]:
    """An exposure that others raise, a label of both, the others, and the expected number of fewer labels."""
    others = rng.random((n, 2)) < (0.3, 0.2)
    exposed = rng.random(n) < expit(-1.5 + others @ [1.2, -0.5])
    logits = -2.0 + others @ [1.0, -0.7]
    chance = expit(logits + 1.1 * exposed)
    return exposed, rng.random(n) < chance, others, float((chance - expit(logits)).sum())


def test_the_interval_covers_the_expected_number() -> None:
    rng = np.random.default_rng(0)
    expected = drawn(rng, 1_000_000)[3] / 1000
    inside = []
    for _ in range(500):
        exposed, carries, others, _ = drawn(rng, 1000)
        found = AttributableNumber.of(exposed, carries, others)
        inside.append(found.low <= expected <= found.high)
    assert 0.93 <= np.mean(inside) <= 0.97


def twisted(rng: np.random.Generator, n: int) -> tuple[Bools, Bools, Bools]:
    """Exposure and label by the exclusive or of two others, which neither regression can describe."""
    others = rng.random((n, 2)) < (0.5, 0.3)
    odd = others[:, 0] ^ others[:, 1]
    exposed = rng.random(n) < np.where(odd, 0.7, 0.2)
    return exposed, rng.random(n) < np.where(odd, 0.5, 0.15) + 0.2 * exposed, others


@pytest.mark.parametrize("draw", [lambda rng, n: drawn(rng, n)[:3], twisted])
def test_the_error_is_that_of_leaving_out_one_sequence_at_a_time(
    draw: Callable[[np.random.Generator, int], tuple[Bools, Bools, Bools]],
) -> None:
    n = 400
    exposed, carries, others = draw(np.random.default_rng(1), n)
    rate = np.array(
        [
            AttributableNumber.of(*(np.delete(part, at, axis=0) for part in (exposed, carries, others))).fewer
            / (n - 1)
            for at in range(n)
        ]
    )
    jackknife = np.sqrt((n - 1) / n * ((rate - rate.mean()) ** 2).sum()) * n
    assert AttributableNumber.of(exposed, carries, others).error == pytest.approx(jackknife, rel=0.02)


def test_a_wrong_model_of_the_label_is_put_right_by_the_weights() -> None:
    """Exclusive or of the others is no logistic regression; the exposure depends on one other alone."""
    rng = np.random.default_rng(2)
    n = 200_000
    others = rng.random((n, 2)) < 0.5
    exposed = rng.random(n) < np.where(others[:, 0], 0.6, 0.2)
    base = np.where(others[:, 0] ^ others[:, 1], 0.5, 0.1)
    carries = rng.random(n) < base + 0.2 * exposed
    found = AttributableNumber.of(exposed, carries, others)
    assert found.fewer == pytest.approx(0.2 * exposed.sum(), rel=0.02)


def test_repeated_sequences_in_groups_give_the_same_relative_interval() -> None:
    exposed, carries, others, _ = drawn(np.random.default_rng(3), 400)
    once = AttributableNumber.of(exposed, carries, others)
    three = [np.repeat(part, 3, axis=0) for part in (exposed, carries, others)]
    groups = np.repeat(np.arange(400), 3)
    thrice = AttributableNumber.of(*three, groups=groups)
    assert thrice.fewer == pytest.approx(3 * once.fewer, rel=0.01)
    assert thrice.error == pytest.approx(3 * once.error, rel=0.02)
    assert AttributableNumber.of(*three).error < 0.7 * thrice.error


def test_a_pattern_that_never_occurs_without_the_exposure_is_counted() -> None:
    exposed, carries, others, _ = drawn(np.random.default_rng(4), 400)
    own = np.column_stack([others, exposed & (np.arange(400) < 50)])
    found = AttributableNumber.of(exposed, carries, own)
    assert found.n_unmatched == int(own[:, 2].sum()) > 0
    assert np.isfinite([found.fewer, found.low, found.high]).all()


def test_an_exposure_that_prevents_the_label_gives_a_negative_number() -> None:
    exposed = np.repeat([True, False], [500, 500])
    carries = np.tile([True, False], 500) & (~exposed | (np.arange(1000) % 5 == 0))
    assert AttributableNumber.of(exposed, carries, np.zeros((1000, 0), bool)).high < 0
