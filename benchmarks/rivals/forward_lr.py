"""forward-lr: stepwise logistic regression.

Forward: of the columns with the largest score statistic (Rao), the one with the largest likelihood ratio is
added, while its p-value is small enough. Backward: the member with the smallest likelihood ratio is dropped,
while its p-value is too large. Rows that agree on all members are one cell, so that a fit takes no time.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import chi2

from eventcargo import EventDataset, LabelGraph

from benchmarks.rivals.problems import Problem, Weights, graph_of, named, problems

TRIED = 5
"""Columns whose likelihood ratio is computed at each step."""

RIDGE = 1e-3
"""Penalty of the squared weights, which keeps them finite where a column decides."""

LARGEST = 60
"""Largest number of members."""


def forward_lr(
    data: EventDataset,
    seed: int,  # noqa: ARG001 (no random draws)
    *,
    alpha: float = 0.1,
    rarest: int = 5,
) -> LabelGraph:
    """The members of each label; `alpha` is divided by the number of event types."""
    found = {problem.label: named(problem, _select(problem, alpha)) for problem in problems(data, rarest)}
    return graph_of(data, found)


def _select(problem: Problem, alpha: float) -> Weights:
    presence, answer = problem.presence, problem.answer
    least = float(chi2.isf(alpha / presence.shape[1], 1)) / 2.0
    fit = _fit(presence, answer, [])
    while len(fit.members) < LARGEST:
        tried = [_fit(presence, answer, [*fit.members, new]) for new in _promising(presence, answer, fit)]
        best = max(tried, key=lambda other: other.likelihood, default=fit)
        if best.likelihood - fit.likelihood < least:
            break
        fit = best
    fit = _shrunk(presence, answer, fit, least)
    return dict(zip(fit.members, fit.weights[1:].tolist(), strict=True))


@dataclass(frozen=True)
class _Fit:
    """A logistic regression on some members: the weights, that of the constant first."""

    members: list[int]
    weights: NDArray[np.float64]
    likelihood: float
    cell_of: NDArray[np.int64]  # the cell of each row
    cells: NDArray[np.float64]  # (cells, 1 + members)

    @property
    def probability(self) -> NDArray[np.float64]:
        """Of each row."""
        return expit(self.cells @ self.weights)[self.cell_of]


def _fit(presence: sp.csc_array, answer: NDArray[np.float64], members: list[int]) -> _Fit:
    rows = presence[:, members].toarray() if members else np.zeros((len(answer), 0))
    cells, cell_of = np.unique(rows, axis=0, return_inverse=True) if members else (rows[:1], None)
    cell_of = np.zeros(len(answer), np.int64) if cell_of is None else cell_of.reshape(-1)
    cells = np.column_stack([np.ones(len(cells)), cells])
    sizes = np.bincount(cell_of, minlength=len(cells)).astype(np.float64)
    positives = np.bincount(cell_of, weights=answer, minlength=len(cells))
    weights, likelihood = _newton(cells, sizes, positives)
    return _Fit(members, weights, likelihood, cell_of, cells)


def _newton(
    cells: NDArray[np.float64], sizes: NDArray[np.float64], positives: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Weights of the largest likelihood, less the ridge, and that likelihood."""
    ridge = np.full(cells.shape[1], RIDGE)
    ridge[0] = 0.0
    share = positives.sum() / sizes.sum()
    weights = np.zeros(cells.shape[1])
    weights[0] = np.log(share / (1.0 - share))
    value = _likelihood(cells, sizes, positives, weights, ridge)
    for _ in range(50):
        probability = expit(cells @ weights)
        slope = cells.T @ (positives - sizes * probability) - ridge * weights
        curvature = (cells.T * (sizes * probability * (1.0 - probability))) @ cells + np.diag(ridge + 1e-9)
        step, before = np.linalg.solve(curvature, slope), value
        for _ in range(20):
            value = _likelihood(cells, sizes, positives, weights + step, ridge)
            if value >= before:
                break
            step /= 2.0
        if value <= before + 1e-8:
            break
        weights = weights + step
    return weights, _likelihood(cells, sizes, positives, weights, 0.0 * ridge)


def _likelihood(
    cells: NDArray[np.float64],
    sizes: NDArray[np.float64],
    positives: NDArray[np.float64],
    weights: NDArray[np.float64],
    ridge: NDArray[np.float64],
) -> float:
    score = cells @ weights
    value = positives @ score - sizes @ np.logaddexp(0.0, score)
    return float(value - 0.5 * ridge @ weights**2)


def _promising(presence: sp.csc_array, answer: NDArray[np.float64], fit: _Fit) -> list[int]:
    """The columns with the largest score statistic given the fit."""
    probability = fit.probability
    variance = probability * (1.0 - probability)
    slope = presence.T @ (answer - probability)
    design = fit.cells[fit.cell_of]
    shared = presence.T @ (design * variance[:, None])  # (columns, 1 + members)
    within = (design.T * variance) @ design + np.diag(np.full(design.shape[1], 1e-9))
    own = presence.T @ variance - np.einsum("ij,ij->i", shared, np.linalg.solve(within, shared.T).T)
    statistic = np.where(own > 1e-6, slope**2 / np.maximum(own, 1e-6), 0.0)
    statistic[fit.members] = 0.0
    order = np.argsort(-statistic, kind="stable")[:TRIED]
    return [int(column) for column in order if statistic[column] > 0]


def _shrunk(presence: sp.csc_array, answer: NDArray[np.float64], fit: _Fit, least: float) -> _Fit:
    while fit.members:
        smaller = [
            _fit(presence, answer, [other for other in fit.members if other != member])
            for member in fit.members
        ]
        best = max(smaller, key=lambda other: other.likelihood)
        if fit.likelihood - best.likelihood >= least:
            break
        fit = best
    return fit
