"""Rhythm: event types whose own pattern of occurrence goes with what the linear term leaves over.

How often an event type occurs in a sequence, where, how near the end, how close together and how evenly: each
measure is cut at its own quantiles among the sequences with the event type, so that no threshold is chosen,
and the errors of the linear term are compared between the parts. All event types, measures and labels are
tested in a few sparse products.
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import chdtrc

from eventcargo.batches import Batch

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

N_PARTS = 8
"""Parts into which a measure is cut, of about as many sequences each."""

BLOCK_LABELS = 32
"""Labels tested by one sparse product."""

MIN_WEIGHT = 2.0
"""Parts whose errors vary less are left out: their sums are not normal."""


def rhythm_p_values(batch: Batch, size: int, errors: Floats, variances: Floats) -> Floats:
    """The p-value of each label and event type, corrected for the measures: (labels, size).

    `errors` are labels less their predicted probabilities, (B, labels), and `variances` their variances.
    """
    rows, ids, measures = _measures(batch, size)
    p_values = np.ones((errors.shape[1], size))
    for measure in measures:
        cells = _cells(rows, ids, measure, size, len(errors))
        for at in range(0, len(p_values), BLOCK_LABELS):
            block = slice(at, at + BLOCK_LABELS)
            tested = _tested(cells, errors[:, block], variances[:, block])
            p_values[block] = np.minimum(p_values[block], tested)
    return np.minimum(p_values * len(measures), 1.0)


def _measures(batch: Batch, size: int) -> tuple[Ints, Ints, list[Floats]]:
    """Sequence and event type of each pair that occurs, and the measures of its occurrences."""
    at = np.arange(batch.ids.shape[1])
    rows, places = np.nonzero((at > 0) & (at < batch.lengths[:, None] - 1))
    code = rows * size + batch.ids[rows, places]
    order = np.argsort(code, kind="stable")  # places ascend within a pair
    rows, places, code = rows[order], places[order], code[order]
    times = batch.times[rows, places].astype(np.float64)
    starts = np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1]])[: len(code)])
    stops, pairs = np.append(starts[1:], len(code))[: len(starts)] - 1, rows[starts]
    gaps, steps = (np.diff(each, prepend=each[:1]) for each in (times, places.astype(np.float64)))
    gaps[starts], steps[starts] = np.nan, np.nan
    near, far = (_over(each, gaps, starts) for each in (np.fmin, np.fmax))
    ends = batch.lengths[pairs] - 1
    measures = [
        (stops - starts + 1).astype(np.float64),
        places[starts] / ends,
        (ends - places[stops]).astype(np.float64),
        batch.times[pairs, ends] - times[stops],
        _over(np.fmin, steps, starts),
        near,
        far,
        np.log1p(far) - np.log1p(near),
    ]
    return pairs, code[starts] % size, measures


def _over(reduce: np.ufunc, values: Floats, starts: Ints) -> Floats:
    """The smallest or largest value of each pair; NaN where there is none."""
    return np.asarray(reduce.reduceat(values, starts)) if len(starts) else np.zeros(0)


def _cells(rows: Ints, ids: Ints, measure: Floats, size: int, n_rows: int) -> sp.csr_array:
    """Which sequences are in which part of which event type: (size * N_PARTS, sequences)."""
    known = ~np.isnan(measure)
    parts = _parts(ids[known], measure[known], size)
    places = ids[known] * N_PARTS + parts, rows[known]
    return sp.csr_array((np.ones(int(known.sum())), places), shape=(size * N_PARTS, n_rows))


def _tested(cells: sp.csr_array, errors: Floats, variances: Floats) -> Floats:
    """The p-values of one measure for some labels: (labels, size)."""
    sums, weights = cells @ errors, cells @ variances  # (size * N_PARTS, labels)
    used = weights >= MIN_WEIGHT
    squares = np.where(used, sums**2 / np.maximum(weights, MIN_WEIGHT), 0.0)
    shape = (-1, N_PARTS, errors.shape[1])
    statistic, freedom = squares.reshape(shape).sum(axis=1), used.reshape(shape).sum(axis=1)
    return np.asarray(np.where(freedom > 1, chdtrc(np.maximum(freedom, 1), statistic), 1.0)).T


def _parts(ids: Ints, measure: Floats, size: int) -> Ints:
    """The part of each value among those of its event type; equal values are in one part."""
    order = np.lexsort((measure, ids))
    counts = np.bincount(ids, minlength=size)
    first = (np.cumsum(counts) - counts)[ids[order]]
    is_new = np.ones(len(order), bool)
    is_new[1:] = (ids[order][1:] != ids[order][:-1]) | (measure[order][1:] != measure[order][:-1])
    smallest = np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0)) - first
    parts = np.empty(len(order), np.int64)
    parts[order] = smallest * N_PARTS // counts[ids[order]]
    return parts
