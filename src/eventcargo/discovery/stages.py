"""Stages: a data set goes in, a folder with model, edges, graph, rules, verdicts and report comes out.

Each stage writes its own artefact and is then marked as done in run.json. A run that was stopped or killed
continues with the first stage that is not done; training and phase 1 continue in their middle.
"""

import logging
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

import eventcargo
import eventcargo.models.huggingface
import eventcargo.models.training
from eventcargo.baselines import find_boundaries
from eventcargo.deadline import Deadline, warn_of_left_out
from eventcargo.discovery.config import DiscoverConfig
from eventcargo.discovery.estimate import estimate
from eventcargo.discovery.results import (
    RunResults,
    load_run_model,
    read_current_rules,
    read_quality,
    read_report_input,
    read_results,
)
from eventcargo.discovery.run_folder import (
    BASELINE,
    EDGES,
    FUSED,
    GRAPH,
    MODEL,
    REPORT,
    RUN,
    RunManifest,
    record_report,
    write_baseline,
    write_fused,
    write_judged,
    write_rules_of_run,
    write_verified,
)
from eventcargo.discovery.schedule import Schedule
from eventcargo.discovery.unfitted import take_boundaries, unfitted_labels
from eventcargo.engines import Engine, EngineConfig, UnitsLeftError, make_engine
from eventcargo.errors import ConfigError, DataError
from eventcargo.events import EventDataset
from eventcargo.fusion.fuse import fuse
from eventcargo.fusion.vote_store import run_votes
from eventcargo.graphs import LabelGraph
from eventcargo.io import read_graph
from eventcargo.knowledge import Knowledge
from eventcargo.locks import FileLock, hold_folder
from eventcargo.logs import timed
from eventcargo.memory import limit_memory
from eventcargo.models.transformer.config import FEW_WEIGHTS
from eventcargo.progress import OnProgress
from eventcargo.report import write_report
from eventcargo.rules import find_rules
from eventcargo.verdicts.judge import judge
from eventcargo.verification.verify import verify

if TYPE_CHECKING:
    from eventcargo.models.density import DensityModel
    from eventcargo.models.huggingface import Backbone

Result = TypeVar("Result")

LOG = logging.getLogger(__name__)

WORK = "work"
"""Folder, in that of a run, with the files of works that are under way."""

NOTED_EVERY = 10.0
"""Seconds between two updates of a running stage's time in run.json."""

TRAINING_FILES = ("linear.safetensors", "focused.safetensors", "checkpoint.safetensors", MODEL)
"""Files that training writes to the folder of a run; if one exists, training has begun."""

FREE = ("device", "workers", "max_memory")
"""Settings that change how the result is computed, but not the result."""


def discover(
    data: EventDataset,
    run: str | Path,
    config: DiscoverConfig = DiscoverConfig(),  # noqa: B008 (frozen)
    *,
    knowledge: Knowledge | None = None,
    model: "DensityModel | None" = None,
    from_: "Backbone | str | Path | None" = None,
    timing: pl.DataFrame | None = None,
    resume: bool = False,
    progress: OnProgress | None = None,
    began: float | None = None,
    engine: EngineConfig | Engine = EngineConfig(),  # noqa: B008 (frozen)
) -> RunResults:
    """Run all stages in the folder `run`: baseline, train, extract, fuse, verify, rules, judge, report.

    A given `model` is used as it is and not trained. With `from_`, a causal language model or its folder,
    that is the model of the next event, and only labels are trained. `timing` is that of a cohort, for
    `judge`. An existing run is continued only with `resume=True` and the same settings and data. The time
    limit counts from `began`, a moment of `time.monotonic()`, by default now. Labels for which a stage
    has no time are named in warnings, the most frequent first. Without time for a model, the boundaries of
    `baseline` are tested on the data; a limit too short even for these is refused. The `engine` says where
    the work is done; a run may resume on another one. It may also be an engine itself, whose files are kept
    in the folder of the run.

    >>> import tempfile
    >>> from eventcargo.simulation import simulate
    >>> data = simulate("chain", sequences=400, labels=2, seed=100).data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = discover(data, f"{folder}/run", DiscoverConfig(preset="fast", steps=2))
    ...     results.graph.labels
    ['L000', 'L001']
    """
    return Discovery(
        data,
        run,
        config,
        knowledge=knowledge,
        model=model,
        from_=from_,
        timing=timing,
        resume=resume,
        progress=progress,
        began=began,
        engine=engine,
    ).run()


