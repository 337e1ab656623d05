"""Fitting: the linear term of a data set.

Enters a data set, leaves one sparse weight for each telling feature and label. A conjunction is linear in
presence and a pair of neighbours is one feature, so a convex fit finds in seconds what a Transformer finds
slowly; the Transformer adds what no feature says. A family of features is used for a label only where it
lowers the log-loss of held-out sequences by more than chance would.
"""

import math
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from eventcargo.batches import Batch, Batches
from eventcargo.errors import ConfigError, EventCargoWarning
from eventcargo.events import EventDataset
from eventcargo.features import FAMILIES, feature_matrix
from eventcargo.models.linear.family_selection import Choice
from eventcargo.models.linear.lasso import Fit, base_fit, fit_lasso, reweight
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.linear.ubiquitous import Everywhere
from eventcargo.statistics.g2 import IndependenceTest, Target
from eventcargo.vocabulary import Vocabulary

Ints = NDArray[np.int64]
Progress = Callable[[int, int], None]
"""Called with (labels done, labels in all)."""

BLOCK_LABELS = 8
"""Labels screened by one sparse product."""

CHUNK = 2_000
"""Sequences made into features at once."""

MIN_WINDOW, MAX_WINDOW = 4, 32
"""Pairs are made within so many events, or first occurrences; how many depends on the size of the data."""

MIN_POSITIVES = 5
"""A label with fewer sequences gets its base rate and no weights; an event type that fewer are without is
everywhere."""

HASTE, HASTY_PENALTY = 0.2, 4.0
"""Labels whose turn does not come in time have this share of it besides, for one fit on presence each; of the
penalties it is the one that is chosen most often."""


@dataclass(frozen=True)
class LinearConfig:
    """Settings of the linear term."""

    families: tuple[str, ...] = tuple(FAMILIES)
    "Families of features that may be used; `presence` always is."
    penalties: tuple[float, ...] = (32.0, 16.0, 8.0, 4.0, 2.0)
    "L1 penalties tried, from the largest on, until the held-out log-loss is clearly worse."
    alpha: float = 0.05
    "Largest p-value of a feature other than presence; divided by the number of features of its family."
    max_features: int = 1000
    "Features of a family, other than presence, that a label may use: the most dependent ones."
    min_support: int = 10
    "Sequences in which a feature must hold."
    max_moments: int = 10_000_000
    "Pairs of events looked at in each family of pairs; sets the window in which pairs are made."
    held_out: float = 0.2
    "Share of sequences on which penalty and families are chosen."
    gain: float = 2.0
    "A family must lower the held-out log-loss by so many standard errors."
    workers: int = 0
    "Threads; 0 takes one per core. The result does not depend on it."

    def __post_init__(self) -> None:
        unknown = sorted(set(self.families) - set(FAMILIES))
        if unknown:
            raise ConfigError(f"no family {unknown[0]!r}; choose from {', '.join(FAMILIES)}")
        if not self.penalties or min(self.penalties) <= 0:
            raise ConfigError(f"penalties={self.penalties}: give at least one, each above 0")
        for name, low, high in (("alpha", 0.0, 1.0), ("held_out", 0.0, 0.9)):
            if not low < getattr(self, name) <= high:
                raise ConfigError(f"{name}={getattr(self, name)} must lie above {low:g} and up to {high:g}")
        for name in ("max_features", "min_support", "max_moments"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)} must be at least 1")
        for name in ("gain", "workers"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name}={getattr(self, name)} must be 0 or more")


