"""update: a run takes in next week's sequences, with the model it has.

Phase 1 reads the new sequences alone: votes and pooled evidence are sums of whole numbers, and the thresholds
by which sequences were chosen are those of the run. So one extraction of all sequences with the same model
and thresholds gives the same to the byte. What follows (fuse, verify, rules, judge, report) runs on all data.

An update that was stopped or killed is completed by the same update again: new sequences are known by their
fingerprint. In this order, each step whole or not at all: edges in a folder of works, the new sequences in
RUN/added, RUN/edges, RUN/votes, RUN/drift.json, RUN/data.json, RUN/run.json; then the stages of a run.
"""

import shutil
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eventcargo.cohort.timing import write_timing
from eventcargo.discovery.config import DiscoverConfig
from eventcargo.discovery.data_source import (
    ADDED,
    Added,
    DataSource,
    SourceData,
    absolute,
    add_part,
    added,
    has_source,
    join_timing,
    new_source,
    recall,
    vocabulary_of,
    with_added,
)
from eventcargo.discovery.results import RunResults, load_run_model, read_results
from eventcargo.discovery.run_folder import MODEL, RunManifest, knowledge_of_run
from eventcargo.discovery.stages import WORK, Discovery
from eventcargo.drift import Drift, DriftConfig, find_drift, read_drift, write_drift
from eventcargo.engines import EngineConfig, make_engine
from eventcargo.errors import ConfigError, DataError, argument, counted
from eventcargo.events import EventDataset
from eventcargo.io.config import ReadConfig
from eventcargo.io.labels import is_wide
from eventcargo.io.sources import open_sources
from eventcargo.joining import join_data, labelled_as
from eventcargo.locks import FileLock, hold_folder
from eventcargo.progress import OnProgress
from eventcargo.updating.new_edges import NewEdges
from eventcargo.updating.new_sequences import SHOWN, NewSequences

if TYPE_CHECKING:
    from eventcargo.models.density import DensityModel

STAGES = ("baseline", "train", "extract", "fuse", "verify", "rules", "judge", "report")
"""The stages of a run; one that lacks a verify has none by its settings."""

KEPT = ("train", "extract")
"""Stages that an update does not run again."""


@dataclass(frozen=True)
class Updated:
    """What an update did: the results of the run on all data, and whether its model is out of date."""

    results: RunResults
    data: EventDataset
    """all sequences of the run"""
    drift: Drift | None
    added: Mapping[str, Any]
    """what was added, and what the run could not do with it; as in run.json"""
    is_new: bool
    """False if the run had these sequences already and was complete"""


def update(
    run: str | Path,
    events: Any,
    labels: str | Path | Sequence[str | Path] | None = None,
    *,
    data: EventDataset | None = None,
    timing: pl.DataFrame | None = None,
    max_time: str = "",
    drift: DriftConfig = DriftConfig(),  # noqa: B008 (frozen)
    device: str = "cpu",
    workers: int = 0,
    progress: OnProgress | None = None,
    engine: EngineConfig = EngineConfig(),  # noqa: B008 (frozen)
    reading: ReadConfig = ReadConfig(),  # noqa: B008 (frozen)
    **columns: Any,
) -> Updated:
    """Add new sequences to a run and find its causes again on all data, without training.

    `events` is an `EventDataset` with labels, or the path of a table, which is read by the run's own columns
    and cut by its cohort, with its table of `labels`; `columns` are those that have other names. `data` are
    the sequences of the run, by default those it remembers; `timing` is that of the new ones, if a cohort cut
    them. `max_time` limits what follows phase 1, by default to the time limit of the run.

    >>> import tempfile
    >>> from eventcargo import DiscoverConfig, discover
    >>> from eventcargo.simulation import simulate
    >>> data = simulate("chain", sequences=600, labels=2, seed=100).data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = discover(data[:400], f"{folder}/run", DiscoverConfig(preset="fast", steps=2))
    ...     updated = update(f"{folder}/run", data[400:], data=data[:400])
    ...     updated.results.graph.support["L000"] == int(data.support[0])
    True
    """
    folder = Path(run)
    with hold_folder(folder) as lock:
        updating = _Update(folder, lock, max_time, device, workers, progress or (lambda *_: None), engine)
        new = updating.read(events, labels, columns, timing, reading)
        return updating.add(new, data, _origin(events, labels), drift)


