"""Small 0/1 tables with a known structure, shared by the tests of the baselines."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.baselines.independence import IndependenceTest, Target

Bits = NDArray[np.bool_]


def columns(n_rows: int, n_columns: int, seed: int, density: float = 0.4) -> Bits:
    return np.random.default_rng(seed).random((n_rows, n_columns)) < density


def label(bits: Bits) -> Target:
    return Target(np.flatnonzero(bits).astype(np.int32))


def independence_of(bits: Bits, **settings: object) -> IndependenceTest:
    return IndependenceTest(sp.csr_array(bits.astype(np.int32)), **settings)  # type: ignore[arg-type]


def noisy(bits: Bits, seed: int, flips: float = 0.02) -> Bits:
    return bits ^ (np.random.default_rng(seed).random(len(bits)) < flips)


def chain(n_rows: int, seed: int) -> tuple[Bits, Bits]:
    """Columns u, x and three strangers with u -> x -> label."""
    rng = np.random.default_rng(seed)
    u = rng.random(n_rows) < 0.4
    x = np.where(u, rng.random(n_rows) < 0.8, rng.random(n_rows) < 0.1)
    y = np.where(x, rng.random(n_rows) < 0.7, rng.random(n_rows) < 0.05)
    return np.column_stack([u, x, rng.random((n_rows, 3)) < 0.3]), y
