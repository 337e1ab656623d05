"""abess: best subset of a logistic regression (L0), its size chosen by an information criterion."""

import warnings
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo import EventDataset, LabelGraph

from benchmarks.rivals.problems import Problem, Weights, graph_of, named, problems

LARGEST = (8, 20, 40)
"""Largest subset that is tried; a larger one only if the best is nearly as large."""

SCREENED = 1000
"""Columns left by the package's own screen, by the likelihood of each alone."""

DENSE = 50_000_000
"""Values of the largest presence matrix that is not given as a sparse one, which takes twice as long."""


def best_subset(
    data: EventDataset,
    seed: int,  # noqa: ARG001 (no random draws)
    *,
    criterion: Literal["gic", "ebic", "bic"] = "gic",
    factor: float = 1.0,
    rarest: int = 5,
) -> LabelGraph:
    """The best subset of each label; `factor` multiplies the penalty of the criterion."""
    found = {
        problem.label: named(problem, _select(problem, criterion, factor))
        for problem in problems(data, rarest)
    }
    return graph_of(data, found)


def _select(problem: Problem, criterion: str, factor: float) -> Weights:
    n_columns = problem.presence.shape[1]
    is_small = problem.presence.shape[0] * n_columns <= DENSE
    presence = problem.presence.toarray() if is_small else problem.presence.tocsr()
    for largest in (min(size, n_columns) for size in LARGEST):
        weights = _fit(presence, problem.answer, largest, criterion, factor)
        if np.count_nonzero(weights) < largest - 1:
            break
    return {int(column): float(weights[column]) for column in np.flatnonzero(weights)}


def _fit(
    presence: NDArray[np.float64] | sp.csr_array,
    answer: NDArray[np.float64],
    largest: int,
    criterion: str,
    factor: float,
) -> NDArray[np.float64]:
    """The weights of the best subset of up to so many columns."""
    from abess import LogisticRegression

    model = LogisticRegression(
        support_size=range(largest + 1),
        ic_type=criterion,
        ic_coef=factor,
        screening_size=SCREENED if presence.shape[1] > SCREENED else -1,
        is_warm_start=False,  # better subsets, in longer time
        important_search=0,  # of all columns
        max_iter=50,
        primary_model_fit_max_iter=100,
        approximate_Newton=True,  # the exact one fails where columns decide
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(presence, answer, is_normal=False)
    return np.atleast_1d(model.coef_)
