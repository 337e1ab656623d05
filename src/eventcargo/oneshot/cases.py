"""Cases: the pairs of a sequence and a label that phase 1 tests.

A label is tested in the sequences that carry it and in some that do not, because an event that prevents the
label shows only there. Most sequences without a label say nothing about it, so the test takes those in which
the label comes closest to being predicted when at most one event type is hidden. Their number is a multiple
of the label's support, which keeps the cost in proportion. A label that costs one forward pass per event type
is tested in at most `max_cases` sequences of either kind: estimating a frequency needs no more.

Of sequences in which a label comes equally close, those with the smallest seeds are taken. So each choice
comes to thresholds (`CaseLimits`) that a sequence meets or not, whatever other sequences there are: data that
are added later are chosen by the same thresholds, and the choice in one part says nothing about another.
"""

import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.deadline import NEVER, Deadline
from eventcargo.edges import POLARITIES
from eventcargo.engines.engine import Engine
from eventcargo.engines.local import engine_or
from eventcargo.engines.work import Work, moment, read_arrays, write_arrays
from eventcargo.errors import DataError, EventCargoWarning, counted
from eventcargo.events import EventDataset
from eventcargo.files import read_document, write_document
from eventcargo.models.density import DensityModel, walk
from eventcargo.models.loading import load_model
from eventcargo.models.threads import one_thread
from eventcargo.oneshot.config import CasesConfig
from eventcargo.oneshot.total import reach
from eventcargo.progress import OnProgress
from eventcargo.sealed_tables import read_table, write_table
from eventcargo.shared_data import share_data, shared_data
from eventcargo.typed import parse_as, show

AT_ONCE = 16_384
"""Sequences that are searched in one unit of work."""

LIMITS, LIMITS_FORMAT = "limits.json", ("eventcargo-case-limits", 1)
"""File of a folder of edges with the thresholds of its cases, its format and version."""

CASE_COLUMNS = {"row": pl.Int64(), "label": pl.Int64(), "polarity": pl.String()}
"""Columns of the table of cases."""

AGAIN = "extract the edges again, or run discover in a new folder"

