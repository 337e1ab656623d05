"""Simple screens: mutual information, lift, and L1-regularised logistic regression on event presence.

They are baselines to beat and, where presence decides, strong competitors. Unlike the constraint-based
algorithms, they do not condition on the other members of the boundary one by one.
"""

import warnings

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.statistics.g2 import IndependenceTest, Target

MIN_TOGETHER = 5
"""Lift counts only if at least this many sequences have both the event type and the label."""

MAX_FEATURES = 1000
"""Number of event types in the logistic regression: the most dependent."""

WEIGHT_SHARE = 0.3
"""Smallest weight of an event type that is kept, as a share of the label's largest weight."""


def mutual_information(test: IndependenceTest, target: Target, alpha: float, top_k: int) -> list[int]:
    """The `top_k` event types with the largest mutual information, of those with p <= alpha."""
    tests = test(target)
    order, depends = np.argsort(-tests.g2, kind="stable")[:top_k], tests.holds(alpha)
    return [int(tests.candidates[at]) for at in order if depends[at]]


def lift(test: IndependenceTest, target: Target, alpha: float, top_k: int) -> list[int]:
    """The `top_k` event types with the largest P(label | event) / P(label), of those with p <= alpha."""
    tests = test(target)
    together = np.zeros(test.counts.n_columns, np.int64)
    for tables in test.counts.tables(target.rows, ()):
        together[tables.candidates] = tables.present[:, 1].sum(axis=0)
    usable = tests.holds(alpha) & (together >= MIN_TOGETHER)
    ratio = np.where(usable, together / np.maximum(test.counts.totals, 1), -1.0)
    order = np.argsort(-ratio, kind="stable")[:top_k]
    return [int(column) for column in order if usable[column]]


def l1_logistic(
    test: IndependenceTest, presence: sp.csc_array, target: Target, alpha: float, penalty: float = 1.0
) -> list[int]:
    """Event types with a large weight in an L1-regularised logistic regression, largest first.

    Adjusted event types are in the regression, too.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    tests = test(target)
    order = np.argsort(-tests.g2, kind="stable")[:MAX_FEATURES]
    columns = np.sort(order[tests.holds(alpha)[order]])
    if len(columns) == 0 or len(target.rows) in (0, presence.shape[0]):
        return []
    answer = np.zeros(presence.shape[0], np.int8)
    answer[target.rows] = 1
    model = LogisticRegression(
        l1_ratio=1.0, C=1.0 / penalty, solver="liblinear", max_iter=200, random_state=0
    )
    with warnings.catch_warnings():
        # a weight that has not fully converged is large or small all the same
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(presence[:, [*columns, *test.adjusted]], answer, sample_weight=_weights(test))
    weights = model.coef_[0, : len(columns)]
    order = np.argsort(-np.abs(weights), kind="stable")
    largest = np.abs(weights).max()
    return [int(columns[at]) for at in order if abs(weights[at]) >= max(WEIGHT_SHARE * largest, 1e-9)]


def _weights(test: IndependenceTest) -> NDArray[np.float64] | None:
    """The weight of each sequence, with which every group counts as one; None without groups."""
    groups = test.counts.groups
    return None if groups is None else 1.0 / np.bincount(groups)[groups]
