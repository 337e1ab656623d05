"""Screening: make the features of every family, and select for each label those that depend on it.

Each family is one unit of work.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.batches import Batch, Batches
from eventcargo.binary_matrix import BinaryMatrix
from eventcargo.deadline import Deadline
from eventcargo.engines.engine import Engine
from eventcargo.engines.work import Work, moment
from eventcargo.event_kinds import NumberedKinds
from eventcargo.events import EventDataset
from eventcargo.features import FAMILIES, is_sensible
from eventcargo.files import atomic_file, atomic_folder, read_document, write_document
from eventcargo.models.linear.folds import fold_numbers
from eventcargo.models.linear.row_features import RowFeatures
from eventcargo.models.linear.settings import LinearConfig
from eventcargo.ragged import offsets_of
from eventcargo.shared_data import share_data, shared_data
from eventcargo.statistics.design_effect import Groups
from eventcargo.statistics.g2 import IndependenceTest, Target
from eventcargo.vocabulary import Vocabulary

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

BLOCK_LABELS = 8
"""Labels screened by one sparse product."""

CHUNK = 2_000
"""Sequences turned into features at once."""

MOST_KEPT = 10_000_000
"""Most events that stay in memory as batches while the families are made; more are batched anew each time."""

MIN_WINDOW, MAX_WINDOW = 4, 32
"""Range of the window, in events or first occurrences, in which pairs are formed; smaller for large data."""


CANDIDATES = "eventcargo-candidates", 1
"""Format and version of the file that describes candidates."""

HEADER = 128
"""Bytes of an empty array in a file."""


@dataclass(frozen=True)
class Candidates:
    """The features that some label may use, and which label may use which."""

    X: BinaryMatrix | None  # (sequences, features); None: where it is needed, it was saved by columns
    keys: dict[str, Ints]
    size: int  # of the vocabulary
    columns: list[dict[str, Ints]]  # for each label and family, the columns of X it may use
    is_complete: bool  # whether there was time for all families

    @property
    def n_features(self) -> int:
        return sum(map(len, self.keys.values()))


@dataclass(frozen=True)
class Split:
    """Which sequences are held out to select penalty and families, in whole groups, and all groups.

    `studies` are labels and the sequences for which they are known, on which they are fitted.
    """

    held: NDArray[np.bool_]
    fold: Ints  # which fold leaves a sequence out
    groups: Groups
    studies: tuple[tuple[Ints, Ints | slice], ...]

    @classmethod
    def of(cls, data: EventDataset, share: float, seed: int) -> "Split":
        held, n_labels = data.group_draw(np.random.default_rng(seed)) < share, len(data.label_names)
        fold = fold_numbers(data)
        if data.known is None:
            return cls(held, fold, data.groups, ((np.arange(n_labels), slice(None)),))
        return cls(held, fold, data.groups, tuple(data.known.alike(n_labels)))

    def take(self, rows: Ints | slice) -> "Split":
        """That of some sequences, for which all labels are known."""
        groups = None if self.groups is None else self.groups[rows]
        return Split(self.held[rows], self.fold[rows], groups, ())

    def groups_of(self, which: NDArray[np.bool_]) -> Groups:
        return None if self.groups is None else self.groups[which]


@dataclass(frozen=True)
class Screening:
    """A data set whose features are made, with what they are selected by."""

    data: EventDataset
    vocabulary: Vocabulary
    max_length: int
    config: LinearConfig
    seed: int

    @cached_property
    def batches(self) -> Iterable[Batch]:
        chunks = _Chunks(Batches(self.data, self.vocabulary, self.max_length))
        return chunks if self.data.n_events > MOST_KEPT else list(chunks)

    @cached_property
    def kinds(self) -> NumberedKinds:
        return self.data.kinds.numbered(self.vocabulary.decode(range(len(self.vocabulary))))

    @cached_property
    def split(self) -> Split:
        return Split.of(self.data, self.config.held_out, self.seed)

    @cached_property
    def by_label(self) -> sp.csc_array:
        return self.data.label_matrix().tocsc().astype(np.float64)

    @property
    def window(self) -> int:
        """The window in which pairs are formed."""
        moments = self.config.max_moments // max(self.data.n_events, 1)
        return int(np.clip(moments, MIN_WINDOW, MAX_WINDOW))

    @property
    def families(self) -> list[str]:
        return [name for name in FAMILIES if name in (*self.config.families, "presence")]

    @cached_property
    def seconds(self) -> dict[str, float]:
        """How long each family took that was made in this process."""
        return {}

    def features(self, family: str) -> "Features":
        """The features of a family that some label may use.

        Event types are not screened: one that inhibits a rare label hardly depends on it by itself.
        """
        began, config = time.monotonic(), self.config
        found = RowFeatures.of(self.batches, family, self.kinds.size, self.window, config.min_support)
        parts = [self._sensible(family, names) for names in found.names()]
        made = _whole(found, parts) if family == "presence" else self._selected(found, parts)
        self.seconds[family] = time.monotonic() - began
        return made

    def _sensible(self, family: str, names: Ints) -> Ints:
        """The features that say something."""
        return names[is_sensible(family, names, self.kinds)] if self.kinds else names

    def _selected(self, found: RowFeatures, parts: Sequence[Ints]) -> "Features":
        """The features that some label may use; they are looked at part by part."""
        n, config = sum(map(len, parts)), self.config
        made = [_Part.of(found.matrix(names), names, self.by_label, self.split, n, config) for names in parts]
        return _Part.best(made, config.max_features)


def _whole(found: RowFeatures, parts: Sequence[Ints]) -> "Features":
    """All features, each of which every label may use."""
    names = np.concatenate(parts)
    return Features(found.matrix(names), names, None)


@dataclass(frozen=True)
class Features:
    """The features of a family, and which of them each label may use; None: all."""

    matrix: BinaryMatrix
    names: Ints
    selected: list[Ints] | None

    def write(self, folder: Path) -> None:
        """Write the features to a new folder."""
        own = self.selected or []
        with atomic_folder(folder) as target:
            self.matrix.save(target / "matrix")
            np.save(target / "names.npy", self.names)
            if self.selected is not None:
                _write_lists(own, target / "selected")

    @classmethod
    def read(cls, folder: Path, n_labels: int) -> "Features":
        """The features of a folder; their matrix stays on disk until it is used."""
        path = folder / "selected"
        selected = _read_lists(path, n_labels) if path.exists() else None
        matrix = BinaryMatrix.load(folder / "matrix")
        return cls(matrix, np.load(folder / "names.npy", allow_pickle=False), selected)


@dataclass(frozen=True)
class FamilyWork(Work[Screening]):
    """Make the features of the families; one for which there is no time has an empty file."""

    data: str
    """the fingerprint of the data"""
    max_length: int
    config: LinearConfig
    seed: int

    def save(self, state: Screening, folder: Path) -> None:
        share_data(state.data, self.folder.parent)
        state.vocabulary.to_json(folder / "vocabulary.json")

    def open(self, folder: Path) -> Screening:
        data = shared_data(self.data, self.folder.parent)
        vocabulary = Vocabulary.from_json(folder / "vocabulary.json")
        return Screening(data, vocabulary, self.max_length, self.config, self.seed)

    def do(self, state: Screening, unit: int) -> None:
        family = state.families[unit]
        slowest = max(state.seconds.values(), default=0.0)
        if family != "presence" and self.deadline.left < slowest:
            with atomic_file(self.path(unit)) as target:
                target.touch()
            return
        state.features(family).write(self.path(unit))

    def path(self, unit: int) -> Path:
        return self.folder / f"family-{unit:02}"

    def read(self, unit: int, n_labels: int) -> Features | None:
        """The features of a family; None if there was no time for it."""
        path = self.path(unit)
        return Features.read(path, n_labels) if path.is_dir() else None


def screen(screening: Screening, engine: Engine, deadline: Deadline) -> Candidates:
    """All event types, and the features of other families that depend on a label in the fitted sequences.

    A family for which there is no time, judged by the slowest before it, is left out.
    """
    units = range(len(screening.families))
    with engine.workspace("features", plan_of(screening)) as place:
        work = FamilyWork(
            place,
            screening.data.fingerprint,
            screening.max_length,
            screening.config,
            screening.seed,
            ends=moment(deadline),
        )
        with work.held(screening, deadline):
            for _ in engine.run(work, units):
                pass
        n_labels = screening.by_label.shape[1]
        return _joined(screening, [work.read(unit, n_labels) for unit in units])


def write_candidates(candidates: Candidates, folder: Path, with_matrix: bool) -> None:
    """Write candidates to a folder, as columns that are mapped into memory, with or without their matrix."""
    if with_matrix and candidates.X is not None:
        candidates.X.save(folder / "matrix")
    for family, keys in candidates.keys.items():
        np.save(folder / f"keys-{family}.npy", keys)
        if family != "presence":  # of which a label may use all
            own = [columns[family] for columns in candidates.columns]
            _write_lists(own, folder / f"columns-{family}")
    content = {
        "families": list(candidates.keys),
        "size": candidates.size,
        "labels": len(candidates.columns),
        "complete": candidates.is_complete,
    }
    write_document(folder / "candidates.json", *CANDIDATES, content)


def read_candidates(folder: Path) -> Candidates:
    """The candidates of a folder; their matrix, if it was written, stays on disk and is read when used."""
    content = read_document(folder / "candidates.json", *CANDIDATES)
    path = folder / "matrix"
    X = BinaryMatrix.load(path) if path.exists() else None
    keys = {family: _mapped(folder / f"keys-{family}.npy") for family in content["families"]}
    columns: list[dict[str, Ints]] = [{} for _ in range(content["labels"])]
    for family in keys:
        for label, own in enumerate(_columns_of(folder, family, len(keys[family]), len(columns))):
            columns[label][family] = own
    return Candidates(X, keys, content["size"], columns, content["complete"])


def _columns_of(folder: Path, family: str, n_keys: int, n_labels: int) -> list[Ints]:
    if family == "presence":  # the first family
        return [np.arange(n_keys)] * n_labels
    return _read_lists(folder / f"columns-{family}", n_labels)


def _write_lists(lists: Sequence[Ints], folder: Path) -> None:
    """Write lists of numbers to a new folder."""
    folder.mkdir()
    np.save(folder / "numbers.npy", np.concatenate([np.zeros(0, np.int64), *lists]))
    np.save(folder / "ends.npy", np.cumsum([len(one) for one in lists], dtype=np.int64))


def _read_lists(folder: Path, n: int) -> list[Ints]:
    """The n lists of a folder; they stay on disk."""
    ends = np.load(folder / "ends.npy", allow_pickle=False)
    return np.split(_mapped(folder / "numbers.npy"), ends[:-1]) if n else []


def _mapped(path: Path) -> NDArray[Any]:
    """An array that stays on disk; an empty one cannot be mapped."""
    return np.load(path, mmap_mode="r" if path.stat().st_size > HEADER else None, allow_pickle=False)


def plan_of(screening: Screening) -> dict[str, Any]:
    """What features and fits follow from."""
    settings = {name: value for name, value in asdict(screening.config).items() if name != "workers"}
    return {
        **settings,
        "seed": screening.seed,
        "max_length": screening.max_length,
        "data": screening.data.fingerprint,
        "vocabulary": screening.vocabulary.event_names,
    }


def _joined(screening: Screening, made: Sequence[Features | None]) -> Candidates:
    """The features of all families side by side."""
    n_labels = screening.by_label.shape[1]
    parts, keys, start = list[BinaryMatrix](), dict[str, Ints](), 0
    columns: list[dict[str, Ints]] = [{} for _ in range(n_labels)]
    for family, features in zip(screening.families, made, strict=True):
        if features is None:
            continue
        every = start + np.arange(len(features.names))
        for label, of_label in enumerate(columns):
            of_label[family] = every if features.selected is None else start + features.selected[label]
        parts.append(features.matrix)
        keys[family], start = features.names, start + len(features.names)
    is_complete = None not in made
    return Candidates(BinaryMatrix.beside(parts), keys, screening.kinds.size, columns, is_complete)


class _Chunks:
    """All sequences in batches, made anew each time they are asked for."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[Batch]:
        n = len(self._batches.lengths)
        return (self._batches.take(np.arange(at, min(at + CHUNK, n))) for at in range(0, n, CHUNK))


