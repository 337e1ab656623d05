"""Fitting the linear term of a data set: one sparse weight per informative feature and label.

A conjunction is linear in presence and a pair of neighbours is one feature, so a convex fit finds in seconds
what a Transformer finds slowly; the Transformer adds what no feature expresses. A family of features is used
for a label only if it lowers the log-loss of held-out sequences by more than chance would.
"""

import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from eventcargo.batches import Batch, Batches
from eventcargo.config import Settings, setting
from eventcargo.deadline import NEVER, Deadline, warn_of_left_out
from eventcargo.errors import ConfigError, argument
from eventcargo.event_kinds import NumberedKinds
from eventcargo.events import EventDataset
from eventcargo.features import FAMILIES, feature_matrix, is_sensible
from eventcargo.models.linear.family_selection import Choice, Trial
from eventcargo.models.linear.folds import N_FOLDS, Fold, fold_numbers
from eventcargo.models.linear.lasso import Fit, Lasso, base_fit, take_columns
from eventcargo.models.linear.term import Effort, LinearTerm
from eventcargo.models.linear.ubiquitous import Ubiquitous
from eventcargo.progress import OnProgress
from eventcargo.statistics.design_effect import Groups
from eventcargo.statistics.g2 import IndependenceTest, Target
from eventcargo.vocabulary import Vocabulary

Ints = NDArray[np.int64]

BLOCK_LABELS = 8
"""Labels screened by one sparse product."""

CHUNK = 2_000
"""Sequences turned into features at once."""

MOST_KEPT = 10_000_000
"""Most events that stay in memory as batches while the families are made; more are batched anew each time."""

MIN_WINDOW, MAX_WINDOW = 4, 32
"""Range of the window, in events or first occurrences, in which pairs are formed; smaller for large data."""

MIN_POSITIVES = 5
"""A label with fewer positives, or fewer negatives, gets its base rate and no weights. An event type that is
absent from fewer sequences is ubiquitous."""

RESERVE = 1.5
"""Families are tried while the time left is this many times what presence of the labels to come takes."""


@dataclass(frozen=True)
class LinearConfig(Settings):
    """Settings of the linear term."""

    families: tuple[str, ...] = tuple(FAMILIES)
    """families of features that may be used; `presence` always is"""
    penalties: tuple[float, ...] = (32.0, 16.0, 8.0, 4.0, 2.0)
    """L1 penalties to try, largest first, until the held-out log-loss is clearly worse"""
    alpha: float = setting(0.05, gt=0, le=1)
    """largest p-value of a feature, divided by the number of features of its family; not for presence"""
    max_features: int = setting(1000, ge=1)
    """most features of a family that a label may use, the most dependent ones; not for presence"""
    min_support: int = setting(10, ge=1)
    """sequences in which a feature must hold"""
    max_moments: int = setting(10_000_000, ge=1)
    """most pairs of events per family of pairs, about; sets the window in which pairs are formed"""
    held_out: float = setting(0.2, gt=0, le=0.9)
    """share of sequences on which penalty and families are selected"""
    min_z: float = setting(2.0, ge=0)
    """standard errors by which a family must lower the held-out log-loss"""
    workers: int = setting(0, ge=0)
    """threads; 0: one per core; does not change the result"""

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = sorted(set(self.families) - set(FAMILIES))
        if unknown:
            raise ConfigError(f"families has {unknown[0]!r}: use some of {', '.join(FAMILIES)}")
        if not self.penalties or min(self.penalties) <= 0:
            raise ConfigError(f"{argument('penalties', self.penalties)}: use one or more numbers above 0")


