"""Fitting the linear term of a data set: one sparse weight per informative feature and label.

A conjunction is linear in presence and a pair of neighbours is one feature, so a convex fit finds in seconds
what a Transformer finds slowly; the Transformer adds what no feature expresses. A family of features is used
for a label only if it lowers the log-loss of held-out sequences by more than chance would.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from eventcargo.binary_matrix import BinaryMatrix
from eventcargo.deadline import NEVER, Deadline, warn_of_left_out
from eventcargo.engines.engine import Engine
from eventcargo.engines.local import engine_or
from eventcargo.engines.work import Work, moment, read_arrays, write_arrays
from eventcargo.events import EventDataset
from eventcargo.models.linear.columns import Columns
from eventcargo.models.linear.family_selection import Choice, Trial
from eventcargo.models.linear.folds import N_FOLDS, Fold
from eventcargo.models.linear.lasso import Fit, Lasso, base_fit
from eventcargo.models.linear.screening import (
    Candidates,
    Screening,
    Split,
    plan_of,
    read_candidates,
    screen,
    write_candidates,
)
from eventcargo.models.linear.settings import LinearConfig
from eventcargo.models.linear.term import Effort, LinearTerm
from eventcargo.models.linear.ubiquitous import Ubiquitous
from eventcargo.progress import OnProgress
from eventcargo.shared_data import share_data, shared_data
from eventcargo.vocabulary import Vocabulary

__all__ = ["LinearConfig", "fit_linear"]

Ints = NDArray[np.int64]

MIN_POSITIVES = 5
"""A label with fewer positives, or fewer negatives, gets its base rate and no weights. An event type that is
absent from fewer sequences is ubiquitous."""

RESERVE = 1.5
"""Families are tried while the time left is this many times what presence of the labels to come takes."""

SCREENING = 0.5
"""Largest share of the time for making and screening the features."""


def fit_linear(
    data: EventDataset,
    vocabulary: Vocabulary,
    max_length: int,
    config: LinearConfig | None = None,
    seed: int = 0,
    progress: OnProgress | None = None,
    deadline: Deadline = NEVER,
    engine: Engine | None = None,
) -> LinearTerm:
    """Fit the linear term of a data set, label by label, the most frequent first.

    When the deadline is near, labels are fitted on presence alone; those not reached at all keep their base
    rate. A warning names both, and `LinearTerm.effort` has them. The `engine` makes the families of features
    and fits the labels: by default, processes on this machine.

    >>> from eventcargo.simulation import simulate
    >>> data = simulate("follows", sequences=400, labels=1, seed=1).data
    >>> term = fit_linear(data, Vocabulary.from_dataset(data), max_length=64)
    >>> [family for family, keys in term.keys.items() if len(keys)]
    ['presence', 'adjacent']
    """
    config = config or LinearConfig()
    screening = Screening(data, vocabulary, max_length, config, seed)
    with engine_or(engine, config.workers) as where:
        fits, keys = _fit_labels(screening, where, progress, deadline)
    _tell([(data.label_names[label], fits.efforts[label]) for label in _most_frequent_first(screening)])
    return _term(fits, keys, len(vocabulary), screening.window)


def _fit_labels(
    screening: Screening, engine: Engine, progress: OnProgress | None, deadline: Deadline
) -> "tuple[_Fits, dict[str, Ints]]":
    """The fits of all labels, and the keys of the features."""
    order = _most_frequent_first(screening)
    with engine.workspace("fits", plan_of(screening)) as place:
        work = FitWork(
            place,
            screening.data.fingerprint,
            screening.config,
            screening.seed,
            engine.places,
            ends=moment(deadline),
        )
        state = work.prepared(
            lambda: LabelFits(screening, screen(screening, engine, deadline.share(SCREENING)))
        )
        done = len(order) - len(work.missing(range(len(order))))
        with work.held(state, deadline):
            for _ in engine.run(work, range(len(order))):
                done += 1
                if progress is not None:
                    progress("linear term", done, len(order), "labels")
        files = {label: work.path(unit) for unit, label in enumerate(order)}
        paths = [files[label] for label in range(len(order))]
        return _Fits.read(paths, state.candidates.n_features), state.candidates.keys


@dataclass(frozen=True)
class _Fitted:
    """The fit of a label, how far it came, and the fits without each fold; none without weights."""

    fit: Fit
    effort: Effort
    folds: tuple[Fit, ...] = ()

    def write(self, path: Path) -> None:
        """Write the nonzero weights of all fits, one after the other."""
        fits = (self.fit, *self.folds)
        used = [np.flatnonzero(each.weights) for each in fits]
        write_arrays(
            path,
            effort=np.array(int(self.effort)),
            bias=np.array([each.bias for each in fits]),
            columns=np.concatenate(used),
            weights=np.concatenate([each.weights[own] for each, own in zip(fits, used, strict=True)]),
            ends=np.cumsum([len(own) for own in used]),
        )


@dataclass(frozen=True)
class _Fits:
    """The fits of all labels: of each, as written by `_Fitted`, columns, weights and biases."""

    efforts: list[Effort]
    bias: list[NDArray[np.float64]]
    columns: list[list[Ints]]
    weights: list[list[NDArray[np.float64]]]
    n_columns: int

    @classmethod
    def read(cls, paths: Sequence[Path], n_columns: int) -> "_Fits":
        fits = cls([], [], [], [], n_columns)
        for path in paths:
            names = ("effort", "bias", "columns", "weights", "ends")
            effort, bias, columns, weights, ends = read_arrays(path, *names)
            fits.efforts.append(Effort(int(effort)))
            fits.bias.append(bias)
            fits.columns.append(np.split(columns, ends[:-1]))
            fits.weights.append(np.split(weights, ends[:-1]))
        return fits

    def matrix(self, which: int) -> sp.csr_array:
        """The weights of the whole fits (0) or of those without a fold (1, ...): (columns, labels)."""
        none: list[Any] = [np.zeros(0)]
        rows = [own[which] if which < len(own) else np.zeros(0, np.int64) for own in self.columns]
        values = [own[which] for own in self.weights if which < len(own)]
        labels = np.repeat(np.arange(len(rows)), list(map(len, rows)))
        entries = np.concatenate(none + values).astype(np.float32)
        places = np.concatenate([np.zeros(0, np.int64), *rows]), labels
        matrix = sp.csr_array((entries, places), shape=(self.n_columns, len(rows)))
        matrix.eliminate_zeros()
        return matrix


@dataclass(frozen=True)
class _Part:
    """The features of the sequences on which some labels are fitted."""

    rows: Ints | slice
    split: Split
    whole: Columns
    fitted: Columns
    held_out: Columns
    everywhere: Ubiquitous

    @property
    def can_select(self) -> bool:
        """Whether there are sequences to fit and sequences to select by."""
        return 0 < int(self.split.held.sum()) < len(self.split.held)

    @classmethod
    def of(
        cls, candidates: Candidates, split: Split, rows: Ints | slice, saved: Path | None = None
    ) -> "_Part":
        """The features of some sequences: mapped into memory where they were saved, or else made."""
        own = split.take(rows)
        if saved is not None:
            whole, fitted, held_out = (Columns(BinaryMatrix.load(saved / name)) for name in MATRICES)
        else:
            assert candidates.X is not None, "the features of these sequences were saved"
            X = candidates.X if isinstance(rows, slice) else candidates.X.take(rows)
            whole, fitted, held_out = (Columns(part.transposed) for part in _by_row(X, own))
        everywhere = Ubiquitous.of(whole, candidates.keys, candidates.size, MIN_POSITIVES)
        return cls(rows, own, whole, fitted, held_out, everywhere)


MATRICES = ("whole", "fitted", "held_out")
"""The features of all sequences of a part, of those fitted and of those held out, each by columns."""


def _by_row(X: BinaryMatrix, split: Split) -> Iterator[BinaryMatrix]:
    """The rows of each of the `MATRICES`, one after the other."""
    yield X
    yield X.take(np.flatnonzero(~split.held))
    yield X.take(np.flatnonzero(split.held))


class LabelFits:
    """Fits labels, which are numbered the most frequent first.

    `saved` is the folder with the features of labels that share sequences, if they were written there.
    """

    def __init__(self, screening: Screening, candidates: Candidates, saved: Path | None = None) -> None:
        self.screening, self.candidates, self._saved = screening, candidates, saved
        self._config, self._split, self._by_label = screening.config, screening.split, screening.by_label
        self._rows = {label: rows for labels, rows in self._split.studies for label in labels.tolist()}
        self._spent, self._done = 0.0, 0

    @cached_property
    def _order(self) -> list[int]:
        return _most_frequent_first(self.screening)

    @cached_property
    def _shared(self) -> dict[int, _Part]:
        """The sequences of labels that share them."""
        shared = dict[int, _Part]()
        for number, labels, rows in self._shared_studies():
            saved = None if self._saved is None else self._saved / f"study-{number}"
            shared |= dict.fromkeys(labels.tolist(), _Part.of(self.candidates, self._split, rows, saved))
        return shared

    def _shared_studies(self) -> Iterator[tuple[int, Ints, Ints | slice]]:
        """The studies of several labels, numbered, with their labels and sequences."""
        every = enumerate(self._split.studies)
        return ((number, labels, rows) for number, (labels, rows) in every if len(labels) > 1)

    @property
    def has_labels_alone(self) -> bool:
        """Whether some label shares its sequences with no other."""
        return any(len(labels) == 1 for labels, _ in self._split.studies)

    def write_shared(self, folder: Path) -> None:
        """Write the features of labels that share sequences, one matrix at a time."""
        assert self.candidates.X is not None
        for number, _, rows in self._shared_studies():
            X = self.candidates.X if isinstance(rows, slice) else self.candidates.X.take(rows)
            for name, matrix in zip(MATRICES, _by_row(X, self._split.take(rows)), strict=True):
                matrix.save_transposed(folder / f"study-{number}" / name)

    def fit(self, place: int, deadline: Deadline, n_places: int) -> _Fitted:
        """The fit of the label at this place of the order; `n_places` are fitted side by side."""
        label, n_left = self._order[place], len(self._order) - place - 1
        part = self._part(label)
        y = self._by_label[:, [label]].toarray().ravel()[part.rows]
        base = base_fit(part.whole.shape[1], int(y.sum()), len(y))
        if min(y.sum(), len(y) - y.sum()) < MIN_POSITIVES or not part.can_select:
            return _Fitted(base, Effort.ALL)
        if deadline.is_over:
            return _Fitted(base, Effort.NONE)

        def has_time() -> bool:
            """Whether the labels to come will have enough time for presence."""
            to_come = n_left * self._spent / max(self._done, 1) / n_places
            return deadline.left > RESERVE * to_come

        trial, is_complete = self._choose(label, part, y, has_time)
        columns = self._columns(label, trial.families)
        plain, sharp = _refit(part.whole, y, columns, trial)
        fit = part.everywhere.settle(sharp, part.whole, y)
        is_complete &= self.candidates.is_complete
        folds = self._folds(part, y, np.flatnonzero(sharp.weights), plain, trial.penalty)
        return _Fitted(fit, Effort.ALL if is_complete else Effort.PRESENCE, tuple(folds))

    def _folds(
        self, part: _Part, y: NDArray[np.float64], columns: Ints, plain: Fit, penalty: float
    ) -> Iterator[Fit]:
        """Fits on the columns with a weight, without each fold, as the whole fit is made."""
        X, start = part.whole.take(columns), Fit(plain.weights[columns], plain.bias)
        for fold in range(N_FOLDS):
            lasso = Lasso(X, y, counts=(part.split.fold != fold).astype(np.float64))
            fit = _spread(lasso.reweight(penalty, lasso.fit(penalty, start)), columns, part.whole.shape[1])
            yield part.everywhere.settle(fit, part.whole, y)

    def _part(self, label: int) -> _Part:
        """The sequences of a label; made anew for a label that shares them with no other, to save memory."""
        return self._shared.get(label) or _Part.of(self.candidates, self._split, self._rows[label])

    def _choose(
        self, label: int, part: _Part, y: NDArray[np.float64], has_time: Callable[[], bool]
    ) -> tuple[Trial, bool]:
        """The best trial of a label, and whether there was time for all families."""
        began, config = time.monotonic(), self._config
        held, columns = part.split.held, self.candidates.columns[label]
        choice = Choice(
            part.fitted,
            part.held_out,
            y[~held],
            y[held],
            columns,
            config.penalties,
            config.min_z,
            config.alpha,
            part.split.groups_of(held),
        )
        best = choice.on_presence()
        self._spent, self._done = self._spent + time.monotonic() - began, self._done + 1
        return choice.with_families(best, has_time)

    def _columns(self, label: int, families: tuple[str, ...]) -> Ints:
        return np.concatenate([self.candidates.columns[label][family] for family in families])


@dataclass(frozen=True)
class FitWork(Work[LabelFits]):
    """Fit the labels, one a unit, the most frequent first."""

    data: str
    """the fingerprint of the data"""
    config: LinearConfig
    seed: int
    places: int
    """labels that are fitted side by side, about"""

    def save(self, state: LabelFits, folder: Path) -> None:
        share_data(state.screening.data, self.folder.parent)
        write_candidates(state.candidates, folder, with_matrix=state.has_labels_alone)
        state.write_shared(folder)

    def open(self, folder: Path) -> LabelFits:
        data = shared_data(self.data, self.folder.parent)
        screening = Screening(data, Vocabulary(()), 0, self.config, self.seed)
        return LabelFits(screening, read_candidates(folder), folder)

    def do(self, state: LabelFits, unit: int) -> None:
        with threadpool_limits(1, "blas"):  # labels are fitted side by side
            state.fit(unit, self.deadline, self.places).write(self.path(unit))

    def path(self, unit: int) -> Path:
        return self.folder / f"label-{unit:05}.npz"


def _most_frequent_first(screening: Screening) -> list[int]:
    return [int(label) for label in np.argsort(-np.diff(screening.by_label.indptr), kind="stable")]


def _refit(X: Columns, y: NDArray[np.float64], columns: Ints, trial: Trial) -> tuple[Fit, Fit]:
    """The trial's fit on all sequences, before and after its penalties are reweighted."""
    lasso = Lasso(X.take(columns), y)
    plain = lasso.fit(trial.penalty, trial.plain)
    sharp = lasso.reweight(trial.penalty, plain)
    return _spread(plain, columns, X.shape[1]), _spread(sharp, columns, X.shape[1])


