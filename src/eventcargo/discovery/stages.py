"""Stages: a data set goes in, a folder with model, edges, graph, rules, verdicts and report comes out.

Each stage writes its own artefact and is noted as done; a run that was stopped or killed goes on with the
first stage that is not, and stages that can go on from their middle do.
"""

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from eventcargo.baselines import find_boundaries
from eventcargo.discovery.config import TESTING, DiscoverConfig
from eventcargo.discovery.results import RunResults, read_quality, read_results
from eventcargo.discovery.run_folder import (
    FUSED,
    GRAPH,
    RunManifest,
    write_fused,
    write_judged,
    write_verified,
)
from eventcargo.errors import DataError
from eventcargo.events import EventDataset
from eventcargo.fusion import fuse_run
from eventcargo.graphs import LabelGraph
from eventcargo.io import read_graph, write_graph
from eventcargo.knowledge import Knowledge
from eventcargo.models.density import DensityModel
from eventcargo.models.loading import load_model
from eventcargo.models.training.checkpoint import data_fingerprint, model_fingerprint
from eventcargo.models.training.trainer import train
from eventcargo.oneshot.extract import extract
from eventcargo.report import write_report
from eventcargo.rules import find_rules, write_rules
from eventcargo.verdicts import judge
from eventcargo.verify import verify

Result = TypeVar("Result")

OnProgress = Callable[[str, float, str], None]
"""Called with the stage, the share of it that is done, and what to say about it."""

NOTED_EVERY = 10.0
"""Seconds after which the time of a stage under way is written down again."""

TRACES = ("linear.safetensors", "checkpoint.safetensors", "model")
"""What training has left in the folder of a run that it was begun in."""

FREE = ("device", "workers")
"""Settings that change how a result is computed, not the result."""


class Discovery:
    """A run in a folder, stage after stage.

    A `model` that is given is not trained. `tell` hears of progress.
    """

    def __init__(
        self,
        data: EventDataset,
        folder: str | Path,
        config: DiscoverConfig = DiscoverConfig(),  # noqa: B008 (frozen)
        *,
        knowledge: Knowledge | None = None,
        model: DensityModel | None = None,
        resume: bool = False,
        tell: OnProgress | None = None,
    ) -> None:
        if not data.label_names:
            raise DataError("the data have no labels, so there is nothing to find causes of; give labels")
        self.data, self.folder, self.config = data, Path(folder), config
        self._knowledge, self._model, self._tell = knowledge, model, tell or (lambda *_: None)
        self._known = (
            None if knowledge is None else knowledge.resolve(list(data.label_names), list(data.event_names))
        )
        self.record = RunManifest.begin(self.folder, self._settings(), resume)

    def run(self) -> RunResults:
        """Do every stage that is not done yet."""
        model = self._stage("train", self._train) or load_model(self._path("model"), self.config.device)
        self._stage("extract", lambda: self._extract(model))
        self._stage("fuse", self._fuse)
        if self.config.verifies:
            self._stage("verify", lambda: self._verify(model))
        graph = read_graph(self._path(GRAPH))
        self._stage("baseline", self._baseline)
        self._stage("rules", lambda: write_rules(find_rules(self.data, graph), self._path("rules.json")))
        self._stage("judge", lambda: self._judge(graph))
        found = read_results(self.folder, model)
        self._stage("report", lambda: write_report(self._path("report.html"), found.content(self.data)))
        return found

    def _stage(self, name: str, work: Callable[[], Result]) -> Result | None:
        """The result of a stage that is worked for now; None where it was done before."""
        if name in self.record.done:
            return None
        self._name, self._before = name, self.record.seconds.get(name, 0.0)
        self._began = self._noted = time.monotonic()
        self._first: int | None = None
        result = work()
        self.record.finish(name, self._before + time.monotonic() - self._began)
        self._tell(name, 1.0, "done")
        return result

    def _say(self, share: float, words: str, stage: str = "") -> None:
        """Report progress within a stage, and note its time now and then."""
        now = time.monotonic()
        if now - self._noted > NOTED_EVERY:
            self._noted = now
            self.record.note(self._name, self._before + now - self._began)
        self._tell(stage or self._name, share, words)

    def _train(self) -> DensityModel:
        if self._model is not None:
            if not self._path("model").exists():
                self._model.save_pretrained(self._path("model"))  # type: ignore[attr-defined]
            return self._model
        return train(
            self.data,
            self.config.train,
            self.config.transformer,
            run=self.folder,
            resume=any(self._path(name).exists() for name in TRACES),
            progress=lambda now: self._say(now.used, now.words, now.stage),
        )

    def _extract(self, model: DensityModel) -> None:
        extract(
            model,
            self.data,
            self._path("edges"),
            self.config.extract,
            knowledge=self._knowledge,
            resume=True,
            progress=lambda what, done, total: self._say(
                done / total, f"{done:,} of {total:,} sequences{self._rate(done)}", what
            ),
            seconds=max(TESTING * self.config.seconds - self.record.used, 0.0),
        )

    def _rate(self, done: int) -> str:
        """How many a second since this stage was begun, or gone on with."""
        elapsed = time.monotonic() - self._began
        self._first = done if self._first is None else self._first
        return f", {(done - self._first) / elapsed:,.0f}/s" if done > self._first and elapsed > 0 else ""

    def _fuse(self) -> None:
        write_fused(self.folder, fuse_run(self.folder, self.config.fuse, knowledge=self._known))

    def _verify(self, model: DensityModel) -> None:
        fused = read_graph(self._path(FUSED))
        untrusted = getattr(model, "untrusted", ())
        write_verified(self.folder, verify(fused, self.data, knowledge=self._known, untrusted=untrusted))

    def _baseline(self) -> None:
        baseline = find_boundaries(
            self.data,
            "iamb",
            progress=lambda done, total: self._say(done / total, f"{done:,} of {total:,} labels by iamb"),
        )
        write_graph(baseline, self._path("baseline.parquet"))

    def _judge(self, graph: LabelGraph) -> None:
        write_judged(self.folder, graph, judge(self.data, graph, read_quality(self.folder)))

    def _settings(self) -> dict[str, Any]:
        settings = {name: value for name, value in asdict(self.config).items() if name not in FREE}
        given = None if self._model is None else model_fingerprint(self._model)
        known = None if self._knowledge is None else self._knowledge.fingerprint
        return {**settings, "data": data_fingerprint(self.data), "model": given, "knowledge": known}

    def _path(self, name: str) -> Path:
        return self.folder / name
