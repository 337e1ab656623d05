"""How many of many discrete tests can be significant at all (Tarone, Biometrics 1990).

With given margins, the p-value of a table cannot be smaller than that of its most extreme form. An event type
that is rare, or whose sequences leave nothing of the label to explain, cannot reach a corrected level,
whatever the data say; it needs no correction. So a test of n event types is one of the k that can reach
alpha / k, and k is often much smaller than n where labels have few positives.
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import gammaln

from eventcargo.binary_matrix import BinaryMatrix
from eventcargo.statistics.contingency import Rows
from eventcargo.statistics.design_effect import Groups

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def log_smallest_p_values(
    presence: BinaryMatrix, stratum: Ints, positives: Rows | Ints, groups: Groups = None
) -> Floats:
    """The log of the smallest p-value that each column can have with its margins: (columns,).

    `stratum` is that of each row. The tables of a column are independent, so their probabilities multiply.
    Rows of a group that agree on stratum and label count once.

    >>> presence = BinaryMatrix.of(np.array([[1, 1], [1, 0], [0, 0], [0, 0]]))
    >>> np.exp(log_smallest_p_values(presence, np.zeros(4, np.int64), np.array([0, 1]))).round(3).tolist()
    [0.167, 0.5]
    """
    if groups is not None:
        presence, stratum, positives = _once(presence, stratum, positives, groups)
    sizes = np.bincount(stratum)
    n_positive = np.bincount(stratum[positives], minlength=len(sizes))
    is_mixed = (n_positive > 0) & (n_positive < sizes)
    counts = sp.coo_array(_by_stratum(presence, np.flatnonzero(is_mixed[stratum]), stratum, len(sizes)))
    columns, strata = counts.coords
    extreme = _log_extreme(sizes[strata], n_positive[strata], counts.data)
    return np.bincount(columns, extreme, presence.n_columns).astype(np.float64)


def _by_stratum(presence: BinaryMatrix, rows: Ints, stratum: Ints, n_strata: int) -> sp.csr_array:
    """How many of some rows have each column, by stratum: (columns, strata)."""
    counts = sp.csr_array((presence.n_columns, n_strata))
    for first, end, part in presence.parts_of(rows):
        at = np.arange(end - first), stratum[rows[first:end]]
        members = sp.csr_array((np.ones(end - first), at), shape=(end - first, n_strata))
        counts = counts + part.T @ members
    return counts


def _once(
    presence: BinaryMatrix, stratum: Ints, positives: Rows | Ints, groups: NDArray[np.integer]
) -> tuple[BinaryMatrix, Ints, Ints]:
    """Presence, strata and positives with one row for all of a group that agree on stratum and label."""
    is_positive = np.isin(np.arange(len(stratum)), positives)
    units = np.stack([groups.astype(np.int64), stratum, is_positive], axis=1)
    distinct, number = np.unique(units, axis=0, return_inverse=True)
    return presence.united(number.ravel(), len(distinct)), distinct[:, 1], np.flatnonzero(distinct[:, 2])


def _log_extreme(size: Ints, n_positive: Ints, n_present: Floats) -> Floats:
    """The log probability of the most extreme table with these margins, whichever end it is at."""
    n_negative = size - n_positive
    return np.minimum(_log_end(size, n_positive, n_present), _log_end(size, n_negative, n_present))


def _log_end(size: Ints, n_chosen: Ints, n_present: Floats) -> Floats:
    """The log probability that the smaller of two sets drawn at random lies within the larger."""
    small, large = np.minimum(n_chosen, n_present), np.maximum(n_chosen, n_present)
    return _log_binomial(large, small) - _log_binomial(size, small)


def _log_binomial(n: Floats | Ints, k: Floats | Ints) -> Floats:
    result: Floats = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return result


def n_testable(log_smallest: Floats, alpha: float) -> int:
    """The smallest k, at least 1, such that at most k tests can reach alpha / k.

    >>> n_testable(np.log([1e-9, 1e-3, 0.03, 0.2, 0.3]), alpha=0.05)
    2
    """
    numbers = np.arange(1, max(len(log_smallest), 1) + 1)
    able = np.searchsorted(np.sort(log_smallest), np.log(alpha / numbers), side="right")
    return int(numbers[np.argmax(able <= numbers)])
