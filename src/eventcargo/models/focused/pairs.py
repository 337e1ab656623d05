"""Pairs: event types that go with what the linear term leaves over only together.

Whether two event types both occur, which of them comes first and which comes last: where neither alone shows
anything, as in "one of them but not both", a pair may. The linear term has features of pairs, but only of
events near each other. The most frequent event types and all labels are tested by a few dense products.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from eventcargo.batches import Batch
from eventcargo.vocabulary import UNK

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_TYPES = 200
"""Most event types whose pairs are tested, those in the most sequences."""

MIN_WEIGHT = 2.0
"""Pairs whose errors vary less are left out: their sums are not normal."""


def pair_scores(batch: Batch, size: int, errors: Floats, variances: Floats, alpha: float) -> Floats:
    """The largest score of the pairs of each event type, 0 if none is significant: (labels, size).

    `errors` are labels less their predicted probabilities, (B, labels), and `variances` their variances.
    `alpha` is the probability that any pair of any label is significant by chance.
    """
    first, last, ids = _ends_of(batch, size)
    n_types, n_labels = len(ids), errors.shape[1]
    result = np.zeros((n_labels, size))
    if n_types < 2:
        return result
    sums = np.concatenate([errors, variances], axis=1).T.astype(np.float32)  # (2 * labels, B)
    total = sums[n_labels:].sum(axis=1, dtype=np.float64)[:, None]
    threshold = -ndtri(alpha / (3 * n_labels * n_types * (n_types - 1)))
    for one in range(n_types - 1):
        both = (last[:, one, None] >= 0) & (last[:, one + 1 :] >= 0)
        holds = [both, both & (first[:, one, None] < first[:, one + 1 :])]
        holds.append(both & (last[:, one, None] < last[:, one + 1 :]))
        scores = np.max([_scores(sums, each, total) for each in holds], axis=0)  # (labels, others)
        scores = np.where(scores > threshold, scores, 0.0)
        result[:, ids[one]] = np.maximum(result[:, ids[one]], scores.max(axis=1))
        result[:, ids[one + 1 :]] = np.maximum(result[:, ids[one + 1 :]], scores)
    return result


def _scores(sums: NDArray[np.float32], holds: NDArray[np.bool_], total: Floats) -> Floats:
    """Standard deviations by which errors go with each column of `holds`: (labels, columns)."""
    products = (sums @ holds.astype(np.float32)).astype(np.float64)
    errors, weights = products[: len(total)], products[len(total) :]
    weights = weights * (1 - weights / np.maximum(total, MIN_WEIGHT))  # the errors of a label have mean 0
    usable = weights >= MIN_WEIGHT
    scores: Floats = np.where(usable, np.abs(errors) / np.sqrt(np.maximum(weights, MIN_WEIGHT)), 0.0)
    return scores


def _ends_of(batch: Batch, size: int) -> tuple[NDArray[np.int32], NDArray[np.int32], Ints]:
    """First and last places of the most frequent event types, (B, types), and their ids; last -1: absent."""
    at = np.arange(batch.ids.shape[1])
    rows, places = np.nonzero((at > 0) & (at < batch.lengths[:, None] - 1) & (batch.ids > UNK))
    ids = batch.ids[rows, places]
    counts = np.bincount(np.unique(rows * size + ids) % size, minlength=size)
    chosen = np.sort(np.argsort(-counts, kind="stable")[:MAX_TYPES])
    chosen = chosen[counts[chosen] > 0]
    column = np.full(size, -1)
    column[chosen] = np.arange(len(chosen))
    kept = column[ids] >= 0
    to, places = (rows[kept], column[ids[kept]]), places[kept].astype(np.int32)
    shape = (len(batch.ids), len(chosen))
    first, last = np.full(shape, np.iinfo(np.int32).max, np.int32), np.full(shape, -1, np.int32)
    np.minimum.at(first, to, places)
    np.maximum.at(last, to, places)
    return first, last, chosen
