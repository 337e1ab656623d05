"""Stages: a data set goes in, a folder with model, edges, graph, rules, verdicts and report comes out.

Each stage writes its own artefact and is then marked as done in run.json. A run that was stopped or killed
continues with the first stage that is not done; training and phase 1 continue in their middle.
"""

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from eventcargo.baselines import find_boundaries
from eventcargo.deadline import Deadline
from eventcargo.discovery.config import ENDS, TRAINING, DiscoverConfig
from eventcargo.discovery.results import RunResults, read_quality, read_report_input, read_results
from eventcargo.discovery.run_folder import (
    EDGES,
    FUSED,
    GRAPH,
    MODEL,
    REPORT,
    RunManifest,
    record_report,
    write_baseline,
    write_fused,
    write_judged,
    write_rules_of_run,
    write_verified,
)
from eventcargo.errors import DataError
from eventcargo.events import EventDataset
from eventcargo.fusion.fuse import fuse
from eventcargo.fusion.vote_store import run_votes
from eventcargo.graphs import LabelGraph
from eventcargo.io import read_graph
from eventcargo.knowledge import Knowledge
from eventcargo.models.density import DensityModel
from eventcargo.models.loading import load_model
from eventcargo.models.training.trainer import train
from eventcargo.oneshot.extract import extract
from eventcargo.progress import OnProgress
from eventcargo.report import write_report
from eventcargo.rules import find_rules
from eventcargo.verdicts.judge import judge
from eventcargo.verification.verify import verify

Result = TypeVar("Result")

NOTED_EVERY = 10.0
"""Seconds between two updates of a running stage's time in run.json."""

TRAINING_FILES = ("linear.safetensors", "checkpoint.safetensors", MODEL)
"""Files that training writes to the folder of a run; if one exists, training has begun."""

FREE = ("device", "workers")
"""Settings that change how the result is computed, but not the result."""


