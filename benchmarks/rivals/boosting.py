"""lightgbm: boosted trees, and how much worse they foretell the label once a column is shuffled.

The loss is measured on held-out sequences, fold by fold, for the columns that the trees use. Columns that are
nearly equal (companions) are shuffled together; of those, the one with the largest loss alone is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import StratifiedKFold

from eventcargo import EventDataset, LabelGraph

from benchmarks.rivals.problems import Problem, Weights, graph_of, named, problems

if TYPE_CHECKING:
    import lightgbm

FOLDS, SHUFFLES = 5, 5

ALIKE = 0.9
"""Correlation above which columns are shuffled together."""

TREES = {
    "objective": "binary",
    "learning_rate": 0.05,
    "min_data_in_leaf": 5,
    "feature_pre_filter": False,
    "verbosity": -1,
    "num_threads": 1,
    "deterministic": True,
    "force_col_wise": True,
}


def boosting(
    data: EventDataset,
    seed: int,
    *,
    errors: float = 2.0,
    rounds: int = 60,
    leaves: int = 2,
    rarest: int = 5,
) -> LabelGraph:
    """The columns of each label whose mean loss exceeds so many standard errors."""
    trees = {**TREES, "num_leaves": leaves, "seed": seed}
    found = {}
    for problem in problems(data, rarest):
        units, signs = units_of(problem.presence), problem.signs()
        weights = measure(problem, units, trees, rounds, seed).kept(units, errors)
        signed = {column: signs[column] * weight for column, weight in weights.items()}
        found[problem.label] = named(problem, signed)
    return graph_of(data, found)


Unit = tuple[int, ...]
"""Columns that are shuffled together; mostly one."""


@dataclass
class Losses:
    """What shuffling costs: sums over held-out sequences, and sums of squares, by unit of columns.

    The members of a larger unit are there for themselves, too.
    """

    n_sequences: int
    sums: dict[Unit, float] = field(default_factory=dict)
    squares: dict[Unit, float] = field(default_factory=dict)

    def add(self, unit: Unit, increase: NDArray[np.float64]) -> None:
        self.sums[unit] = self.sums.get(unit, 0.0) + float(increase.sum())
        self.squares[unit] = self.squares.get(unit, 0.0) + float((increase**2).sum())

    def errors(self, unit: Unit) -> float:
        """The mean increase in standard errors."""
        mean, square = self.sums[unit] / self.n_sequences, self.squares[unit] / self.n_sequences
        return mean / max(np.sqrt(max(square - mean**2, 0.0) / self.n_sequences), 1e-12)

    def kept(self, units: Sequence[Unit], errors: float) -> Weights:
        """The strongest column of each unit whose mean exceeds so many standard errors."""
        kept = [unit for unit in units if unit in self.sums and self.errors(unit) > errors]
        return {self._strongest(unit): self.sums[unit] / self.n_sequences for unit in kept}

    def _strongest(self, unit: Unit) -> int:
        return max(unit, key=lambda column: self.sums.get((column,), 0.0))


def measure(
    problem: Problem, units: Sequence[Unit], trees: Mapping[str, object], rounds: int, seed: int
) -> Losses:
    """Shuffle columns on held-out sequences, fold by fold."""
    import lightgbm

    rng, losses = np.random.default_rng(seed), Losses(len(problem.answer))
    folds = min(FOLDS, problem.positives)
    if folds < 2:
        return losses
    rows = sp.csr_matrix(problem.presence)  # lightgbm warns of arrays
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for learned, held in splitter.split(np.zeros(len(problem.answer)), problem.answer):
        given = lightgbm.Dataset(rows[learned], problem.answer[learned], params=dict(trees))
        model = lightgbm.train(dict(trees), given, rounds)
        fold = _Fold(model, rows[held], problem.answer[held], rng)
        used = set(np.flatnonzero(model.feature_importance()).tolist())
        for unit in (unit for unit in units if used.intersection(unit)):
            losses.add(unit, fold.increase(unit))
            for column in used.intersection(unit) if len(unit) > 1 else ():
                losses.add((column,), fold.increase((column,)))
    return losses


def units_of(presence: sp.csc_array) -> list[Unit]:
    """The columns, those that are nearly equal together."""
    share = presence.mean(axis=0)
    together = sp.coo_array(presence.T @ presence) / presence.shape[0]
    a, b = together.coords
    spread = np.sqrt(share * (1.0 - share))
    correlation = (together.data - share[a] * share[b]) / (spread[a] * spread[b])
    alike = np.abs(correlation) > ALIKE
    links = sp.coo_array((alike[alike], (a[alike], b[alike])), shape=(len(share), len(share)))
    _, number = connected_components(links, directed=False)
    order = np.argsort(number, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(number[order])) + 1)
    return [tuple(part.tolist()) for part in parts]


class _Fold:
    """Held-out sequences and a model that has not seen them."""

    def __init__(
        self,
        model: "lightgbm.Booster",
        rows: sp.csr_matrix,
        answer: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> None:
        self.model, self.rows, self.answer, self.rng = model, rows, answer, rng
        self.loss = _loss(model.predict(rows, raw_score=True), answer)

    def increase(self, unit: Unit) -> NDArray[np.float64]:
        """How much the loss of each sequence grows, on average over shuffles of some columns."""
        columns = list(unit)
        values = self.rows[:, columns].toarray()
        shuffled = np.stack([values[self.rng.permutation(len(values))] for _ in range(SHUFFLES)])
        turn, row = np.nonzero((shuffled != values).any(axis=2))  # only what changed is foretold anew
        increase = np.zeros(len(self.answer))
        if len(row):
            changed = self.rows[row].toarray()
            changed[:, columns] = shuffled[turn, row]
            loss = _loss(self.model.predict(changed, raw_score=True), self.answer[row])
            np.add.at(increase, row, loss - self.loss[row])
        return increase / SHUFFLES


def _loss(score: NDArray[np.float64], answer: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.logaddexp(0.0, score) - answer * score
