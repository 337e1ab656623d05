"""LinearTerm: the part of a label's logit that is a sum over explicit features, and its fit.

Enters a data set, leaves one sparse weight for each telling feature and label. A conjunction is linear in
presence and a pair of neighbours is one feature, so a convex fit finds in seconds what a Transformer finds
slowly; the Transformer adds what no feature says. A family of features is used for a label only where it
lowers the log-loss of held-out sequences by more than chance would.
"""

import math
import os
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from eventcargo.baselines.independence import IndependenceTest, Target
from eventcargo.batches import Batch, Batches
from eventcargo.errors import ConfigError, DataError, EventCargoWarning
from eventcargo.events import EventDataset
from eventcargo.features import FAMILIES, Events, Moments, feature_matrix
from eventcargo.models.choice import Choice
from eventcargo.models.everywhere import Everywhere
from eventcargo.models.lasso import Fit, base_fit, fit_lasso, reweight
from eventcargo.models.relevance import AT_END, chosen_moments
from eventcargo.vocabulary import Vocabulary

Ints = NDArray[np.int64]
Progress = Callable[[int, int], None]
"""Called with (labels done, labels in all)."""

BLOCK_LABELS = 8
"""Labels screened by one sparse product."""

CHUNK = 2_000
"""Sequences made into features at once."""

LEAST_WINDOW, LONGEST_WINDOW = 4, 32
"""Pairs are made within so many events, or first occurrences; how many depends on the size of the data."""

LEAST_POSITIVES = 5
"""A label with fewer sequences gets its base rate and no weights; an event type that fewer are without is
everywhere."""


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


@dataclass(frozen=True, eq=False)
class LinearTerm:
    """Weights of selected features; `keys` holds the sorted keys of each family in the order of `weights`.

    `size` is the number of ids of the vocabulary, `window` how far apart pairs may be.
    """

    size: int
    window: int
    keys: Mapping[str, Ints]
    weights: Tensor  # (features, labels)
    bias: Tensor  # (labels,)

    @property
    def n_features(self) -> int:
        return len(self.weights)

    def to(self, device: torch.device | str) -> "LinearTerm":
        """The same term with its weights on another device."""
        return LinearTerm(self.size, self.window, self.keys, self.weights.to(device), self.bias.to(device))

    def logits(self, batch: Batch, labels_at: NDArray[np.bool_], label_columns: Ints | None = None) -> Tensor:
        """Logits given ids 0 to i at the positions asked for: (positions, labels)."""
        weights, bias, used = self.weights, self.bias, None
        if label_columns is not None:
            columns = torch.from_numpy(np.asarray(label_columns)).to(bias.device)
            weights, bias = weights[:, columns], bias[columns]
            used = (weights != 0).any(dim=1).cpu().numpy()
        if not (labels_at & batch.at_end).any():
            used = self._before_end() if used is None else used & self._before_end()
        moments = self.moments(batch, used)
        rows, positions = (torch.from_numpy(at).to(bias.device) for at in np.nonzero(labels_at))
        if not (labels_at & ~batch.at_end).any():  # whole sequences need no running sum
            return _summed(moments.rows, moments.keys, len(batch.ids), weights)[rows] + bias
        n_rows, width = batch.ids.shape
        flat = _summed(moments.rows * width + moments.positions, moments.keys, n_rows * width, weights)
        running = flat.view(n_rows, width, len(bias)).cumsum(1)  # (B, L, Y)
        return running[rows, positions] + bias

    def moments(self, batch: Batch, used: NDArray[np.bool_] | None = None) -> Moments:
        """When the selected features, or those used of them, become true; the keys are rows of `weights`."""
        parts, start, events = [], 0, Events.from_batch(batch, self.size)
        for family, keys in self.keys.items():
            rows = np.arange(start, start + len(keys))
            start += len(keys)
            if used is not None:
                rows, keys = rows[used[rows]], keys[used[rows]]
            if len(keys):
                found = chosen_moments(events, family, self.window, keys)
                parts.append(Moments(found.rows, found.positions, rows[found.keys]))
        return Moments.join(parts)

    def _before_end(self) -> NDArray[np.bool_]:
        """Which features can become true before the end: (features,)."""
        sizes = [len(keys) for keys in self.keys.values()]
        return np.repeat([family not in AT_END for family in self.keys], sizes)

    def to_tensors(self) -> dict[str, Tensor]:
        """Everything as named tensors, for a safetensors file."""
        keys = {f"keys.{family}": torch.from_numpy(keys.copy()) for family, keys in self.keys.items()}
        shape = torch.tensor([self.size, self.window])
        return {"shape": shape, "weights": self.weights.contiguous(), "bias": self.bias, **keys}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> "LinearTerm":
        """The term that `to_tensors` took apart."""
        missing = sorted({"shape", "weights", "bias"} - set(tensors))
        if missing:
            raise DataError(f"no linear term: the tensor {missing[0]!r} is missing among {sorted(tensors)}")
        names = [name.removeprefix("keys.") for name in tensors if name.startswith("keys.")]
        unknown = sorted(set(names) - set(FAMILIES))
        if unknown:
            raise DataError(
                f"the linear term has features {unknown[0]!r}; this release has {tuple(FAMILIES)}"
            )
        keys = {name: tensors[f"keys.{name}"].cpu().numpy() for name in FAMILIES if name in names}
        n_keys, weights, bias = sum(map(len, keys.values())), tensors["weights"], tensors["bias"]
        if weights.shape != (n_keys, len(bias)):
            raise DataError(
                f"the linear term has weights of shape {tuple(weights.shape)} for {n_keys:,} features and "
                f"{len(bias):,} labels; the file is damaged"
            )
        size, window = tensors["shape"].tolist()
        return cls(size, window, keys, weights, bias)


