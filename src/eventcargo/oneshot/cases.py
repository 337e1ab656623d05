"""Cases: the pairs of a sequence and a label that phase 1 tests.

A label is tested in the sequences that carry it and in some that do not, because an event that prevents the
label shows only there. Most sequences without a label say nothing about it, so the test takes those in which
the label comes closest to being predicted when at most one event type is hidden. Their number is a multiple
of the label's support, which keeps the cost in proportion. A label that costs one forward pass per event type
is tested in at most `max_cases` sequences of either kind: estimating a frequency needs no more.
"""

import warnings
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.deadline import NEVER, Deadline
from eventcargo.edges import POLARITIES
from eventcargo.engines.engine import Engine
from eventcargo.engines.local import engine_or
from eventcargo.engines.work import Work, moment
from eventcargo.errors import EventCargoWarning, counted
from eventcargo.events import EventDataset
from eventcargo.files import atomic_file
from eventcargo.models.density import DensityModel, walk
from eventcargo.models.loading import load_model
from eventcargo.models.threads import one_thread
from eventcargo.oneshot.config import CasesConfig
from eventcargo.oneshot.total import reach
from eventcargo.progress import OnProgress
from eventcargo.shared_data import share_data, shared_data

AT_ONCE = 16_384
"""Sequences that are searched in one unit of work."""

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Cases:
    """Pairs of a sequence and a label to test, split by whether the sequence carries the label."""

    present: sp.csr_array  # (sequences, labels), 1 where tested
    absent: sp.csr_array

    def rows(self, which: Ints) -> "Cases":
        """The cases of the selected sequences."""
        return Cases(self.present[which], self.absent[which])


def write_cases(path: Path, cases: Cases) -> None:
    """Write cases as a table of rows, labels and polarities."""
    pairs = {name: getattr(cases, name).nonzero() for name in POLARITIES}
    table = pl.concat(
        pl.DataFrame({"row": rows.astype(np.int64), "label": labels.astype(np.int64)}).with_columns(
            polarity=pl.lit(name)
        )
        for name, (rows, labels) in pairs.items()
    )
    with atomic_file(path) as target:
        table.write_parquet(target)


def read_cases(path: Path, shape: tuple[int, int]) -> Cases:
    """The cases of a table, for this many sequences and labels."""
    table = pl.read_parquet(path)
    parts = {name: table.filter(polarity=name) for name in POLARITIES}
    return Cases(
        **{
            name: _marked(part["row"].to_numpy(), part["label"].to_numpy(), shape)
            for name, part in parts.items()
        }
    )


def select_cases(
    model: DensityModel,
    data: EventDataset,
    config: CasesConfig,
    seeds: Ints,
    progress: OnProgress | None = None,
    *,
    allowed: Flags | None = None,
    deadline: Deadline = NEVER,
    engine: Engine | None = None,
    most_workers: int = 0,
) -> Cases:
    """The cases to test.

    Of a label with more positives than `max_cases`, those with the smallest `seeds` (one per sequence) are
    tested. `allowed`, (labels, V), marks the event types that may be hidden for each label. Sequences not
    reached before the deadline are no cases without a label; a warning says how many. The `engine` searches
    many sequences at once, by at most `most_workers` processes on a machine.
    """
    costly, carried = costly_labels(model, config), data.label_matrix()
    present = _limited(carried, np.where(costly, config.max_cases, len(data)), seeds)
    search = CaseSearch(model, data, config, allowed)
    if not search.wanted.any():
        return Cases(present, sp.csr_array(present.shape, dtype=np.int8))
    with engine_or(engine, 1) as where:
        return Cases(present, _nearest(search, where, most_workers, progress, deadline))


def _limited(carried: sp.csr_array, max_cases: Ints, seeds: Ints) -> sp.csr_array:
    """At most `max_cases` positives of each label, those with the smallest seeds."""
    rows, labels = carried.nonzero()
    order = np.lexsort((rows, seeds[rows], labels))
    starts = np.searchsorted(labels[order], np.arange(carried.shape[1]))
    rank = np.arange(len(order)) - starts[labels[order]]
    chosen = order[rank < max_cases[labels[order]]]
    return _marked(rows[chosen], labels[chosen], carried.shape)


