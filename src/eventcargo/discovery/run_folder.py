"""The folder of a run: its files, what each is made from, their writers, and RunManifest (run.json)."""

import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import eventcargo.rules
from eventcargo import io
from eventcargo.checksums import file_checksum
from eventcargo.cohort.config import COHORT, Cohort, write_cohort
from eventcargo.discovery.artefacts import Artefacts
from eventcargo.durations import has_more_time
from eventcargo.errors import ConfigError, DataError, EventCargoWarning, counted
from eventcargo.files import check_same_settings, read_document, sweep, write_document
from eventcargo.typed import parse_as
from eventcargo.verdicts import Verdict, verdict_notes, write_verdicts

if TYPE_CHECKING:
    import polars as pl

    from eventcargo.config import Settings
    from eventcargo.events import EventDataset
    from eventcargo.graphs import LabelGraph
    from eventcargo.knowledge import Knowledge
    from eventcargo.rules import Rule

FORMAT, FORMAT_VERSION = "eventcargo-run", 3

ANEW = "start the run again in a new folder"

RUN, MODEL, EDGES, BASELINE, REPORT = "run.json", "model", "edges", "baseline.parquet", "report.html"
QUALITY, RULES, VERDICTS, SCORES = "model/quality.json", "rules.json", "verdicts.json", "scores.json"
FUSED, GRAPH, GRAPH_JSON = "fused.parquet", "graph.parquet", "graph.json"
"""FUSED is the graph of phase 2; GRAPH and GRAPH_JSON are the graph so far: fused, then verified."""

TRAINING = ("linear.safetensors", "focused.safetensors", "checkpoint.safetensors")
"""What training writes before the model."""

MODEL_FILES = ("config.json", "vocabulary.json", "model.safetensors")

RESULTS = (*TRAINING, MODEL, EDGES, "votes", BASELINE, FUSED, GRAPH, GRAPH_JSON, RULES, VERDICTS)
"""What stages leave in a folder; none of it is there before run.json."""

INPUTS: Mapping[str, tuple[str, ...]] = {
    FUSED: ("edges/plan.json", "votes/plan.json"),
    GRAPH: (FUSED,),
    BASELINE: (),
    RULES: (GRAPH, QUALITY),
    VERDICTS: (GRAPH, QUALITY, RULES),
    SCORES: (GRAPH,),
    REPORT: (GRAPH, QUALITY, RULES, VERDICTS, BASELINE),
}
"""The files that each file is made from, besides the data; files come after those they are made from."""

STAGES = {
    FUSED: "fuse",
    GRAPH: "verify",
    BASELINE: "baseline",
    RULES: "rules",
    VERDICTS: "judge",
    REPORT: "report",
}
"""The stage of `discover` that writes each file."""

ORDER = ("train", "extract", "fuse", "verify", "rules", "judge", "report")
"""The stages of a run but for `baseline`, each of which needs those before it."""

AFTER: Mapping[str, tuple[str, ...]] = {
    "baseline": ("baseline", *ORDER[2:]),
    **{stage: ORDER[at:] for at, stage in enumerate(ORDER)},
}
"""For each stage those that are done again once there is more time for it."""

REMEDIES = {
    GRAPH: "eventcargo verify {run}",
    BASELINE: "eventcargo baseline iamb EVENTS --out {run}/baseline.parquet",
    RULES: "eventcargo rules {run}",
    VERDICTS: "eventcargo judge {run}",
    SCORES: "eventcargo evaluate {run}/graph.parquet --truth TRUTH --out {run}/scores.json",
    REPORT: "eventcargo report {run}",
}
"""The command that makes a file again."""

PAGES = (REPORT, SCORES)
"""Files that people open and no command reads: they are set aside once they are outdated."""


def artefacts(folder: Path) -> Artefacts:
    """What the files of a run were made from."""
    return Artefacts(folder, INPUTS)


