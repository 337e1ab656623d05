"""Whether two rates differ by more than a factor, for many rates at once.

The null hypothesis is an interval: the ratio lies between 1 / `least` and `least`. With ever more sequences
the smallest difference becomes sure, but never more than this, so a large n alone finds nothing. Variances
are those of sums over groups of sequences (a linearised ratio), so that repeats within a sequence and
sequences of one subject do not count as independent.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import norm

from eventcargo.events import EventDataset
from eventcargo.statistics.discoveries import discovery_level

Floats = NDArray[np.float64]

HALF = 0.5
"""Added to every count, so that the logarithm of none is finite (Haldane 1956)."""

POWER = 0.8
"""Chance with which a change would have been found, for it to be called noticeable."""


@dataclass(frozen=True)
class Rates:
    """Rates per sequence, and the variances of their logarithms."""

    rate: Floats
    log_variance: Floats

    @classmethod
    def of(cls, sums: Floats, squares: Floats, n: Floats) -> "Rates":
        """From totals over `n` sequences and their variances as sums."""
        filled = sums + HALF
        return cls(sums / np.maximum(n, 1), (squares + HALF) / filled**2)


def occurrence_rates(data: EventDataset) -> Rates:
    """How often each event type occurs in a sequence, by the order of `event_names`."""
    offsets, events, _ = data.flat()
    ones, width = np.ones(len(events)), len(data.event_names)
    counts = sp.csr_array((ones, events.astype(np.int64), offsets), shape=(len(data), width))
    by_group, sizes = grouped(data, counts)
    totals = np.asarray(by_group.sum(axis=0)).ravel()
    mean = totals / max(len(data), 1)
    squares = np.asarray(by_group.multiply(by_group).sum(axis=0)).ravel()
    mixed = by_group.T @ sizes
    spread = squares - 2 * mean * mixed + mean**2 * (sizes**2).sum()
    return Rates.of(totals, np.maximum(spread, 0.0), np.full(width, len(data)))


def grouped(data: EventDataset, counts: sp.csr_array) -> tuple[sp.csr_array, Floats]:
    """Sums over the groups of sequences (groups, columns), and the size of each group."""
    number, n = data.group_numbers, data.n_groups
    at = (number, np.arange(len(data)))
    member = sp.csr_array((np.ones(len(data)), at), shape=(n, len(data)))
    return sp.csr_array(member @ counts), np.bincount(number, minlength=n).astype(float)


def ratio_p_values(log_ratio: Floats, variance: Floats, least: float) -> Floats:
    """P(a ratio at least as far from 1), if the true one is `least` or nearer to 1.

    >>> p = ratio_p_values(np.log([1.2, 2.0]), np.array([1e-6, 1e-2]), least=1.25)
    >>> [round(one, 6) for one in p.tolist()]
    [1.0, 1e-06]
    """
    spread, border = np.sqrt(np.maximum(variance, 1e-300)), np.log(least)
    far = np.abs(log_ratio)
    return np.minimum(norm.sf((far - border) / spread) + norm.sf((far + border) / spread), 1.0)


def changed(p_values: Floats, alpha: float) -> NDArray[np.bool_]:
    """Which p-values are discoveries (Benjamini & Hochberg)."""
    if not len(p_values):
        return np.zeros(0, bool)
    return np.asarray(p_values <= discovery_level(p_values.tolist(), alpha, len(p_values)))


def n_noticeable(variance: Floats, alpha: float, least: float, factor: float = 2.0) -> int:
    """For how many of the ratios a change by a factor would have been found."""
    if not len(variance):
        return 0
    needed = norm.isf(alpha / len(variance)) + norm.ppf(POWER)
    return int(((np.log(factor) - np.log(least)) / np.sqrt(np.maximum(variance, 1e-300)) >= needed).sum())