def _nearest(
    search: "CaseSearch", engine: Engine, most_workers: int, progress: OnProgress | None, deadline: Deadline
) -> sp.csr_array:
    """For each label the `wanted` sequences without it in which it comes closest to being predicted."""
    data, n_units = search.data, -(-len(search.data) // AT_ONCE)
    best, unreached = [_Nearest(int(count)) for count in search.wanted], 0
    settings = {name: getattr(search.config, name) for name in CasesConfig.__dataclass_fields__}
    plan = {**settings, "data": data.fingerprint, "model": search.model.fingerprint}
    if search.allowed is not None:
        plan["allowed"] = zlib.crc32(np.ascontiguousarray(search.allowed).tobytes())
    with engine.workspace("cases", plan) as place:
        is_on_gpu = search.model.device.type == "cuda"
        work = CaseWork(
            place,
            data.fingerprint,
            search.config,
            "cuda" if is_on_gpu else "cpu",
            ends=moment(deadline),
            most_workers=most_workers if search.model.can_be_saved else 1,
            gpus=float(is_on_gpu),
        )
        done = n_units - len(work.missing(range(n_units)))
        with work.held(search, deadline):
            for _ in engine.run(work, range(n_units)):
                done += 1
                if progress is not None:
                    progress("selecting", min(done * AT_ONCE, len(data)), len(data), "sequences")
        for unit in range(n_units):
            unreached += work.read(unit, best)
    if unreached:
        left = f"{unreached:,} of {counted(len(data), 'sequence')}"
        words = f"for lack of time, {left} were not looked at for cases without a label; allow more"
        warnings.warn(words, EventCargoWarning, stacklevel=5)
    by_label = [nearest.rows() for nearest in best]
    labels = np.repeat(np.arange(len(best)), [len(rows) for rows in by_label])
    return _marked(np.concatenate([np.zeros(0, np.int64), *by_label]), labels, (len(data), len(best)))


@dataclass(frozen=True)
class CaseSearch:
    """What the search for cases without a label needs."""

    model: DensityModel
    data: EventDataset
    config: CasesConfig
    allowed: Flags | None

    @cached_property
    def wanted(self) -> Ints:
        """Sequences without it to test, for each label."""
        wanted = np.ceil(self.config.absent * self.data.support)
        wanted = np.maximum(wanted, self.config.min_absent * (self.config.absent > 0)).astype(np.int64)
        costly = costly_labels(self.model, self.config)
        wanted[costly] = np.minimum(wanted[costly], self.config.max_cases)
        return wanted

    def nearest(self, first: int, deadline: Deadline) -> "tuple[list[_Nearest], int]":
        """The best of some sequences for each label, and how many were not reached."""
        best, data = [_Nearest(int(count)) for count in self.wanted], self.data[first : first + AT_ONCE]
        carried, unreached = data.label_matrix(), 0
        for rows, batch in walk(self.model, data):
            if deadline.is_over:
                unreached = len(data) - int(rows[0])
                break
            reached = reach(self.model, batch, self.allowed)
            reached[carried[rows].toarray() > 0] = -np.inf
            if batch.known is not None:
                reached[~batch.known] = -np.inf
            for label, nearest in enumerate(best):
                nearest.add(first + rows, reached[:, label])
        return best, unreached


def costly_labels(model: DensityModel, config: CasesConfig) -> Flags:
    """Labels that cost a forward pass per event type, if the number of their cases is limited."""
    return np.asarray(~model.linear_labels & (config.max_cases > 0))


@dataclass(frozen=True)
class CaseWork(Work[CaseSearch]):
    """Find the best cases without a label among some sequences."""

    data: str
    """the fingerprint of the data"""
    config: CasesConfig
    device: str

    def save(self, state: CaseSearch, folder: Path) -> None:
        state.model.save_pretrained(folder / "model")
        share_data(state.data, self.folder.parent)
        if state.allowed is not None:
            np.save(folder / "allowed.npy", state.allowed)

    def open(self, folder: Path) -> CaseSearch:
        path = folder / "allowed.npy"
        allowed = np.load(path, allow_pickle=False) if path.exists() else None
        data, model = shared_data(self.data, self.folder.parent), load_model(folder / "model", self.device)
        return CaseSearch(model, data, self.config, allowed)

    def do(self, state: CaseSearch, unit: int) -> None:
        with one_thread():
            best, unreached = state.nearest(unit * AT_ONCE, self.deadline)
        found = [nearest.best() for nearest in best]
        with atomic_file(self.path(unit)) as target, target.open("wb") as sink:
            np.savez(
                sink,
                rows=np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in found)]),
                values=np.concatenate([np.zeros(0), *(values for _, values in found)]),
                ends=np.cumsum([len(rows) for rows, _ in found], dtype=np.int64),
                unreached=np.array(unreached),
            )

    def path(self, unit: int) -> Path:
        return self.folder / f"cases-{unit:05}.npz"

    def read(self, unit: int, best: "list[_Nearest]") -> int:
        """Add what a unit found to the best so far; how many of its sequences were not reached."""
        with np.load(self.path(unit), allow_pickle=False) as file:
            ends = file["ends"][:-1]
            parts = zip(np.split(file["rows"], ends), np.split(file["values"], ends), strict=True)
            for nearest, (rows, values) in zip(best, parts, strict=True):
                nearest.add(rows, values)
            return int(file["unreached"])


def _marked(rows: Ints, labels: Ints, shape: tuple[int, int]) -> sp.csr_array:
    return sp.csr_array((np.ones(len(rows), np.int8), (rows, labels)), shape=shape)


class _Nearest:
    """The sequences with the highest values so far; ties go to the first ones."""

    def __init__(self, max_cases: int) -> None:
        self._most, self._least = max_cases, -np.inf if max_cases else np.inf
        self._rows, self._values = np.zeros(0, np.int64), np.zeros(0)

    def add(self, rows: Ints, values: NDArray[np.float64]) -> None:
        higher = values > self._least
        self._rows = np.concatenate([self._rows, rows[higher]])
        self._values = np.concatenate([self._values, values[higher]])
        if len(self._rows) > 2 * self._most + 1000:
            self._shorten()

    def _shorten(self) -> None:
        order = np.lexsort((self._rows, -self._values))[: self._most]
        self._rows, self._values = self._rows[order], self._values[order]
        if len(order) == self._most and self._most:
            self._least = self._values[-1]

    def best(self) -> tuple[Ints, NDArray[np.float64]]:
        """The sequences, in order, and their values."""
        self._shorten()
        order = np.argsort(self._rows)
        return self._rows[order], self._values[order]

    def rows(self) -> Ints:
        return self.best()[0]