def _summed(bags: Ints, features: Ints, n_bags: int, weights: Tensor) -> Tensor:
    """The sum of the weights of the features in each bag: (bags, labels)."""
    order = np.argsort(bags, kind="stable")
    starts = np.searchsorted(bags[order], np.arange(n_bags))
    chosen, offsets = (torch.from_numpy(part).to(weights.device) for part in (features[order], starts))
    if len(features) == 0:
        return weights.new_zeros(n_bags, weights.shape[1])
    return torch.nn.functional.embedding_bag(chosen, weights, offsets, mode="sum")


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

    Labels whose turn does not come within `seconds` keep their base rate, with a warning.

    >>> from eventcargo.simulate import simulate
    >>> data = simulate("follows", sequences=400, labels=1, seed=1).data
    >>> term = fit_linear(data, Vocabulary.from_dataset(data), max_length=64)
    >>> [family for family, keys in term.keys.items() if len(keys)]
    ['presence', 'adjacent']
    """
    config, deadline = config or LinearConfig(), time.monotonic() + seconds
    made = Batches(data, vocabulary, max_length)
    batches = [made.take(np.arange(at, min(at + CHUNK, len(data)))) for at in range(0, len(data), CHUNK)]
    held = np.random.default_rng(seed).random(len(data)) < config.held_out
    window = int(np.clip(config.max_moments // max(data.n_events, 1), LEAST_WINDOW, LONGEST_WINDOW))
    by_label = data.label_matrix().tocsc().astype(np.float64)
    found = _screen(batches, len(vocabulary), window, by_label, held, config)
    fits = _fit_labels(found, by_label, held, config, progress, deadline)
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
    deadline: float,
) -> list[Fit]:
    late: list[int] = []
    whole, fit_part, held_part = (found.X[rows].tocsc() for rows in (slice(None), ~held, held))
    n_labels = by_label.shape[1]
    everywhere = Everywhere.of(whole, found.keys, found.size, LEAST_POSITIVES)

    def fit(label: int) -> Fit:
        y = by_label[:, [label]].toarray().ravel()
        if min(y.sum(), len(y) - y.sum()) < LEAST_POSITIVES:
            return base_fit(whole.shape[1], int(y.sum()), len(y))
        if time.monotonic() > deadline:
            late.append(label)
            return base_fit(whole.shape[1], int(y.sum()), len(y))
        families, penalty = Choice(
            fit_part, held_part, y[~held], y[held], found.columns[label], config.penalties, config.gain
        ).make()
        columns = np.concatenate([found.columns[label][family] for family in families])
        return everywhere.settle(_fit_columns(whole, y, columns, penalty), whole, y)

    fits = []
    with ThreadPoolExecutor(config.workers or os.cpu_count() or 1) as pool:
        for result in pool.map(fit, range(n_labels)):
            fits.append(result)
            if progress is not None:
                progress(len(fits), n_labels)
    if late:
        warnings.warn(
            f"time was up before the linear term of {len(late):,} of {n_labels:,} labels was fitted; "
            "the Transformer learns them alone; give more time",
            EventCargoWarning,
            stacklevel=3,
        )
    return fits


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