def _spread(fit: Fit, columns: Ints, n_columns: int) -> Fit:
    """A fit on some columns as one on all; the weights of all others are 0."""
    weights = np.zeros(n_columns)
    weights[columns] = fit.weights
    return Fit(weights, fit.bias)


def _tell(efforts: list[tuple[str, Effort]]) -> None:
    """Warn of labels for which there was no time; the most frequent come first."""
    for effort, words in TOLD.items():
        warn_of_left_out(words, [name for name, own in efforts if own == effort], len(efforts))


TOLD = {
    Effort.PRESENCE: "only the presence of event types was fitted, not their order, count and time,",
    Effort.NONE: "nothing but the base rate was fitted",
}
"""What is told of labels by how far their fit came."""


def _term(fits: _Fits, keys: dict[str, Ints], size: int, window: int) -> LinearTerm:
    """The linear term of these fits, without features that have no weight for any label."""
    weights = fits.matrix(0)
    used = np.diff(weights.indptr) > 0
    folds = tuple(_fold(fits, fold, used) for fold in range(N_FOLDS))
    splits = np.split(used, np.cumsum(list(map(len, keys.values())))[:-1])
    used_keys = {family: own[inside] for (family, own), inside in zip(keys.items(), splits, strict=True)}
    bias = torch.tensor([own[0] for own in fits.bias], dtype=torch.float32)
    effort = torch.tensor(fits.efforts, dtype=torch.uint8)
    return LinearTerm(size, window, used_keys, torch.from_numpy(weights[used].toarray()), bias, effort, folds)


def _fold(fits: _Fits, fold: int, used: NDArray[np.bool_]) -> Fold:
    """The weights of the used features without one fold, as they are when they are saved."""
    bias = [own[1 + fold] if len(own) > 1 else np.nan for own in fits.bias]
    return Fold(fits.matrix(1 + fold)[used].astype(np.float64), np.array(bias, np.float32).astype(np.float64))
