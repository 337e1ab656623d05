"""dcrt: the distilled conditional randomisation test of hidimstat; one false-discovery rate for all pairs.

A lasso screens the columns of a label; each column left is compared with what the other columns tell of it
and of the label. The screen of the package keeps all columns if fewer than asked for have a weight, so the
penalty and the number of weights are found first.
"""

import warnings
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from eventcargo import EventDataset, LabelGraph

from benchmarks.rivals.problems import Problem, graph_of, problems

SCREENED = 40
"""Most columns of a label that are tested."""

PENALTIES = np.logspace(-3, 0, 10)
"""Inverse penalties of the logistic screen."""


def dcrt(
    data: EventDataset,
    seed: int,
    *,
    kind: Literal["logistic", "linear"] = "logistic",
    rate: float = 0.1,
    rarest: int = 5,
) -> LabelGraph:
    """The columns that a false-discovery rate over all pairs of label and event type allows."""
    from hidimstat.statistical_tools.multiple_testing import fdr_threshold

    solved = [(problem, *tests(problem, kind, seed)) for problem in problems(data, rarest)]
    every = np.concatenate([p_values for _, p_values, _ in solved]) if solved else np.ones(1)
    least = fdr_threshold(every, fdr=rate)
    found = {
        problem.label: {
            str(problem.events[column]): float(statistics[column])
            for column in np.flatnonzero(p_values <= least)
        }
        for problem, p_values, statistics in solved
    }
    return graph_of(data, found)


def tests(problem: Problem, kind: str, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The p-value of each column, 1 if it was screened out, and its statistic."""
    from hidimstat import D0CRT
    from sklearn.linear_model import LassoCV

    dense = problem.presence.toarray()
    dense = (dense - dense.mean(axis=0)) / dense.std(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        screen, n_weights = (_logistic if kind == "logistic" else _linear)(dense, problem, seed)
        if n_weights == 0:
            return np.ones(dense.shape[1]), np.zeros(dense.shape[1])
        test = D0CRT(
            screen,
            lasso_screening=screen,
            screening_threshold=100.0 * min(n_weights, SCREENED) / dense.shape[1],
            model_distillation_x=LassoCV(alphas=10, cv=3, tol=1e-3),
            centered=False,  # dense is
            random_state=seed,
        )
        statistics = np.asarray(test.fit_importance(dense, problem.answer))
    # a statistic that could not be computed says nothing
    return np.nan_to_num(test.pvalues_, nan=1.0), np.nan_to_num(statistics)


def _logistic(dense: NDArray[np.float64], problem: Problem, seed: int) -> tuple[object, int]:
    """A logistic lasso with the penalty that cross-validation chooses, and its number of weights."""
    from sklearn.linear_model import LogisticRegressionCV

    folds = max(2, min(3, problem.positives))
    same = {
        "l1_ratios": (1.0,),
        "solver": "liblinear",
        "scoring": "neg_log_loss",
        "use_legacy_attributes": False,
        "random_state": seed,
    }
    chosen = LogisticRegressionCV(Cs=PENALTIES, cv=folds, **same).fit(dense, problem.answer)
    screen = LogisticRegressionCV(Cs=[float(chosen.C_)], cv=2, **same)
    return screen, int(np.count_nonzero(chosen.coef_))


def _linear(dense: NDArray[np.float64], problem: Problem, seed: int) -> tuple[object, int]:
    """A lasso on 0 and 1 with the penalty that cross-validation chooses, and its number of weights."""
    from sklearn.linear_model import Lasso, LassoCV

    chosen = LassoCV(alphas=20, cv=5, tol=1e-3, random_state=seed).fit(dense, problem.answer)
    return Lasso(alpha=float(chosen.alpha_)), int(np.count_nonzero(chosen.coef_))