def discover(
    data: EventDataset,
    run: str | Path,
    config: DiscoverConfig = DiscoverConfig(),  # noqa: B008 (frozen)
    *,
    knowledge: Knowledge | None = None,
    model: DensityModel | None = None,
    timing: pl.DataFrame | None = None,
    resume: bool = False,
    progress: OnProgress | None = None,
    began: float | None = None,
) -> RunResults:
    """Run all stages in the folder `run`: train, extract, fuse, verify, baseline, rules, judge, report.

    A given `model` is used as it is and not trained. `timing` is that of a cohort, for `judge`. An existing
    run is continued only with `resume=True` and the same settings and data. The time limit counts from
    `began`, a moment of `time.monotonic()`, by default now. Labels for which a stage has no time are named in
    warnings, the most frequent first.

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
        timing=timing,
        resume=resume,
        progress=progress,
        began=began,
    ).run()


class Discovery:
    """A run in a folder, stage after stage; see `discover`."""

    def __init__(
        self,
        data: EventDataset,
        folder: str | Path,
        config: DiscoverConfig = DiscoverConfig(),  # noqa: B008 (frozen)
        *,
        knowledge: Knowledge | None = None,
        model: DensityModel | None = None,
        timing: pl.DataFrame | None = None,
        resume: bool = False,
        progress: OnProgress | None = None,
        began: float | None = None,
    ) -> None:
        began = time.monotonic() if began is None else began
        if not data.label_names:
            raise DataError("the data have no labels, so there is no cause to find; read them with labels")
        self.data, self.folder, self.config, self._timing = data, Path(folder), config, timing
        self._knowledge, self._model, self._progress = knowledge, model, progress or (lambda *_: None)
        self._known = (
            None if knowledge is None else knowledge.resolve(list(data.label_names), list(data.event_names))
        )
        self.manifest = RunManifest.begin(self.folder, self._settings(), resume)
        self._started = began - self.manifest.used  # as if the run had not been interrupted

    def run(self) -> RunResults:
        """Run every stage that is not done yet."""
        model = self._stage("train", self._train) or load_model(self._path(MODEL), self.config.device)
        self._stage("extract", lambda: self._extract(model))
        self._stage("fuse", self._fuse)
        if self.config.verifies:
            self._stage("verify", lambda: self._verify(model))
        graph = read_graph(self._path(GRAPH))
        self._stage("baseline", self._baseline)
        self._stage("rules", lambda: self._rules(graph))
        self._stage("judge", lambda: self._judge(graph))
        self._stage("report", self._report)
        return read_results(self.folder, model)

    def _stage(self, name: str, work: Callable[[], Result]) -> Result | None:
        """Run a stage and return its result; None if it was done before."""
        if name in self.manifest.done:
            return None
        self._name, self._before = name, self.manifest.seconds.get(name, 0.0)
        self._began = self._noted = time.monotonic()
        result = work()
        self.manifest.finish(name, self._before + time.monotonic() - self._began)
        self._progress(name, 1.0, 1.0, "done")
        return result

    def _on_progress(self, stage: str, done: float, total: float, message: str = "", /) -> None:
        """Pass progress on, and record the time of the stage every few seconds."""
        now = time.monotonic()
        if now - self._noted > NOTED_EVERY:
            self._noted = now
            self.manifest.note(self._name, self._before + now - self._began)
        self._progress(stage, done, total, message)

    def _train(self) -> DensityModel:
        if self._model is not None:
            if not self._path(MODEL).exists():
                self._model.save_pretrained(self._path(MODEL))
            return self._model
        return train(
            self.data,
            self.config.train,
            self.config.transformer,
            run=self.folder,
            resume=any(self._path(name).exists() for name in TRAINING_FILES),
            progress=self._on_progress,
            deadline=self._end(TRAINING[self.config.preset]),
        )

    def _end(self, share: float) -> Deadline:
        """The moment at which this share of the time limit is used."""
        return Deadline(self._started + share * self.config.seconds)

    def _extract(self, model: DensityModel) -> None:
        extract(
            model,
            self.data,
            self._path(EDGES),
            self.config.extract,
            knowledge=self._knowledge,
            resume=True,
            progress=self._on_progress,
            deadline=self._end(ENDS["extract"]),
        )

    def _fuse(self) -> None:
        votes = run_votes(self.folder)
        if votes.votes:
            graph = fuse(votes, self.config.fuse, knowledge=self._known)
        else:  # there was no time to test a single sequence
            graph = LabelGraph.from_boundaries({name: [] for name in self.data.label_names})
        write_fused(self.folder, graph, self.config.fuse, self._knowledge)

    def _verify(self, model: DensityModel) -> None:
        fused = read_graph(self._path(FUSED))
        end = self._end(ENDS["verify"])
        graph = verify(fused, self.data, knowledge=self._known, untrusted=model.untrusted, deadline=end)
        write_verified(self.folder, graph, self.data, knowledge=self._knowledge)

    def _baseline(self) -> None:
        end = self._end(ENDS["baseline"])
        graph = find_boundaries(self.data, progress=self._on_progress, deadline=end)
        write_baseline(self.folder, graph, self.data)

    def _rules(self, graph: LabelGraph) -> None:
        end = self._end(ENDS["rules"])
        rules = find_rules(self.data, graph, progress=self._on_progress, deadline=end)
        write_rules_of_run(self.folder, rules, self.data)

    def _judge(self, graph: LabelGraph) -> None:
        quality = read_quality(self.folder)
        end = self._end(ENDS["judge"])
        verdicts = judge(self.data, graph, quality, knowledge=self._known, timing=self._timing, deadline=end)
        write_judged(self.folder, graph, verdicts, self.data)

    def _report(self) -> None:
        write_report(self._path(REPORT), read_report_input(self.folder, self.data))
        record_report(self.folder, self.data)

    def _settings(self) -> dict[str, Any]:
        settings = {name: value for name, value in asdict(self.config).items() if name not in FREE}
        given = None if self._model is None else self._model.fingerprint
        known = None if self._knowledge is None else self._knowledge.fingerprint
        return {**settings, "data": self.data.fingerprint, "model": given, "knowledge": known}

    def _path(self, name: str) -> Path:
        return self.folder / name
