"""Fitting the linear term of a data set: one sparse weight per informative feature and label.

A conjunction is linear in presence and a pair of neighbours is one feature, so a convex fit finds in seconds
what a Transformer finds slowly; the Transformer adds what no feature expresses. A family of features is used
for a label only if it lowers the log-loss of held-out sequences by more than chance would.
"""

import math
import os
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from eventcargo.batches import Batch, Batches
from eventcargo.config import Settings, setting
from eventcargo.errors import ConfigError, EventCargoWarning, counted
from eventcargo.events import EventDataset
from eventcargo.features import FAMILIES, feature_matrix
from eventcargo.models.linear.family_selection import Choice
from eventcargo.models.linear.lasso import Fit, base_fit, fit_lasso, reweight
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.linear.ubiquitous import Ubiquitous
from eventcargo.progress import OnProgress
from eventcargo.statistics.g2 import IndependenceTest, Target
from eventcargo.vocabulary import Vocabulary

Ints = NDArray[np.int64]

BLOCK_LABELS = 8
"""Labels screened by one sparse product."""

CHUNK = 2_000
"""Sequences turned into features at once."""

MIN_WINDOW, MAX_WINDOW = 4, 32
"""Range of the window, in events or first occurrences, in which pairs are formed; smaller for large data."""

MIN_POSITIVES = 5
"""A label with fewer positives, or fewer negatives, gets its base rate and no weights. An event type that is
absent from fewer sequences is ubiquitous."""

HASTE, HASTY_PENALTY = 0.2, 4.0
"""Labels not reached within the time limit get this share of it on top, for one fit on presence each, with
the penalty that is chosen most often."""


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
            raise ConfigError(f"penalties={self.penalties}: use one or more numbers above 0")


@dataclass(frozen=True)
class _Candidates:
    """The features that some label may use, and which label may use which."""

    X: sp.csr_array  # (sequences, features)
    keys: dict[str, Ints]
    size: int  # of the vocabulary
    columns: list[dict[str, Ints]]  # for each label and family, the columns of X it may use