class Discovery:
    """A run in a folder, stage after stage; see `discover`. The folder is held until `run` has ended.

    Whoever holds the folder already gives its `lock`, which is released then.
    """

    def __init__(
        self,
        data: EventDataset,
        folder: str | Path,
        config: DiscoverConfig = DiscoverConfig(),  # noqa: B008 (frozen)
        *,
        knowledge: Knowledge | None = None,
        model: "DensityModel | None" = None,
        from_: "Backbone | str | Path | None" = None,
        timing: pl.DataFrame | None = None,
        resume: bool = False,
        progress: OnProgress | None = None,
        began: float | None = None,
        engine: EngineConfig | Engine = EngineConfig(),  # noqa: B008 (frozen)
        lock: FileLock | None = None,
    ) -> None:
        began = time.monotonic() if began is None else began
        if not data.label_names:
            raise DataError("the data have no labels, so there is no cause to find; read them with labels")
        self.data, self.folder, self.config, self._timing = data, Path(folder), config, timing
        self._knowledge, self._model, self._progress = knowledge, model, progress or (lambda *_: None)
        if model is not None and from_ is not None:
            raise ConfigError("model= is not trained, from_= is for training; give one of them")
        if isinstance(from_, str | Path):
            from_ = eventcargo.models.huggingface.read_backbone(from_, data.event_names)
        self._backbone = from_
        self._known = (
            None if knowledge is None else knowledge.resolve(list(data.label_names), list(data.event_names))
        )
        n_frozen = None if self._backbone is None else self._backbone.n_weights
        self._most_workers = estimate(data, config, n_frozen).workers_within(config.max_memory)
        if not (self.folder / RUN).exists():
            Schedule(data, config, began).refuse_too_short()
        self._wanted_engine = engine
        self._is_sharded = isinstance(engine, EngineConfig) and bool(engine.shards)
        with ExitStack() as undo:
            held = lock or hold_folder(self.folder, shared=self._is_sharded)
            self._lock = undo.enter_context(held)
            self.manifest = RunManifest.begin(self.folder, self._settings(), resume or self._is_sharded)
            undo.pop_all()  # held until the run ends
        started = began - self.manifest.used  # as if the run had not been interrupted
        self._schedule, self._ends = Schedule(data, config, started), dict[str, Deadline]()

    def run(self) -> RunResults:
        """Run every stage that is not done yet."""
        with self._lock, limit_memory(self.config.max_memory), self._made_engine() as self._engine:
            if self._is_sharded:  # others may have gone on while this one waited
                self.manifest = RunManifest.begin(self.folder, self._settings(), resume=True)
            with self._engine.limited(self.config.max_time):
                results = self._run()
            self._engine.discard()
        return results

    def _made_engine(self) -> Engine:
        if isinstance(self._wanted_engine, EngineConfig):
            return make_engine(self._wanted_engine, self._path(WORK).absolute(), self._n_workers())
        self._wanted_engine.folder = self._path(WORK).absolute()
        return self._wanted_engine

    def _n_workers(self) -> int:
        """Processes of the local engine: as many as wanted and as fit; 0: one per core where that pays."""
        wanted, most = self.config.workers, self._most_workers
        return wanted if not most or (wanted or os.cpu_count() or 1) <= most else most

    def _run(self) -> RunResults:
        with self._schedule.measured(self._engine):
            self._stage("baseline", self._baseline)
        has_model = self._has_model()
        if not has_model and "train" not in self.manifest.cut:
            self.manifest.cut.append("train")
        model = self._fitted_model() if has_model else None
        self._stage("fuse", lambda: self._fuse(model))
        if self.config.verifies:
            with self._schedule.measured(self._engine):
                self._stage("verify", lambda: self._verify(model))
        graph = read_graph(self._path(GRAPH))
        self._stage("rules", lambda: self._rules(graph))
        self._stage("judge", lambda: self._judge(graph))
        self._stage("report", self._report)
        return read_results(self.folder, model)

    def _has_model(self) -> bool:
        """Whether the run has a model, or there is time for one; if not, say so."""
        if self._model is not None or any(self._path(name).exists() for name in TRAINING_FILES):
            return True
        if not self.config.verifies:  # the paper's method is nothing without its models
            self._schedule.refuse_network()
            return True
        if "fuse" in self.manifest.done:
            return False
        if not self._schedule.has_time_for_models:
            if not read_graph(self._path(BASELINE)).labels:
                raise self._schedule.too_short()
            warn_of_left_out(
                "no model was fitted, so that causes by order, count or time are not found,",
                self._most_frequent_first(),
                len(self.data.label_names),
                self._schedule.enough,
            )
            return False
        return True

    def _most_frequent_first(self) -> list[str]:
        support = self.data.label_support
        return sorted(self.data.label_names, key=lambda label: -support[label])

    def _fitted_model(self) -> "DensityModel":
        """The model of the run, after phase 1."""
        model = self._stage("train", self._train) or load_run_model(self.folder, self.config.device)
        assert model is not None
        self._stage("extract", lambda: self._extract(model))
        return model

    def _stage(self, name: str, work: Callable[[], Result]) -> Result | None:
        """Run a stage and return its result; None if it was done before."""
        if name in self.manifest.done:
            LOG.info("%s: was done before", name)
            return None
        self._name, self._before = name, self.manifest.seconds.get(name, 0.0)
        self._began = self._noted = time.monotonic()
        with timed(LOG, name):
            result = work()
        if self._is_sharded and name in RunManifest.read(self.folder).done:
            raise UnitsLeftError(f"another invocation finished {name} and went on")
        self.manifest.finish(name, self._before + time.monotonic() - self._began, self._is_cut(name))
        self._progress(name, 1.0, 1.0, "done")
        return result

    def _is_cut(self, name: str) -> bool:
        """Whether the time limit cut the stage that just ended; the steps of training may fill all of it."""
        if name == "train":
            return self._model is None and eventcargo.models.training.was_cut(self.folder)
        return name in self._ends and self._ends[name].is_over

    def _end_of(self, stage: str) -> Deadline:
        """When a stage has to end."""
        self._ends[stage] = self._schedule.end_of(stage)
        return self._ends[stage]

    def _on_progress(self, stage: str, done: float, total: float, message: str = "", /) -> None:
        """Pass progress on, and record the time of the stage every few seconds."""
        now = time.monotonic()
        if now - self._noted > NOTED_EVERY:
            self._noted = now
            self.manifest.note(self._name, self._before + now - self._began)
        self._progress(stage, done, total, message)

    def _train(self) -> "DensityModel":
        if self._model is not None:
            if not self._path(MODEL).exists():
                self._model.save_pretrained(self._path(MODEL))
            return self._model
        self._note_threads()
        return eventcargo.train(
            self.data,
            self.config.train,
            self.config.transformer,
            run=self.folder,
            resume=any(self._path(name).exists() for name in TRAINING_FILES),
            progress=self._on_progress,
            deadline=self._end_of("train"),
            engine=self._engine,
            from_=self._backbone,
        )

    def _note_threads(self) -> None:
        """Record the threads of training: the sums of a large network are divided among them."""
        import torch  # no earlier: until now the run needed none of it

        is_large = self.config.transformer.weights_of_blocks >= FEW_WEIGHTS
        self.manifest.note_threads(torch.get_num_threads(), is_large)

    def _extract(self, model: "DensityModel") -> None:
        eventcargo.extract(
            model,
            self.data,
            self._path(EDGES),
            self.config.extract,
            knowledge=self._knowledge,
            resume=True,
            progress=self._on_progress,
            deadline=self._end_of("extract"),
            engine=self._engine,
        )

    def _fuse(self, model: "DensityModel | None") -> None:
        graph = LabelGraph.from_boundaries({name: [] for name in self.data.label_names})
        votes = None if model is None else run_votes(self.folder)
        if votes is not None and votes.votes:
            graph = fuse(votes, self.config.fuse, knowledge=self._known)
        if self.config.verifies and (unfitted := self._unfitted(model)):
            baseline = read_graph(self._path(BASELINE))
            graph = take_boundaries(graph, baseline, unfitted, self.data, self._known)
        write_fused(self.folder, graph, self.config.fuse, self._knowledge)

    def _unfitted(self, model: "DensityModel | None") -> list[str]:
        """Labels of which phase 1 says nothing, for lack of time."""
        if model is None or (self._schedule.end_of("extract").is_over and not run_votes(self.folder).votes):
            return list(self.data.label_names)
        quality = read_quality(self.folder)
        return [] if quality is None else list(quality.training.get("not_fitted", ()))

    def _verify(self, model: "DensityModel | None") -> None:
        fused = read_graph(self._path(FUSED))
        untrusted = {*unfitted_labels(fused), *(self.data.label_names if model is None else model.untrusted)}
        end = self._end_of("verify")
        graph = verify(
            fused,
            self.data,
            knowledge=self._known,
            untrusted=untrusted,
            deadline=end,
            engine=self._engine,
        )
        write_verified(self.folder, graph, self.data, knowledge=self._knowledge)

    def _baseline(self) -> None:
        end = self._end_of("baseline")
        graph = find_boundaries(self.data, progress=self._on_progress, deadline=end, engine=self._engine)
        write_baseline(self.folder, graph, self.data)

    def _rules(self, graph: LabelGraph) -> None:
        end = self._end_of("rules")
        quality = read_quality(self.folder)
        rules = find_rules(
            self.data,
            graph,
            quality=quality,
            progress=self._on_progress,
            deadline=end,
            engine=self._engine,
        )
        write_rules_of_run(self.folder, rules, self.data)

    def _judge(self, graph: LabelGraph) -> None:
        quality = read_quality(self.folder)
        end = self._end_of("judge")
        verdicts = judge(
            self.data,
            graph,
            quality,
            rules=read_current_rules(self.folder),
            knowledge=self._known,
            timing=self._timing,
            deadline=end,
        )
        write_judged(self.folder, graph, verdicts, self.data)

    def _report(self) -> None:
        write_report(self._path(REPORT), read_report_input(self.folder, self.data))
        record_report(self.folder, self.data)

    def _settings(self) -> dict[str, Any]:
        settings = {name: value for name, value in asdict(self.config).items() if name not in FREE}
        model = self._backbone if self._model is None else self._model
        given = None if model is None else model.fingerprint
        known = None if self._knowledge is None else self._knowledge.fingerprint
        return {**settings, "data": self.data.fingerprint, "model": given, "knowledge": known}

    def _path(self, name: str) -> Path:
        return self.folder / name
