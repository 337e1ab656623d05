"""Surfaces of a run that goes on: its thresholds and records, finished units of work, updates and resumes."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import polars as pl

import eventcargo
from eventcargo import EdgeTable, EventDataset, LabelGraph, Vocabulary
from eventcargo.baselines import find_boundaries
from eventcargo.discovery import DiscoverConfig
from eventcargo.discovery.artefacts import ARTEFACTS
from eventcargo.discovery.compare_runs import compare
from eventcargo.discovery.data_source import recall
from eventcargo.discovery.run_folder import INPUTS, artefacts
from eventcargo.drift import read_drift
from eventcargo.engines import Local
from eventcargo.engines.work import Work
from eventcargo.files import write_document
from eventcargo.locks import IN_USE, hold_folder
from eventcargo.models import Counts
from eventcargo.models.focused.fit import FocusedConfig, fit_focused
from eventcargo.models.linear.fit import fit_linear
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.extract import extract
from eventcargo.rules.find import find_rules
from eventcargo.simulation import simulate
from eventcargo.updating import update
from eventcargo.verification.verify import verify

from tests.reliability.damage import BYTES, Rng
from tests.reliability.surface import FORGED, JSON, Reading, Surface, in_files

QUICK = DiscoverConfig(preset="fast", steps=2, workers=1)
FIRST = 220
"""Sequences that a run begins with; the others are added."""

TIMED = pl.DataFrame({"label": ["L000"], "event": ["E00000"], "before": [3], "same": [0], "after": [1]})


class Keeping(Local):
    """A local engine that keeps inputs and finished units; `stop_at` a stage, it ends as if interrupted."""

    def __init__(self, folder: Path, stop_at: str = "") -> None:
        super().__init__(1, folder)
        self._stop_at = stop_at

    @contextmanager
    def workspace(self, stage: str, plan: Mapping[str, Any]) -> Iterator[Path]:
        with super().workspace(stage, plan) as place:
            yield place
            if stage == self._stop_at:
                raise KeyboardInterrupt
            kept = place.with_name(f"{stage}.kept")
            shutil.copytree(place, kept)
        if not self._stop_at:
            kept.rename(place)

    def run(self, work: Work[Any], units: Any) -> Iterator[int]:
        work.share()
        yield from super().run(work, units)


def prepare_runs(home: Path) -> None:
    """Write works with all of their units, an extraction that was begun, and runs to go on with."""
    data = simulate("mixed", sequences=400, labels=3, event_types=40, seed=103).data
    for name, work in WORKS.items():
        folder = home / "works" / name
        data.save(folder / "data")
        work(folder, Keeping(folder / "work"))
    _write_begun(home / "begun")
    _write_runs(home)


def _write_begun(folder: Path) -> None:
    """An extraction whose thresholds and cases are there, and no shard."""
    data = simulate("chain", sequences=120, labels=2, seed=3).data
    data.save(folder / "data")
    Counts.fit(data).save_pretrained(folder / "model")
    _extracted(folder)
    shutil.rmtree(folder / "edges" / "shard-00000")


def _write_runs(home: Path) -> None:
    """A run that stopped in phase 1, one that was updated, and one that stopped within an update."""
    data = simulate("chain", sequences=300, labels=2, seed=3).data
    for name in ("stopped", "updating", "updated"):
        data[:FIRST].save(home / name / "first")
        data[FIRST:].save(home / name / "second")
    with suppress(KeyboardInterrupt):
        run = home / "stopped" / "run"
        eventcargo.discover(data[:FIRST], run, QUICK, engine=Keeping(run / "work", "extract"))
    run = home / "updating" / "run"
    eventcargo.discover(data[:FIRST], run, QUICK)
    source = {"events": str(home / "updated" / "first")}
    write_document(run / "data.json", "eventcargo-data", 1, source)
    shutil.copytree(run, home / "updated" / "run")
    with suppress(KeyboardInterrupt):
        update(run, data[FIRST:], data=data[:FIRST], progress=_stop_before_adding)
    update(home / "updated" / "run", data[FIRST:], timing=TIMED)


def _stop_before_adding(stage: str, done: float, total: float, message: str = "", /) -> None:
    if stage == "predicting":
        raise KeyboardInterrupt


def _boundaries(graph: LabelGraph) -> Any:
    return graph.edges.drop_nulls("event").select("label", "event", "strength").rows()


Run = Callable[[Path, Local], Any]


def _data(folder: Path) -> EventDataset:
    return EventDataset.load(folder / "data")


def _baseline(folder: Path, engine: Local) -> Any:
    return _boundaries(find_boundaries(_data(folder), engine=engine))


def _fits(folder: Path, engine: Local) -> Any:
    data = _data(folder)
    term = fit_linear(data, Vocabulary.from_dataset(data), 64, engine=engine)
    return {name: value.tolist() for name, value in term.to_tensors().items()}


def _networks(folder: Path, engine: Local) -> Any:
    data = _data(folder)
    vocabulary = Vocabulary.from_dataset(data)
    config = FocusedConfig(epochs=1, width=4)
    term = fit_focused(data, vocabulary, 64, fit_linear(data, vocabulary, 64), config, engine=engine)
    return None if term is None else {name: one.tolist() for name, one in term.to_tensors().items()}


def _cases(folder: Path, engine: Local) -> Any:
    data = _data(folder)
    edges = folder / "edges"
    shutil.rmtree(edges, ignore_errors=True)
    extract(Counts.fit(data), data, edges, engine=engine)
    return EdgeTable.read(edges).edges.rows()


def _guessed(data: EventDataset) -> LabelGraph:
    some = list(data.event_names[:4])
    return LabelGraph.from_boundaries(dict.fromkeys(data.label_names, some), data.label_support)


def _verified(folder: Path, engine: Local) -> Any:
    data = _data(folder)
    return _boundaries(verify(_guessed(data), data, engine=engine))


def _ruled(folder: Path, engine: Local) -> Any:
    data = _data(folder)
    rules = find_rules(data, _guessed(data), engine=engine)
    return {label: None if rule is None else rule.text for label, rule in rules.items()}


WORKS: dict[str, Run] = {
    "baseline": _baseline,
    "linear term": _fits,
    "focused networks": _networks,
    "phase 1": _cases,
    "verify": _verified,
    "rules": _ruled,
}
"""What is done in units, and how it is taken up again."""


def _extracted(folder: Path) -> Any:
    """An extraction taken up again."""
    model, data = Counts.from_pretrained(folder / "model"), _data(folder)
    config = ExtractConfig(test="both", threshold_kind="pooled")
    extract(model, data, folder / "edges", config, resume=True)
    return EdgeTable.read(folder / "edges").edges.rows()


def _resumed(folder: Path) -> Any:
    results = eventcargo.discover(EventDataset.load(folder / "first"), folder / "run", QUICK, resume=True)
    return _boundaries(results.graph)


def _updated(folder: Path) -> Any:
    """A run after an update that is taken up again."""
    first, second = (EventDataset.load(folder / name) for name in ("first", "second"))
    done = update(folder / "run", second, data=first)
    return _boundaries(done.results.graph), done.data.fingerprint, done.drift, done.added


def _recalled(folder: Path) -> Any:
    """What a run that was updated tells of its data."""
    source = recall(folder / "run")
    rows = None if source.timing is None else source.timing.rows()
    return source.data.fingerprint, rows, read_drift(folder / "run")


def _outdated(folder: Path) -> Any:
    known = artefacts(folder)
    return [(known.outdated(name), known.origin(name)) for name in INPUTS]


def _compared(folder: Path) -> Any:
    return compare(folder / "run", folder / "run").counts


def _lock(home: Path, scratch: Path, rng: Rng) -> Reading:
    """A folder in use whose lock says something odd of its holder."""
    scratch.mkdir()
    way = BYTES[int(rng.integers(len(BYTES)))]

    def read() -> Any:
        with hold_folder(scratch):
            path = scratch / IN_USE
            path.write_bytes(way(path.read_bytes(), rng))
            hold_folder(scratch).release()

    return Reading(way.__name__, read)


def _nothing(home: Path) -> None:
    return None


def run_surfaces() -> Iterable[Surface]:
    """All of them."""
    for name, work in WORKS.items():

        def read(folder: Path, work: Run = work) -> Any:
            return work(folder, Local(1, folder / "work"))

        yield in_files(f"units of {name}", f"works/{name}", "work/**/*", BYTES, read, sealed=True)
    for pattern, ways in (("edges/*.json", JSON), ("edges/*.parquet", BYTES)):
        name = f"extraction begun, {pattern}"
        yield in_files(name, "begun", pattern, ways, _extracted, sealed=True, optional=True)
    yield in_files("thresholds forged", "begun", "edges/[lt]*.json", FORGED, _extracted)
    yield in_files("run stopped", "stopped", "run/**/*", BYTES, _resumed, sealed=True, optional=True)
    yield in_files("run stopped, forged", "stopped", "run/**/*.json", FORGED, _resumed)
    yield in_files("update begun", "updating", "run/**/*", BYTES, _updated, sealed=True, optional=True)
    yield in_files("update begun, forged", "updating", "run/**/*.json", FORGED, _updated)
    yield in_files("data of a run", "updated", "run/added/*/*", BYTES, _recalled, sealed=True, optional=True)
    for name in ("data.json", "drift.json"):
        yield in_files(
            f"updated {name}", "updated", f"run/{name}", JSON, _recalled, sealed=True, optional=True
        )
        yield in_files(f"updated {name} forged", "updated", f"run/{name}", FORGED, _recalled)
    yield in_files("comparison", "updated", "run/*.[jp]*", BYTES, _compared, sealed=True, optional=True)
    yield in_files(ARTEFACTS, "run", ARTEFACTS, JSON, _outdated, sealed=True, optional=True)
    yield in_files(f"{ARTEFACTS} forged", "run", ARTEFACTS, FORGED, _outdated)
    yield Surface("lock", _lock, _nothing)
