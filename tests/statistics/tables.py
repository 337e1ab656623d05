"""Small 0/1 tables with a known structure, shared by the tests of the baselines."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.statistics.g2 import IndependenceTest, Target

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


def hidden_separator(n_rows: int, seed: int) -> Bits:
    """Columns t, a, s, x with t -> a <- s, a -> x <- s: only a and s together separate x from t.

    s is no neighbour of t, so what looks at the neighbours of t alone takes x for one.
    """
    rng = np.random.default_rng(seed)
    t, s = rng.random((2, n_rows)) < 0.5
    a = rng.random(n_rows) < np.where(t, 0.75, 0.15) + np.where(s, 0.15, 0.0)
    x = rng.random(n_rows) < np.where(a, 0.7, 0.1) - np.where(s, 0.1, 0.0) + np.where(s & ~a, 0.6, 0.0)
    return np.column_stack([t, a, s, x])


def two_votes(n_rows: int, seed: int) -> tuple[Bits, Bits]:
    """Columns b, c, d and a vote, and another vote as label: two noisy counts of the majority of b, c, d.

    Only all three columns together separate the two votes.
    """
    voters = columns(n_rows, 3, seed, density=0.5)
    majority = voters.sum(axis=1) >= 2
    vote, other = noisy(majority, seed + 1, flips=0.05), noisy(majority, seed + 2, flips=0.05)
    return np.column_stack([voters, vote]), other