def data_fingerprint(data: "EventDataset") -> str:
    """The fingerprint of data without their value columns, which later commands need not read."""
    if not data.value_names:
        return data.fingerprint
    from eventcargo.events import EventDataset

    return EventDataset(
        sequence_ids=data.sequence_ids,
        events=data.events,
        times=data.times,
        rows=data.rows,
        labels=data.labels,
        label_rows=data.label_rows,
        event_names=data.event_names,
        label_names=data.label_names,
        time_kind=data.time_kind,
        known=data.known,
    ).fingerprint


def write_cohort_of_run(
    folder: Path, cohort: Cohort, summary: Mapping[str, Any], timing: "pl.DataFrame | None"
) -> None:
    """Write how the sequences of a run were cut, and what occurs before and after their outcomes."""
    write_cohort(folder / COHORT, cohort, summary)
    if timing is not None:
        from eventcargo.cohort.timing import write_timing

        write_timing(folder, timing)


def write_fused(
    folder: Path,
    graph: "LabelGraph",
    config: "Settings | None" = None,
    knowledge: "Knowledge | None" = None,
) -> None:
    """Write the graph of phase 2; until it is verified, it is also the graph of the run."""
    io.write_graph(graph, folder / FUSED)
    artefacts(folder).record(FUSED, "fuse", None, _settings(config), _statements(knowledge))
    _write_graph_of_run(folder, graph, "fuse", None, config, knowledge)


def write_verified(
    folder: Path,
    graph: "LabelGraph",
    data: "EventDataset",
    config: "Settings | None" = None,
    knowledge: "Knowledge | None" = None,
) -> None:
    """Write the graph of the run, tested on the data."""
    _write_graph_of_run(folder, graph, "verify", data_fingerprint(data), config, knowledge)


def _write_graph_of_run(
    folder: Path,
    graph: "LabelGraph",
    by: str,
    data: str | None,
    config: "Settings | None",
    knowledge: "Knowledge | None",
) -> None:
    io.write_graph(graph, folder / GRAPH_JSON)
    io.write_graph(graph, folder / GRAPH)
    artefacts(folder).record(GRAPH, by, data, _settings(config), _statements(knowledge))


def write_baseline(folder: Path, graph: "LabelGraph", data: "EventDataset") -> None:
    """Write the boundaries of a classical method."""
    io.write_graph(graph, folder / BASELINE)
    artefacts(folder).record(BASELINE, "baseline", data_fingerprint(data))


def write_rules_of_run(
    folder: Path, rules: "Mapping[str, Rule | None]", data: "EventDataset", config: "Settings | None" = None
) -> None:
    """Write the rules of the run's graph."""
    eventcargo.rules.write_rules(rules, folder / RULES)
    artefacts(folder).record(RULES, "rules", data_fingerprint(data), _settings(config))


def write_judged(
    folder: Path,
    graph: "LabelGraph",
    verdicts: Mapping[str, Verdict],
    data: "EventDataset",
    config: "Settings | None" = None,
) -> None:
    """Write the verdicts, and graph.json again with the verdicts in it."""
    write_verdicts(folder / VERDICTS, verdicts)
    io.write_graph(graph, folder / GRAPH_JSON, {"verdicts": verdict_notes(verdicts)})
    artefacts(folder).record(VERDICTS, "judge", data_fingerprint(data), _settings(config))


def record_report(folder: Path, data: "EventDataset") -> None:
    """Record what the page report.html, just written, was made from."""
    artefacts(folder).record(REPORT, "report", data_fingerprint(data))


def knowledge_of_run(folder: Path) -> "Knowledge | None":
    """The knowledge that the graph of a run was made with; None if there was none."""
    from eventcargo.knowledge import Knowledge

    for name in (GRAPH, FUSED):
        origin = artefacts(folder).origin(name)
        if origin is not None and origin.knowledge is not None:
            return Knowledge(**origin.knowledge)
    return None


def _settings(config: "Settings | None") -> dict[str, Any]:
    return {} if config is None else asdict(config)  # type: ignore[call-overload]


def _statements(knowledge: "Knowledge | None") -> dict[str, Any] | None:
    return None if knowledge is None else asdict(knowledge)