def fit_linear(
    data: EventDataset,
    vocabulary: Vocabulary,
    max_length: int,
    config: LinearConfig | None = None,
    seed: int = 0,
    progress: OnProgress | None = None,
    seconds: float = math.inf,
) -> LinearTerm:
    """Fit the linear term of a data set, label by label.

    Labels not reached within `seconds` are fitted on presence alone, and those not reached within a fifth of
    that time more keep their base rate; both with a warning.

    >>> from eventcargo.simulation import simulate
    >>> data = simulate("follows", sequences=400, labels=1, seed=1).data
    >>> term = fit_linear(data, Vocabulary.from_dataset(data), max_length=64)
    >>> [family for family, keys in term.keys.items() if len(keys)]
    ['presence', 'adjacent']
    """
    config, began = config or LinearConfig(), time.monotonic()
    made = Batches(data, vocabulary, max_length)
    batches = [made.take(np.arange(at, min(at + CHUNK, len(data)))) for at in range(0, len(data), CHUNK)]
    held = np.random.default_rng(seed).random(len(data)) < config.held_out
    window = int(np.clip(config.max_moments // max(data.n_events, 1), MIN_WINDOW, MAX_WINDOW))
    by_label = data.label_matrix().tocsc().astype(np.float64)
    candidates = _screen(batches, len(vocabulary), window, by_label, held, config)
    fits = _fit_labels(candidates, by_label, held, config, progress, _Deadline(began, seconds))
    return _term(fits, candidates.keys, len(vocabulary), window)


def _screen(
    batches: list[Batch],
    size: int,
    window: int,
    by_label: sp.csc_array,
    held: NDArray[np.bool_],
    config: LinearConfig,
) -> _Candidates:
    """All event types, and the features of other families that depend on a label in the fitted sequences.

    Event types are not screened: one that inhibits a rare label hardly depends on it by itself.
    """
    parts, keys, start = [sp.csr_array((by_label.shape[0], 0))], {}, 0
    columns: list[dict[str, Ints]] = [{} for _ in range(by_label.shape[1])]
    for family in [name for name in FAMILIES if name in (*config.families, "presence")]:
        matrix, names = feature_matrix(batches, family, size, window, config.min_support)
        if family == "presence":
            selected = [np.arange(len(names))] * len(columns)
        else:
            selected = _dependent(matrix[~held], by_label[~held], config)
        used = np.unique(np.concatenate([np.zeros(0, np.int64), *selected]))
        for of_label, features in zip(columns, selected, strict=True):
            of_label[family] = start + np.searchsorted(used, features)
        parts.append(matrix[:, used].astype(np.float64))
        keys[family], start = names[used], start + len(used)
    return _Candidates(sp.hstack(parts, format="csr"), keys, size, columns)


def _dependent(matrix: sp.csr_array, by_label: sp.csc_array, config: LinearConfig) -> list[Ints]:
    """For every label the columns that depend on it, sorted, at most `max_features`."""
    if matrix.shape[1] == 0:
        return [np.zeros(0, np.int64)] * by_label.shape[1]
    alpha = config.alpha / max(matrix.shape[1], 1)
    test, by_label = IndependenceTest(matrix), sp.csc_array(by_label)
    by_label.sort_indices()
    rows = np.split(by_label.indices.astype(np.int32), by_label.indptr[1:-1])[: by_label.shape[1]]
    selected: list[Ints] = []
    for at in range(0, len(rows), BLOCK_LABELS):
        for tests in test.many([(Target(positives), ()) for positives in rows[at : at + BLOCK_LABELS]]):
            holding = np.flatnonzero(tests.holds(alpha))
            order = np.argsort(-tests.g2[holding], kind="stable")[: config.max_features]
            selected.append(np.sort(tests.candidates[holding[order]]))
    return selected


def _fit_labels(
    candidates: _Candidates,
    by_label: sp.csc_array,
    held: NDArray[np.bool_],
    config: LinearConfig,
    progress: OnProgress | None,
    deadline: "_Deadline",
) -> list[Fit]:
    hasty, late = list[int](), list[int]()
    whole, fitted, held_out = (candidates.X[rows].tocsc() for rows in (slice(None), ~held, held))
    n_labels = by_label.shape[1]
    everywhere = Ubiquitous.of(whole, candidates.keys, candidates.size, MIN_POSITIVES)

    def choose(label: int, y: NDArray[np.float64]) -> tuple[tuple[str, ...], float]:
        if deadline.is_near:
            hasty.append(label)
            return ("presence",), HASTY_PENALTY
        columns = candidates.columns[label]
        return Choice(fitted, held_out, y[~held], y[held], columns, config.penalties, config.min_z).make()

    def fit(label: int) -> Fit:
        y = by_label[:, [label]].toarray().ravel()
        if min(y.sum(), len(y) - y.sum()) < MIN_POSITIVES:
            return base_fit(whole.shape[1], int(y.sum()), len(y))
        if deadline.is_over:
            late.append(label)
            return base_fit(whole.shape[1], int(y.sum()), len(y))
        families, penalty = choose(label, y)
        columns = np.concatenate([candidates.columns[label][family] for family in families])
        return everywhere.settle(_fit_columns(whole, y, columns, penalty), whole, y)

    fits = []
    with ThreadPoolExecutor(config.workers or os.cpu_count() or 1) as pool:
        for result in pool.map(fit, range(n_labels)):
            fits.append(result)
            if progress is not None:
                progress("linear term", len(fits), n_labels, "labels")
    _warn_of(hasty, n_labels, "fitted on presence alone for lack of time; the Transformer learns the rest")
    _warn_of(late, n_labels, "not fitted within the time limit; the Transformer learns all of it")
    return fits


@dataclass(frozen=True)
class _Deadline:
    """When labels are fitted on presence alone, and when not at all."""

    began: float
    seconds: float

    @property
    def is_near(self) -> bool:
        return time.monotonic() > self.began + self.seconds

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self.began + (1 + HASTE) * self.seconds


def _warn_of(labels: list[int], n_labels: int, words: str) -> None:
    if labels:
        n, verb = f"{len(labels):,} of {counted(n_labels, 'label')}", "was" if len(labels) == 1 else "were"
        warnings.warn(f"{n} {verb} {words}; allow more time", EventCargoWarning, stacklevel=4)


def _fit_columns(X: sp.csc_array, y: NDArray[np.float64], columns: Ints, penalty: float) -> Fit:
    """A fit on some columns; the weights of all others are 0."""
    weights = np.zeros(X.shape[1])
    used = X[:, columns]
    first = fit_lasso(used, y, penalty, base_fit(len(columns), int(y.sum()), len(y)))
    reweighted = reweight(used, y, penalty, first)
    weights[columns] = reweighted.weights
    return Fit(weights, reweighted.bias)


def _term(fits: list[Fit], keys: dict[str, Ints], size: int, window: int) -> LinearTerm:
    """The linear term of these fits, without features that have no weight for any label."""
    n_columns = sum(map(len, keys.values()))
    weights = np.zeros((n_columns, len(fits)), np.float32)
    for label, fit in enumerate(fits):
        weights[:, label] = fit.weights
    used = (weights != 0).any(axis=1)
    splits = np.split(used, np.cumsum(list(map(len, keys.values())))[:-1])
    used_keys = {family: own[inside] for (family, own), inside in zip(keys.items(), splits, strict=True)}
    bias = np.array([fit.bias for fit in fits], np.float32)
    return LinearTerm(size, window, used_keys, torch.from_numpy(weights[used]), torch.from_numpy(bias))