@dataclass(frozen=True)
class _Candidates:
    """The features that some label may use, and which label may use which."""

    X: sp.csr_array  # (sequences, features)
    keys: dict[str, Ints]
    size: int  # of the vocabulary
    columns: list[dict[str, Ints]]  # for each label and family, the columns of X it may use
    is_complete: bool  # whether there was time for all families


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
) -> LinearTerm:
    """Fit the linear term of a data set, label by label, the most frequent first.

    When the deadline is near, labels are fitted on presence alone; those not reached at all keep their base
    rate. A warning names both, and `LinearTerm.effort` has them.

    >>> from eventcargo.simulation import simulate
    >>> data = simulate("follows", sequences=400, labels=1, seed=1).data
    >>> term = fit_linear(data, Vocabulary.from_dataset(data), max_length=64)
    >>> [family for family, keys in term.keys.items() if len(keys)]
    ['presence', 'adjacent']
    """
    config = config or LinearConfig()
    chunks = _Chunks(Batches(data, vocabulary, max_length))
    batches = chunks if data.n_events > MOST_KEPT else list(chunks)
    window = int(np.clip(config.max_moments // max(data.n_events, 1), MIN_WINDOW, MAX_WINDOW))
    by_label = data.label_matrix().tocsc().astype(np.float64)
    split = _Split.of(data, config.held_out, seed)
    kinds = data.kinds.numbered(vocabulary.decode(range(len(vocabulary))))
    candidates = _screen(batches, kinds, window, by_label, split, config, deadline.share(SCREENING))
    with threadpool_limits(1, "blas"):  # labels are fitted side by side
        fits = _Labels(candidates, by_label, split, config, deadline).fit(progress)
    _tell([(data.label_names[label], fits[label].effort) for label in _most_frequent_first(by_label)])
    return _term(fits, candidates.keys, len(vocabulary), window)


class _Chunks:
    """All sequences in batches, made anew each time they are asked for."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[Batch]:
        n = len(self._batches.lengths)
        return (self._batches.take(np.arange(at, min(at + CHUNK, n))) for at in range(0, n, CHUNK))


def _screen(
    batches: Iterable[Batch],
    kinds: NumberedKinds,
    window: int,
    by_label: sp.csc_array,
    split: "_Split",
    config: LinearConfig,
    deadline: Deadline,
) -> _Candidates:
    """All event types, and the features of other families that depend on a label in the fitted sequences.

    Event types are not screened: one that inhibits a rare label hardly depends on it by itself. A family for
    which there is no time, judged by the slowest before it, is left out.
    """
    parts, keys, start, slowest = [sp.csr_array((by_label.shape[0], 0))], dict[str, Ints](), 0, 0.0
    columns: list[dict[str, Ints]] = [{} for _ in range(by_label.shape[1])]
    families = [name for name in FAMILIES if name in (*config.families, "presence")]
    for family in families:
        if family != "presence" and deadline.left < slowest:
            continue
        began = time.monotonic()
        matrix, names = feature_matrix(batches, family, kinds.size, window, config.min_support)
        if kinds:
            sensible = is_sensible(family, names, kinds)
            matrix, names = matrix[:, sensible], names[sensible]
        if family == "presence":
            selected = [np.arange(len(names))] * len(columns)
        else:
            selected = _selected(matrix, by_label, split, config)
        used = np.unique(np.concatenate([np.zeros(0, np.int64), *selected]))
        for of_label, features in zip(columns, selected, strict=True):
            of_label[family] = start + np.searchsorted(used, features)
        parts.append(matrix[:, used].astype(np.float64))
        keys[family], start = names[used], start + len(used)
        slowest = max(slowest, time.monotonic() - began)
    X, is_complete = sp.hstack(parts, format="csr"), len(keys) == len(families)
    return _Candidates(X, keys, kinds.size, columns, is_complete)


@dataclass(frozen=True)
class _Split:
    """Which sequences are held out to select penalty and families, in whole groups, and all groups.

    `studies` are labels and the sequences for which they are known, on which they are fitted.
    """

    held: NDArray[np.bool_]
    fold: Ints  # which fold leaves a sequence out
    groups: Groups
    studies: tuple[tuple[Ints, Ints | slice], ...]

    @classmethod
    def of(cls, data: EventDataset, share: float, seed: int) -> "_Split":
        held, n_labels = data.group_draw(np.random.default_rng(seed)) < share, len(data.label_names)
        fold = fold_numbers(data)
        if data.known is None:
            return cls(held, fold, data.groups, ((np.arange(n_labels), slice(None)),))
        return cls(held, fold, data.groups, tuple(data.known.alike(n_labels)))

    def take(self, rows: Ints | slice) -> "_Split":
        """That of some sequences, for which all labels are known."""
        groups = None if self.groups is None else self.groups[rows]
        return _Split(self.held[rows], self.fold[rows], groups, ())

    def groups_of(self, which: NDArray[np.bool_]) -> Groups:
        return None if self.groups is None else self.groups[which]


def _selected(
    matrix: sp.csr_array, by_label: sp.csc_array, split: _Split, config: LinearConfig
) -> list[Ints]:
    """For every label the columns that depend on it in the fitted sequences for which it is known."""
    selected = dict[int, Ints]()
    for labels, rows in split.studies:
        own = split.take(rows)
        fitted = np.arange(len(split.held))[rows][~own.held]
        columns = _dependent(matrix[fitted], by_label[fitted][:, labels], own.groups_of(~own.held), config)
        selected |= zip(labels.tolist(), columns, strict=True)
    return [selected[label] for label in range(by_label.shape[1])]


def _dependent(
    matrix: sp.csr_array, by_label: sp.csc_array, groups: Groups, config: LinearConfig
) -> list[Ints]:
    """For every label the columns that depend on it, sorted, at most `max_features`."""
    if matrix.shape[1] == 0:
        return [np.zeros(0, np.int64)] * by_label.shape[1]
    alpha = config.alpha / max(matrix.shape[1], 1)
    test, by_label = IndependenceTest(matrix, groups=groups), sp.csc_array(by_label)
    by_label.sort_indices()
    rows = np.split(by_label.indices.astype(np.int32), by_label.indptr[1:-1])[: by_label.shape[1]]
    selected: list[Ints] = []
    for at in range(0, len(rows), BLOCK_LABELS):
        for tests in test.many([(Target(positives), ()) for positives in rows[at : at + BLOCK_LABELS]]):
            holding = np.flatnonzero(tests.holds(alpha))
            order = np.argsort(-tests.g2[holding], kind="stable")[: config.max_features]
            selected.append(np.sort(tests.candidates[holding[order]]))
    return selected


@dataclass(frozen=True)
class _Fitted:
    """The fit of a label, how far it came, and the fits without each fold; none without weights."""

    fit: Fit
    effort: Effort
    folds: tuple[Fit, ...] = ()


@dataclass(frozen=True)
class _Part:
    """The features of the sequences on which some labels are fitted."""

    rows: Ints | slice
    split: _Split
    whole: sp.csc_array
    fitted: sp.csc_array
    held_out: sp.csc_array
    everywhere: Ubiquitous

    @property
    def can_select(self) -> bool:
        """Whether there are sequences to fit and sequences to select by."""
        return 0 < int(self.split.held.sum()) < len(self.split.held)

    @classmethod
    def of(cls, candidates: _Candidates, split: _Split, rows: Ints | slice) -> "_Part":
        X, own = candidates.X if isinstance(rows, slice) else candidates.X[rows], split.take(rows)
        whole, fitted, held_out = (part.tocsc() for part in (X, X[~own.held], X[own.held]))
        everywhere = Ubiquitous.of(whole, candidates.keys, candidates.size, MIN_POSITIVES)
        return cls(rows, own, whole, fitted, held_out, everywhere)


class _Labels:
    """Fits every label, the most frequent first, side by side."""

    def __init__(
        self,
        candidates: _Candidates,
        by_label: sp.csc_array,
        split: _Split,
        config: LinearConfig,
        deadline: Deadline,
    ) -> None:
        self._candidates, self._by_label = candidates, by_label
        self._config, self._deadline = config, deadline
        self._n_workers = config.workers or os.cpu_count() or 1
        self._split = split
        self._rows = {label: rows for labels, rows in split.studies for label in labels.tolist()}
        self._shared = dict[int, _Part]()
        for labels, rows in split.studies:
            if len(labels) > 1:
                self._shared |= dict.fromkeys(labels.tolist(), _Part.of(candidates, split, rows))
        self._left, self._spent, self._done = by_label.shape[1], 0.0, 0

    def fit(self, progress: OnProgress | None) -> list[_Fitted]:
        """The fits of all labels, in their order."""
        order = _most_frequent_first(self._by_label)
        fits = dict[int, _Fitted]()
        with ThreadPoolExecutor(self._n_workers) as pool:
            for label, fitted in zip(order, pool.map(self._one, order), strict=True):
                fits[label] = fitted
                if progress is not None:
                    progress("linear term", len(fits), len(order), "labels")
        return [fits[label] for label in range(len(order))]

    def _one(self, label: int) -> _Fitted:
        self._left -= 1
        part = self._part(label)
        y = self._by_label[:, [label]].toarray().ravel()[part.rows]
        base = base_fit(part.whole.shape[1], int(y.sum()), len(y))
        if min(y.sum(), len(y) - y.sum()) < MIN_POSITIVES or not part.can_select:
            return _Fitted(base, Effort.ALL)
        if self._deadline.is_over:
            return _Fitted(base, Effort.NONE)
        trial, is_complete = self._choose(label, part, y)
        columns = self._columns(label, trial.families)
        plain, sharp = _refit(part.whole, y, columns, trial)
        fit = part.everywhere.settle(sharp, part.whole, y)
        is_complete &= self._candidates.is_complete
        folds = self._folds(part, y, np.flatnonzero(sharp.weights), plain, trial.penalty)
        return _Fitted(fit, Effort.ALL if is_complete else Effort.PRESENCE, tuple(folds))

    def _folds(
        self, part: _Part, y: NDArray[np.float64], columns: Ints, plain: Fit, penalty: float
    ) -> Iterator[Fit]:
        """Fits on the columns with a weight, without each fold, as the whole fit is made."""
        X, start = take_columns(part.whole, columns), Fit(plain.weights[columns], plain.bias)
        for fold in range(N_FOLDS):
            lasso = Lasso(X, y, counts=(part.split.fold != fold).astype(np.float64))
            fit = _spread(lasso.reweight(penalty, lasso.fit(penalty, start)), columns, part.whole.shape[1])
            yield part.everywhere.settle(fit, part.whole, y)

    def _part(self, label: int) -> _Part:
        """The sequences of a label; made anew for a label that shares them with no other, to save memory."""
        return self._shared.get(label) or _Part.of(self._candidates, self._split, self._rows[label])

    def _choose(self, label: int, part: _Part, y: NDArray[np.float64]) -> tuple[Trial, bool]:
        """The best trial of a label, and whether there was time for all families."""
        began, config = time.monotonic(), self._config
        held, columns = part.split.held, self._candidates.columns[label]
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
        return choice.with_families(best, self._has_time)

    def _has_time(self) -> bool:
        """Whether the labels to come will have enough time for presence."""
        to_come = self._left * self._spent / max(self._done, 1) / self._n_workers
        return self._deadline.left > RESERVE * to_come

    def _columns(self, label: int, families: tuple[str, ...]) -> Ints:
        return np.concatenate([self._candidates.columns[label][family] for family in families])


def _most_frequent_first(by_label: sp.csc_array) -> list[int]:
    return [int(label) for label in np.argsort(-np.diff(by_label.indptr), kind="stable")]


def _refit(X: sp.csc_array, y: NDArray[np.float64], columns: Ints, trial: Trial) -> tuple[Fit, Fit]:
    """The trial's fit on all sequences, before and after its penalties are reweighted."""
    lasso = Lasso(take_columns(X, columns), y)
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


def _term(fits: list[_Fitted], keys: dict[str, Ints], size: int, window: int) -> LinearTerm:
    """The linear term of these fits, without features that have no weight for any label."""
    n_columns = sum(map(len, keys.values()))
    weights = np.zeros((n_columns, len(fits)), np.float32)
    for label, fitted in enumerate(fits):
        weights[:, label] = fitted.fit.weights
    used = (weights != 0).any(axis=1)
    folds = tuple(_fold(fits, fold, used) for fold in range(N_FOLDS))
    splits = np.split(used, np.cumsum(list(map(len, keys.values())))[:-1])
    used_keys = {family: own[inside] for (family, own), inside in zip(keys.items(), splits, strict=True)}
    bias = torch.tensor([fitted.fit.bias for fitted in fits], dtype=torch.float32)
    effort = torch.tensor([fitted.effort for fitted in fits], dtype=torch.uint8)
    return LinearTerm(size, window, used_keys, torch.from_numpy(weights[used]), bias, effort, folds)


def _fold(fits: list[_Fitted], fold: int, used: NDArray[np.bool_]) -> Fold:
    """The weights of the used features without one fold, as they are when they are saved."""
    weights, bias = np.zeros((int(used.sum()), len(fits)), np.float32), np.full(len(fits), np.nan, np.float32)
    for label, fitted in enumerate(fits):
        if fitted.folds:
            weights[:, label], bias[label] = fitted.folds[fold].weights[used], fitted.folds[fold].bias
    return Fold(sp.csr_array(weights.astype(np.float64)), bias.astype(np.float64))