@dataclass(frozen=True)
class _Candidates:
    """Features of all families that some label may use, and which label may use which."""

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
    progress: Progress | None = None,
    seconds: float = math.inf,
) -> LinearTerm:
    """The linear term of a data set, fitted label by label.

    Labels whose turn does not come within `seconds` are told from presence alone, and those for which a fifth
    of the time more does not suffice keep their base rate, with a warning.

    >>> from eventcargo.simulate import simulate
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
    found = _screen(batches, len(vocabulary), window, by_label, held, config)
    fits = _fit_labels(found, by_label, held, config, progress, _Deadline(began, seconds))
    return _term(fits, found.keys, len(vocabulary), window)


def _screen(
    batches: list[Batch],
    size: int,
    window: int,
    by_label: sp.csc_array,
    held: NDArray[np.bool_],
    config: LinearConfig,
) -> _Candidates:
    """All event types, and the features of other families that depend on a label where none is held out.

    Event types are not screened: one that inhibits a rare label hardly depends on it by itself.
    """
    parts, keys, start = [sp.csr_array((by_label.shape[0], 0))], {}, 0
    columns: list[dict[str, Ints]] = [{} for _ in range(by_label.shape[1])]
    for family in [name for name in FAMILIES if name in (*config.families, "presence")]:
        matrix, names = feature_matrix(batches, family, size, window, config.min_support)
        if family == "presence":
            found = [np.arange(len(names))] * len(columns)
        else:
            found = _dependent(matrix[~held], by_label[~held], config)
        used = np.unique(np.concatenate([np.zeros(0, np.int64), *found]))
        for of_label, part in zip(columns, found, strict=True):
            of_label[family] = start + np.searchsorted(used, part)
        parts.append(matrix[:, used].astype(np.float64))
        keys[family], start = names[used], start + len(used)
    return _Candidates(sp.hstack(parts, format="csr"), keys, size, columns)


def _dependent(matrix: sp.csr_array, by_label: sp.csc_array, config: LinearConfig) -> list[Ints]:
    """For every label the columns that depend on it, at most so many, sorted."""
    if matrix.shape[1] == 0:
        return [np.zeros(0, np.int64)] * by_label.shape[1]
    alpha = config.alpha / max(matrix.shape[1], 1)
    test, by_label = IndependenceTest(matrix), sp.csc_array(by_label)
    by_label.sort_indices()
    rows = np.split(by_label.indices.astype(np.int32), by_label.indptr[1:-1])[: by_label.shape[1]]
    found: list[Ints] = []
    for at in range(0, len(rows), BLOCK_LABELS):
        for tests in test.many([(Target(part), ()) for part in rows[at : at + BLOCK_LABELS]]):
            holding = np.flatnonzero(tests.holds(alpha))
            order = np.argsort(-tests.g2[holding], kind="stable")[: config.max_features]
            found.append(np.sort(tests.candidates[holding[order]]))
    return found


def _fit_labels(
    found: _Candidates,
    by_label: sp.csc_array,
    held: NDArray[np.bool_],
    config: LinearConfig,
    progress: Progress | None,
    deadline: "_Deadline",
) -> list[Fit]:
    hasty, late = list[int](), list[int]()
    whole, fit_part, held_part = (found.X[rows].tocsc() for rows in (slice(None), ~held, held))
    n_labels = by_label.shape[1]
    everywhere = Everywhere.of(whole, found.keys, found.size, MIN_POSITIVES)

    def choose(label: int, y: NDArray[np.float64]) -> tuple[tuple[str, ...], float]:
        if deadline.is_near:
            hasty.append(label)
            return ("presence",), HASTY_PENALTY
        columns = found.columns[label]
        return Choice(fit_part, held_part, y[~held], y[held], columns, config.penalties, config.gain).make()

    def fit(label: int) -> Fit:
        y = by_label[:, [label]].toarray().ravel()
        if min(y.sum(), len(y) - y.sum()) < MIN_POSITIVES:
            return base_fit(whole.shape[1], int(y.sum()), len(y))
        if deadline.is_over:
            late.append(label)
            return base_fit(whole.shape[1], int(y.sum()), len(y))
        families, penalty = choose(label, y)
        columns = np.concatenate([found.columns[label][family] for family in families])
        return everywhere.settle(_fit_columns(whole, y, columns, penalty), whole, y)

    fits = []
    with ThreadPoolExecutor(config.workers or os.cpu_count() or 1) as pool:
        for result in pool.map(fit, range(n_labels)):
            fits.append(result)
            if progress is not None:
                progress(len(fits), n_labels)
    _warn_of(hasty, n_labels, "was fitted in full; it knows presence alone, the Transformer learns the rest")
    _warn_of(late, n_labels, "was fitted; the Transformer learns them alone")
    return fits


@dataclass(frozen=True)
class _Deadline:
    """When labels have to be fitted in haste, and when not at all."""

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
        share = f"{len(labels):,} of {n_labels:,} labels"
        told = f"time was up before the linear term of {share} {words}; give more time"
        warnings.warn(told, EventCargoWarning, stacklevel=4)


def _fit_columns(X: sp.csc_array, y: NDArray[np.float64], columns: Ints, penalty: float) -> Fit:
    """A fit on some columns, with weights for all of them."""
    weights = np.zeros(X.shape[1])
    used = X[:, columns]
    first = fit_lasso(used, y, penalty, base_fit(len(columns), int(y.sum()), len(y)))
    part = reweight(used, y, penalty, first)
    weights[columns] = part.weights
    return Fit(weights, part.bias)


def _term(fits: list[Fit], keys: dict[str, Ints], size: int, window: int) -> LinearTerm:
    """Only the features with a weight for some label are kept."""
    n_columns = sum(len(part) for part in keys.values())
    weights = np.zeros((n_columns, len(fits)), np.float32)
    for label, fit in enumerate(fits):
        weights[:, label] = fit.weights
    used = (weights != 0).any(axis=1)
    splits = np.split(used, np.cumsum([len(part) for part in keys.values()])[:-1])
    kept = {family: part[inside] for (family, part), inside in zip(keys.items(), splits, strict=True)}
    bias = np.array([fit.bias for fit in fits], np.float32)
    return LinearTerm(size, window, kept, torch.from_numpy(weights[used]), torch.from_numpy(bias))