def is_current(
    folder: Path, name: str, data: "EventDataset | None" = None, fate: str = "is left out"
) -> bool:
    """Whether a file of a run may be shown; if it is outdated, a warning says how to make it again."""
    reason = artefacts(folder).outdated(name, None if data is None else data_fingerprint(data))
    if reason is not None:
        _warn(folder, name, f"was made from {reason} and {fate}")
    return reason is None and (folder / name).exists()


def warn_of_outdated(folder: Path) -> None:
    """Warn of the files that the latest command has outdated, and set the pages among them aside."""
    known = artefacts(folder)
    for name in REMEDIES:
        reason = known.outdated(name)
        if reason is None:
            continue
        fate = "is no longer used"
        if name in PAGES:
            path = folder / name
            aside = path.with_suffix(f".outdated{path.suffix}")
            path.replace(aside)
            fate = f"is now {aside.name}"
        _warn(folder, name, f"was made from {reason} and {fate}")


def _warn(folder: Path, name: str, words: str) -> None:
    remedy = REMEDIES[name].format(run=folder)
    warnings.warn(f"{folder / name} {words}; make it again with `{remedy}`", EventCargoWarning, stacklevel=3)


@dataclass
class RunManifest:
    """The settings, finished stages and seconds per stage of a run, running stage included, kept on disk."""

    path: Path
    settings: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    model: dict[str, str] = field(default_factory=dict)
    """checksums of the files of the model that the run trained or was given"""
    threads: int = 0
    """threads on which a network was trained; 0: none so far"""
    cut: list[str] = field(default_factory=list)
    """stages that the time limit cut"""
    updates: list[dict[str, Any]] = field(default_factory=list)
    """what was added to the data later, each with what the run could not do with it"""

    @classmethod
    def begin(cls, folder: Path, settings: Mapping[str, Any], resume: bool) -> "RunManifest":
        """A new manifest, or that of an existing run, which resumes only with the same settings."""
        path = folder / RUN
        if not path.exists():
            _refuse_orphans(folder)
            manifest = cls(path, dict(settings))
            manifest.write()
            return manifest
        if not resume:
            raise ConfigError(f"{folder} holds a run already; resume it, or choose a new folder")
        manifest = cls.read(folder)
        if manifest.updates and settings.get("data") != manifest.settings.get("data"):
            raise ConfigError(
                f"{folder} was updated with {counted(len(manifest.updates), 'new table')} since; an update "
                "that was stopped is completed by running it again; for other data choose a new folder"
            )
        is_longer = has_more_time(manifest.settings, settings)
        more = {"max_time": settings["max_time"]} if is_longer else {}
        check_same_settings(folder, {**manifest.settings, **more}, settings)
        manifest.check_model()
        if is_longer:
            manifest.take_up(dict(settings))
        sweep(folder)
        undone = _undone(folder, manifest.done)
        manifest.done = [stage for stage in manifest.done if stage not in undone]
        return manifest

    @classmethod
    def read(cls, folder: Path) -> "RunManifest":
        """The manifest of a run."""
        path = folder / RUN
        if not path.exists():
            raise DataError(f"{folder} holds no run: it has no run.json; run discover first")
        content = read_document(path, FORMAT, FORMAT_VERSION, ANEW)
        try:
            return cls(
                path,
                parse_as(dict[str, Any], content.get("settings"), "settings"),
                parse_as(dict[str, float], content.get("seconds"), "seconds"),
                parse_as(list[str], content.get("done"), "done"),
                parse_as(dict[str, str], content.get("model"), "model"),
                parse_as(int, content.get("threads", 0), "threads"),
                parse_as(list[str], content.get("cut", []), "cut"),
                parse_as(list[dict[str, Any]], content.get("updates", []), "updates"),
            )
        except DataError as error:
            raise DataError(f"{path} is damaged: {error}; {ANEW}") from None

    @property
    def used(self) -> float:
        """Seconds of all stages so far."""
        return sum(self.seconds.values())

    def take_up(self, settings: dict[str, Any]) -> None:
        """Go on with a longer time limit: stages that the limit cut, and those after them, are not done.

        An extraction that was under way begins anew: some of its shards may be empty because time was up.
        """
        redone = {late for stage in self.cut for late in AFTER[stage]}
        if "extract" in redone or "extract" not in self.done:
            for name in (EDGES, "votes"):
                shutil.rmtree(self.path.parent / name, ignore_errors=True)
        self.settings, self.cut = settings, []
        self.done = [stage for stage in self.done if stage not in redone]
        self.seconds = {stage: taken for stage, taken in self.seconds.items() if stage not in redone}
        self.write()

    def finish(self, stage: str, seconds: float, is_cut: bool = False) -> None:
        """Record that a stage is done, and whether the time limit cut it."""
        self.done.append(stage)
        if is_cut and stage not in self.cut:
            self.cut.append(stage)
        if stage == "train":
            self.model = self._model_checksums()
        self.note(stage, seconds)

    def check_model(self) -> None:
        """Refuse a model that is not the run's: everything after it would be another's."""
        folder = self.path.parent / MODEL
        if "train" in self.done:
            if self._model_checksums() != self.model:
                raise ConfigError(
                    f"{folder} is not the model of this run: its files have changed; put them back, or "
                    "choose a new folder"
                )
        elif folder.exists() and not self._has_begun_training():
            raise ConfigError(
                f"{folder} is not the model of this run, which has not been trained yet; move it away, or "
                "choose a new folder"
            )

    def _has_begun_training(self) -> bool:
        """Whether training left its state, or the model was given and written without any."""
        folder = self.path.parent
        return self.settings.get("model") is not None or any((folder / name).exists() for name in TRAINING)

    def _model_checksums(self) -> dict[str, str]:
        folder = self.path.parent / MODEL
        return {name: file_checksum(folder / name) for name in MODEL_FILES if (folder / name).exists()}

    def note_threads(self, threads: int, matter: bool) -> None:
        """Record the threads of training; warn if they `matter` and are others than before."""
        if matter and self.threads not in (0, threads):
            warnings.warn(
                f"training began on {counted(self.threads, 'thread')} and goes on with {threads:,}: the last "
                "digits of weights depend on that; to repeat a run to the bit, set OMP_NUM_THREADS",
                EventCargoWarning,
                stacklevel=2,
            )
        self.threads = threads
        self.write()

    def note(self, stage: str, seconds: float) -> None:
        """Record the seconds that a stage has taken so far."""
        self.seconds[stage] = seconds
        self.write()

    def write(self) -> None:
        content = {
            "settings": self.settings,
            "seconds": {name: round(value, 1) for name, value in self.seconds.items()},
            "done": self.done,
            "model": self.model,
            "threads": self.threads,
            **({"cut": self.cut} if self.cut else {}),
            **({"updates": self.updates} if self.updates else {}),
        }
        write_document(self.path, FORMAT, FORMAT_VERSION, content)


def _refuse_orphans(folder: Path) -> None:
    """Refuse a folder with results but without the settings that they follow from."""
    orphans = [name for name in RESULTS if (folder / name).exists()]
    if orphans:
        raise ConfigError(
            f"{folder} has no run.json but {', '.join(orphans[:3])}{', ...' if len(orphans) > 3 else ''}: "
            "nothing says which settings these follow from; put run.json back, or choose a new folder"
        )


def _undone(folder: Path, done: Sequence[str]) -> set[str]:
    """The stages among those done whose file is gone or outdated, or depends on such a file."""
    known, redone = artefacts(folder), set[str]()
    for name, stage in STAGES.items():
        origin = known.origin(name)
        is_there = (folder / name).exists() and (origin is None or origin.by == stage)
        is_stale = stage in done and (not is_there or known.outdated(name) is not None)
        if is_stale or redone.intersection(INPUTS[name]):
            redone.add(name)
    return {STAGES[name] for name in redone}