@dataclass(frozen=True)
class _Part:
    """Features among which labels choose: of each label those that it may use, sorted, and their G2."""

    matrix: BinaryMatrix
    names: Ints
    chosen: list[tuple[Ints, Floats]]

    @classmethod
    def of(
        cls,
        matrix: BinaryMatrix,
        names: Ints,
        by_label: sp.csc_array,
        split: Split,
        n_features: int,
        config: LinearConfig,
    ) -> "_Part":
        """The choice from features that depend on a label in the fitted sequences for which it is known.

        They are some of `n_features`.
        """
        chosen = dict[int, tuple[Ints, Floats]]()
        for labels, rows in split.studies:
            own = split.take(rows)
            fitted = np.arange(len(split.held))[rows][~own.held]
            found = _dependent(
                matrix.take(fitted),
                by_label[fitted][:, labels],
                own.groups_of(~own.held),
                config.alpha / max(n_features, 1),
                config.max_features,
            )
            chosen |= zip(labels.tolist(), found, strict=True)
        return cls(matrix, names, [chosen[label] for label in range(by_label.shape[1])]).narrowed()

    def narrowed(self) -> "_Part":
        """The same without features that no label has chosen."""
        used = np.unique(np.concatenate([np.zeros(0, np.int64), *(columns for columns, _ in self.chosen)]))
        chosen = [(np.searchsorted(used, columns), g2) for columns, g2 in self.chosen]
        return _Part(self.matrix.keep(used), self.names[used], chosen)

    @classmethod
    def best(cls, parts: "Sequence[_Part]", most: int) -> Features:
        """The features of all parts, of which each label may use those with the highest G2."""
        starts = offsets_of(np.array([len(part.names) for part in parts]))
        chosen = list[tuple[Ints, Floats]]()
        for own in zip(*(part.chosen for part in parts), strict=True):
            columns = np.concatenate(
                [columns + at for (columns, _), at in zip(own, starts[:-1], strict=True)]
            )
            g2 = np.concatenate([each for _, each in own])
            kept = np.sort(np.argsort(-g2, kind="stable")[:most])
            chosen.append((columns[kept], g2[kept]))
        matrix = BinaryMatrix.beside([part.matrix for part in parts])
        every = cls(matrix, np.concatenate([part.names for part in parts]), chosen).narrowed()
        return Features(every.matrix, every.names, [columns for columns, _ in every.chosen])


def _dependent(
    matrix: BinaryMatrix, by_label: sp.csc_array, groups: Groups, alpha: float, most: int
) -> list[tuple[Ints, Floats]]:
    """For every label the columns that depend on it, sorted, at most so many, and their G2."""
    if matrix.shape[1] == 0:
        return [(np.zeros(0, np.int64), np.zeros(0))] * by_label.shape[1]
    test, by_label = IndependenceTest(matrix, groups=groups), sp.csc_array(by_label)
    by_label.sort_indices()
    rows = np.split(by_label.indices.astype(np.int32), by_label.indptr[1:-1])[: by_label.shape[1]]
    selected = list[tuple[Ints, Floats]]()
    for at in range(0, len(rows), BLOCK_LABELS):
        for tests in test.many([(Target(positives), ()) for positives in rows[at : at + BLOCK_LABELS]]):
            holding = np.flatnonzero(tests.holds(alpha))
            kept = np.sort(holding[np.argsort(-tests.g2[holding], kind="stable")[:most]])
            selected.append((tests.candidates[kept], tests.g2[kept]))
    return selected