def _origin(events: Any, labels: Any) -> tuple[str, tuple[str, ...]]:
    """The tables that new sequences come from, if they are files."""
    if not isinstance(events, str | Path):
        return "", ()
    tables = [labels] if isinstance(labels, str | Path) else list(labels or ())
    return absolute(str(events)), tuple(absolute(str(table)) for table in tables)


def _are_in(data: EventDataset, names: Collection[str]) -> NDArray[np.bool_]:
    """Which sequences have one of some names."""
    wanted = set(names)
    return np.array([name in wanted for name in data.sequence_ids.to_pylist()], bool)


class _Update:
    """An update of a run whose folder is held."""

    def __init__(
        self,
        folder: Path,
        lock: FileLock,
        max_time: str,
        device: str,
        workers: int,
        progress: OnProgress,
        engine: EngineConfig,
    ) -> None:
        self._folder, self._lock, self._progress = folder, lock, progress
        self._device, self._workers, self._engine = device, workers, engine
        self._began = time.monotonic()
        self._manifest = RunManifest.read(folder)
        self._manifest.check_model()
        missing = [stage for stage in KEPT if stage not in self._manifest.done]
        if missing and (folder / MODEL).exists():
            raise ConfigError(f"{folder} is not finished; continue it with discover --resume, then update it")
        model = None if missing else load_run_model(folder, device)
        if model is None:
            raise ConfigError(
                f"{folder} had no time to fit a model, so nothing can be added to its votes; run discover on "
                f"all data, with a longer {argument('max_time')}"
            )
        self._model: DensityModel = model
        config = {name: self._manifest.settings[name] for name in self._saved_names}
        changed = {"max_time": max_time} if max_time else {}
        self._config = DiscoverConfig(**{**config, **changed}, device=device, workers=workers)

    @property
    def _saved_names(self) -> list[str]:
        return [name for name in DiscoverConfig.__dataclass_fields__ if name in self._manifest.settings]

    def read(
        self,
        events: Any,
        labels: Any,
        columns: Mapping[str, Any],
        timing: pl.DataFrame | None,
        reading: ReadConfig,
    ) -> SourceData:
        """The new sequences."""
        if isinstance(events, EventDataset):
            if labels is not None or columns:
                raise ConfigError("an EventDataset already has its labels and columns; give nothing else")
            return SourceData(events, None, timing=timing)
        if not isinstance(events, str | Path):
            raise ConfigError(
                f"{argument('events', type(events).__name__)}: give an EventDataset, the path of a table, or "
                "use Cargo.load(run).update, which takes tables in memory"
            )
        tables = [labels] if isinstance(labels, str | Path) else list(labels or ())
        source = new_source(self._folder, str(events), [str(table) for table in tables], columns, reading)
        if not (source.labels or source.is_saved or source.cohort.outcomes):
            raise ConfigError(
                f"{argument('labels')} is missing: an update counts which new sequences carry a label; "
                "without labels, `predict` and `explain` say what to expect of them"
            )
        loaded = source.build(like=vocabulary_of(self._folder))
        self._check_columns(source, loaded.data)
        return loaded

    def _check_columns(self, source: DataSource, data: EventDataset) -> None:
        """Refuse wide tables without a column for each label: nobody knows who carries those labels."""
        missing = sorted(set(self._model.label_names) - set(data.label_names))
        if not missing or source.is_meds:
            return
        for table in source.labels:
            if is_wide(open_sources(table, "labels", source.reading), source.label):
                some = ", ".join(missing[:SHOWN]) + (", ..." if len(missing) > SHOWN else "")
                raise DataError(
                    f"{table} has no column for {counted(len(missing), 'label')} of the run: {some}; add the "
                    "columns, or give a long table of labels, in which a label that has no row is absent"
                )

    def add(
        self,
        loaded: SourceData,
        data: EventDataset | None,
        origin: tuple[str, tuple[str, ...]],
        drift: DriftConfig,
    ) -> Updated:
        """Add sequences, unless the run has them; then complete what is not done."""
        fingerprint = loaded.data.fingerprint
        before = self._before(data)
        places = [part.data for part in added(self._folder)]
        if fingerprint in places:
            return self._complete(before, self._manifest.updates[places.index(fingerprint)], is_new=False)
        new = NewSequences.of(loaded.data, before.data, self._model)
        joined = join_data([labelled_as(before.data, self._model.label_names), new.data])
        is_new = _are_in(joined, new.data.sequence_ids.to_pylist())
        edges = NewEdges(self._folder, self._folder / WORK, joined.select(is_new), 1 + len(places))
        if not edges.are_in:
            self._extract(edges)
        found = find_drift(
            self._model, self._trained_on(before.data), new.data, drift, progress=self._progress
        )
        part = self._save(new.data, loaded.timing, fingerprint, origin)
        if not edges.are_in:
            edges.add()
        write_drift(self._folder, found)
        note = {**new.to_dict(), "data": fingerprint, "drift": found.sentence}
        self._record(joined, note)
        add_part(self._folder, part)
        edges.discard()
        timing = join_timing(before.timing, loaded.timing)
        return self._complete(SourceData(joined, None, timing=timing), note, is_new=True)

    def _before(self, data: EventDataset | None) -> SourceData:
        """The data that the run has."""
        if data is not None:
            return with_added(self._folder, SourceData(data, None))
        if not has_source(self._folder):
            raise DataError(
                f"{self._folder} does not remember its data, which were given in Python; give them as "
                f"{argument('data')}"
            )
        return recall(self._folder)

    def _trained_on(self, data: EventDataset) -> EventDataset:
        """The sequences that the run began with: those its model was trained on."""
        later = set[str]()
        for part in added(self._folder):
            saved = EventDataset.load(self._folder / ADDED / part.folder)
            later.update(saved.sequence_ids.to_pylist())
        return data.select(~_are_in(data, later))

    def _extract(self, edges: NewEdges) -> None:
        edges.check_model(self._model)
        place = (self._folder / WORK).absolute()
        with make_engine(self._engine, place, self._workers) as engine:
            edges.extract(self._model, self._workers, self._progress, engine)

    def _save(
        self,
        new: EventDataset,
        timing: pl.DataFrame | None,
        fingerprint: str,
        origin: tuple[str, tuple[str, ...]],
    ) -> Added:
        """Keep the new sequences in the folder of the run; an update that was killed may have begun to."""
        name = f"{len(added(self._folder)) + 1:04}"
        folder = self._folder / ADDED / name
        if folder.exists():
            shutil.rmtree(folder)
        new.save(folder)
        if timing is not None:
            write_timing(folder, timing)
        return Added(name, fingerprint, len(new), *origin)

    def _record(self, joined: EventDataset, note: dict[str, Any]) -> None:
        """Write into run.json that the run is about all sequences, and what is to be done for that."""
        known = knowledge_of_run(self._folder)
        manifest = self._manifest
        self._manifest = RunManifest(
            manifest.path,
            {
                **manifest.settings,
                "max_time": self._config.max_time,
                "data": joined.fingerprint,
                "knowledge": None if known is None else known.fingerprint,
            },
            {},
            list(KEPT),
            manifest.model,
            updates=[*(one for one in manifest.updates if one.get("data") != note["data"]), note],
        )
        self._manifest.write()

    def _complete(self, all_data: SourceData, note: Mapping[str, Any], is_new: bool) -> Updated:
        """Run what is not done yet on all data."""
        is_complete = set(self._manifest.done).issuperset(
            stage for stage in STAGES if stage != "verify" or self._config.verifies
        )
        if is_complete and not is_new:
            results = read_results(self._folder, self._model)
        else:
            results = Discovery(
                all_data.data,
                self._folder,
                self._config,
                knowledge=knowledge_of_run(self._folder),
                model=None if self._manifest.settings.get("model") is None else self._model,
                timing=all_data.timing,
                resume=True,
                progress=self._progress,
                began=self._began,
                engine=self._engine,
                lock=self._lock,
            ).run()
        was_done = is_complete and not is_new
        return Updated(results, all_data.data, read_drift(self._folder), dict(note), not was_done)
