"""Statistics that several regimes are tested with."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from eventcargo.simulation import Simulated

PValues = Callable[[NDArray[np.bool_], NDArray[np.bool_]], NDArray[np.float64]]


def g2_p_values(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.float64]:
    """p-values of the G2 test of every column of `first` with every column of `second`."""
    n = len(first)
    g2 = np.zeros((first.shape[1], second.shape[1]))
    for one in (first, ~first):
        for other in (second, ~second):
            seen = one.T.astype(float) @ other.astype(float)
            expected = one.sum(0)[:, None] * other.sum(0)[None, :] / n
            ratio = np.divide(seen, expected, out=np.ones_like(seen), where=seen > 0)
            g2 += 2 * seen * np.log(ratio)
    return np.asarray(chi2.sf(g2, 1))


@pytest.fixture(scope="session")
def p_values() -> PValues:
    return g2_p_values


@pytest.fixture(scope="session")
def presence_p_values() -> Callable[[Simulated], NDArray[np.float64]]:
    """p-values of presence with each label, for event types that are not in (nearly) all sequences."""

    def of(simulated: Simulated) -> NDArray[np.float64]:
        present = simulated.data.presence().toarray().astype(bool)
        varied = present.sum(0) < len(present) - 20
        return g2_p_values(present[:, varied], labels_of(simulated))

    return of


@pytest.fixture(scope="session")
def causes_everywhere() -> Callable[[Simulated], bool]:
    """Whether every cause occurs in every sequence."""

    def check(simulated: Simulated) -> bool:
        present = simulated.data.presence().toarray()
        number = {name: i for i, name in enumerate(simulated.data.event_names)}
        return all(present[:, number[event]].all() for event in simulated.truth.edges["event"])

    return check


def labels_of(simulated: Simulated) -> NDArray[np.bool_]:
    return np.asarray(simulated.data.label_matrix().toarray().astype(bool))
