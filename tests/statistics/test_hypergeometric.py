import numpy as np
import pytest
from scipy.stats import hypergeom

from eventcargo.statistics.hypergeometric import upper_tail


@pytest.mark.parametrize("n", [1, 7, 60, 5000])
def test_it_agrees_with_scipy(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(100):
        marked, drawn = rng.integers(0, n + 1, 2).tolist()
        hits = int(rng.integers(-1, min(marked, drawn) + 3))
        expected = float(hypergeom.sf(hits - 1, n, marked, drawn))
        assert upper_tail(hits, n, marked, drawn) == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_more_hits_than_there_can_be_are_impossible() -> None:
    assert upper_tail(3, n=10, marked=2, drawn=5) == 0