ALL, NONE = 2**32 - 1, -1
"""Seeds that all sequences, and that none are below: seeds are checksums of 32 bits."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class CaseLimits:
    """Which sequences are cases of each label, as thresholds that need no other sequence: (labels,) each.

    A sequence with the label is one if its seed is at most `positives`. One without it is, if the highest
    logit that the label reaches there is above `least`, or is `least` and its seed is at most `ties`.

    >>> limits = CaseLimits(np.array([ALL]), np.array([-np.inf]), np.array([NONE]))
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     limits.write(Path(folder), ["brake"])
    ...     CaseLimits.read(Path(folder), ["brake"]).least.tolist()
    [-inf]
    """

    positives: Ints
    least: Floats
    ties: Ints

    def write(self, folder: Path, labels: Sequence[str]) -> None:
        """Write the thresholds to a folder of edges."""
        numbers = {"positives": self.positives.tolist(), "ties": self.ties.tolist()}
        least = [str(value) for value in self.least.tolist()]  # JSON has no infinity
        write_document(folder / LIMITS, *LIMITS_FORMAT, {"labels": list(labels), "least": least, **numbers})

    @classmethod
    def read(cls, folder: Path, labels: Sequence[str]) -> "CaseLimits":
        """The thresholds of a folder of edges, for the labels of a model."""
        path, again = folder / LIMITS, AGAIN
        if not path.exists():
            raise DataError(
                f"{folder} does not say how its sequences were chosen: it has no {LIMITS}, so it was written "
                f"by an earlier release; {again}"
            )
        content = read_document(path, *LIMITS_FORMAT, again)
        positives, ties = (
            parse_as(list[int], content.get(name), f"{path}: {name}") for name in ("positives", "ties")
        )
        least = _numbers(content.get("least"), f"{path}: least")
        if content.get("labels") != list(labels) or {len(positives), len(least), len(ties)} != {len(labels)}:
            raise DataError(f"{path} is of other labels than the model; {again}")
        return cls(np.array(positives, np.int64), np.array(least, np.float64), np.array(ties, np.int64))


def _numbers(texts: Any, where: str) -> list[float]:
    """Numbers that JSON holds as text, because some are infinite."""
    try:
        return [float(text) for text in parse_as(list[str], texts, where)]
    except ValueError:
        raise DataError(f"{where} is {show(texts)}, not a list of numbers as text; {AGAIN}") from None


@dataclass(frozen=True)
class Cases:
    """Pairs of a sequence and a label to test, split by whether the sequence carries the label."""

    present: sp.csr_array  # (sequences, labels), 1 where tested
    absent: sp.csr_array
    limits: CaseLimits | None = None  # the thresholds that they follow from, as `select_cases` gives them

    def rows(self, which: Ints) -> "Cases":
        """The cases of the selected sequences."""
        return Cases(self.present[which], self.absent[which])


def write_cases(path: Path, cases: Cases) -> None:
    """Write cases as a table of rows, labels and polarities."""
    pairs = {name: getattr(cases, name).nonzero() for name in POLARITIES}
    write_table(
        path,
        pl.concat(
            pl.DataFrame({"row": rows.astype(np.int64), "label": labels.astype(np.int64)}).with_columns(
                polarity=pl.lit(name)
            )
            for name, (rows, labels) in pairs.items()
        ),
    )


def read_cases(path: Path, shape: tuple[int, int]) -> Cases:
    """The cases of a table, for this many sequences and labels."""
    table = read_table(path, CASE_COLUMNS, AGAIN)
    if not (_are_below(table["row"], shape[0]) and _are_below(table["label"], shape[1])):
        raise DataError(f"{path} has cases of other sequences or labels than those of the data; {AGAIN}")
    parts = {name: table.filter(polarity=name) for name in POLARITIES}
    return Cases(
        **{
            name: _marked(part["row"].to_numpy(), part["label"].to_numpy(), shape)
            for name, part in parts.items()
        }
    )


def _are_below(numbers: pl.Series, n: int) -> bool:
    return bool(((numbers >= 0) & (numbers < n)).all())


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
    limits: CaseLimits | None = None,
) -> Cases:
    """The cases to test, by the thresholds of the given `limits`; without, by those that the data set.

    Of a label with more positives than `max_cases`, those with the smallest `seeds` (one per sequence) are
    tested. `allowed`, (labels, V), marks the event types that may be hidden for each label. Sequences not
    reached before the deadline are no cases without a label; a warning says how many. The `engine` searches
    many sequences at once, by at most `most_workers` processes on a machine.
    """
    costly, carried = costly_labels(model, config), data.label_matrix()
    if limits is None:
        positives = _seeds_within(carried, np.where(costly, config.max_cases, len(data)), seeds)
    else:
        positives = limits.positives
    rows, labels = carried.nonzero()
    chosen = seeds[rows] <= positives[labels]
    present = _marked(rows[chosen], labels[chosen], carried.shape)
    search = CaseSearch(model, data, config, allowed, seeds, limits)
    with engine_or(engine, 1) as where:
        best = _nearest(search, where, most_workers, progress, deadline)
    by_label = [nearest.rows() for nearest in best]
    labels = np.repeat(np.arange(len(best)), [len(rows) for rows in by_label])
    absent = _marked(np.concatenate([np.zeros(0, np.int64), *by_label]), labels, carried.shape)
    if limits is None:
        least, ties = (np.array([nearest.end[at] for nearest in best]) for at in range(2))
        limits = CaseLimits(positives, least, ties)
    return Cases(present, absent, limits)


def _seeds_within(carried: sp.csr_array, max_cases: Ints, seeds: Ints) -> Ints:
    """The largest seed of the `max_cases` positives of each label that have the smallest ones."""
    by_label, limits = carried.tocsc(), np.full(carried.shape[1], ALL)
    for label in np.flatnonzero(np.diff(by_label.indptr) > max_cases).tolist():
        own = seeds[by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]]
        limits[label] = np.sort(own)[max_cases[label] - 1]
    return limits


def _nearest(
    search: "CaseSearch", engine: Engine, most_workers: int, progress: OnProgress | None, deadline: Deadline
) -> "list[_Nearest]":
    """For each label the `wanted` sequences without it in which it comes closest to being predicted."""
    data, n_units = search.data, -(-len(search.data) // AT_ONCE) if search.is_needed else 0
    best, unreached = search.none(), 0
    settings = {name: getattr(search.config, name) for name in CasesConfig.__dataclass_fields__}
    plan = {**settings, "data": data.fingerprint, "model": search.model.fingerprint}
    plan["seeds"] = zlib.crc32(np.ascontiguousarray(search.seeds).tobytes())
    if search.allowed is not None:
        plan["allowed"] = zlib.crc32(np.ascontiguousarray(search.allowed).tobytes())
    if search.limits is not None:
        plan["limits"] = zlib.crc32(search.limits.least.tobytes(), zlib.crc32(search.limits.ties.tobytes()))
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
            unreached += work.read(unit, best, search.seeds)
    if unreached:
        left = f"{unreached:,} of {counted(len(data), 'sequence')}"
        words = f"for lack of time, {left} were not looked at for cases without a label; allow more"
        warnings.warn(words, EventCargoWarning, stacklevel=5)
    return best


@dataclass(frozen=True)
class CaseSearch:
    """What the search for cases without a label needs."""

    model: DensityModel
    data: EventDataset
    config: CasesConfig
    allowed: Flags | None
    seeds: Ints
    limits: CaseLimits | None = None

    @property
    def is_needed(self) -> bool:
        """Whether a sequence without a label can be a case."""
        return bool(self.wanted.any() if self.limits is None else (self.limits.least < np.inf).any())

    def none(self) -> "list[_Nearest]":
        """For each label, no sequences yet."""
        if self.limits is None:
            return [_Nearest(int(count)) for count in self.wanted]
        ends = zip(self.limits.least.tolist(), self.limits.ties.tolist(), strict=True)
        return [_Nearest(len(self.data), *end) for end in ends]

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
        best, data = self.none(), self.data[first : first + AT_ONCE]
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
                nearest.add(first + rows, reached[:, label], self.seeds[first + rows])
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
        np.save(folder / "seeds.npy", state.seeds)
        if state.allowed is not None:
            np.save(folder / "allowed.npy", state.allowed)
        if state.limits is not None:
            state.limits.write(folder, state.model.label_names)

    def open(self, folder: Path) -> CaseSearch:
        path = folder / "allowed.npy"
        allowed = np.load(path, allow_pickle=False) if path.exists() else None
        data, model = shared_data(self.data, self.folder.parent), load_model(folder / "model", self.device)
        is_limited = (folder / LIMITS).exists()
        limits = CaseLimits.read(folder, model.label_names) if is_limited else None
        seeds = np.load(folder / "seeds.npy", allow_pickle=False)
        return CaseSearch(model, data, self.config, allowed, seeds, limits)

    def do(self, state: CaseSearch, unit: int) -> None:
        with one_thread():
            best, unreached = state.nearest(unit * AT_ONCE, self.deadline)
        found = [nearest.best() for nearest in best]
        write_arrays(
            self.path(unit),
            rows=np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in found)]),
            values=np.concatenate([np.zeros(0), *(values for _, values in found)]),
            ends=np.cumsum([len(rows) for rows, _ in found], dtype=np.int64),
            unreached=np.array(unreached),
        )

    def path(self, unit: int) -> Path:
        return self.folder / f"cases-{unit:05}.npz"

    def read(self, unit: int, best: "list[_Nearest]", seeds: Ints) -> int:
        """Add what a unit found to the best so far; how many of its sequences were not reached."""
        names = ("rows", "values", "ends", "unreached")
        all_rows, all_values, ends, unreached = read_arrays(self.path(unit), *names)
        parts = zip(np.split(all_rows, ends[:-1]), np.split(all_values, ends[:-1]), strict=True)
        for nearest, (rows, values) in zip(best, parts, strict=True):
            nearest.add(rows, values, seeds[rows])
        return int(unreached)


def _marked(rows: Ints, labels: Ints, shape: tuple[int, int]) -> sp.csr_array:
    return sp.csr_array((np.ones(len(rows), np.int8), (rows, labels)), shape=shape)


class _Nearest:
    """The sequences with the highest values so far; ties go to the smallest seeds.

    Sequences below `least`, or that reach just this with a seed above `ties`, are left out from the start.
    """

    def __init__(self, max_cases: int, least: float = -np.inf, ties: int = NONE) -> None:
        self._most = max_cases
        self.end = (least, ties) if max_cases else (np.inf, NONE)
        self._rows, self._seeds = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._values = np.zeros(0)

    def add(self, rows: Ints, values: Floats, seeds: Ints) -> None:
        least, ties = self.end
        higher = (values > least) | ((values == least) & (seeds <= ties))
        self._rows = np.concatenate([self._rows, rows[higher]])
        self._values = np.concatenate([self._values, values[higher]])
        self._seeds = np.concatenate([self._seeds, seeds[higher]])
        if len(self._rows) > 2 * self._most + 1000:
            self._shorten()

    def _shorten(self) -> None:
        """Keep as many as wanted, and whatever equals the last of them in value and seed."""
        if len(self._rows) < self._most or not self._most:
            return
        order = np.lexsort((self._seeds, -self._values))
        last = order[self._most - 1]
        self.end = float(self._values[last]), int(self._seeds[last])
        above = self._values > self.end[0]
        kept = above | ((self._values == self.end[0]) & (self._seeds <= self.end[1]))
        self._rows, self._values, self._seeds = self._rows[kept], self._values[kept], self._seeds[kept]

    def best(self) -> tuple[Ints, Floats]:
        """The sequences, in order, and their values."""
        self._shorten()
        order = np.argsort(self._rows)
        return self._rows[order], self._values[order]

    def rows(self) -> Ints:
        return self.best()[0]
