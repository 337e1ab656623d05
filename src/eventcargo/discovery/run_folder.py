"""The folder of a run: names of its files, writers of its graphs and verdicts, and RunManifest (run.json)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eventcargo import io
from eventcargo.errors import ConfigError, DataError
from eventcargo.files import check_same_settings, read_document, write_document
from eventcargo.verdicts import Verdict, verdict_notes, write_verdicts

if TYPE_CHECKING:
    from eventcargo.graphs import LabelGraph

FORMAT, FORMAT_VERSION = "eventcargo-run", 2

RUN, MODEL, EDGES, BASELINE, REPORT = "run.json", "model", "edges", "baseline.parquet", "report.html"
QUALITY, RULES, VERDICTS = "model/quality.json", "rules.json", "verdicts.json"
COHORT = "cohort.json"
FUSED, GRAPH, GRAPH_JSON = "fused.parquet", "graph.parquet", "graph.json"
"""FUSED is the graph of phase 2; GRAPH and GRAPH_JSON are the graph so far: fused, then verified."""


def write_fused(folder: Path, graph: "LabelGraph") -> None:
    """Write the graph of phase 2; until it is verified, it is also the graph of the run."""
    io.write_graph(graph, folder / FUSED)
    write_verified(folder, graph)


def write_verified(folder: Path, graph: "LabelGraph") -> None:
    """Write the graph of the run."""
    io.write_graph(graph, folder / GRAPH_JSON)
    io.write_graph(graph, folder / GRAPH)


def write_judged(folder: Path, graph: "LabelGraph", verdicts: Mapping[str, Verdict]) -> None:
    """Write the verdicts, and graph.json again with the verdicts in it."""
    write_verdicts(folder / VERDICTS, verdicts)
    io.write_graph(graph, folder / GRAPH_JSON, {"verdicts": verdict_notes(verdicts)})


@dataclass
class RunManifest:
    """The settings, finished stages and seconds per stage of a run, running stage included, kept on disk."""

    path: Path
    settings: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    @classmethod
    def begin(cls, folder: Path, settings: Mapping[str, Any], resume: bool) -> "RunManifest":
        """A new manifest, or that of an existing run, which resumes only with the same settings."""
        path = folder / RUN
        if not path.exists():
            manifest = cls(path, dict(settings))
            manifest.write()
            return manifest
        if not resume:
            raise ConfigError(f"{folder} holds a run already; resume it, or choose a new folder")
        manifest = cls.read(folder)
        check_same_settings(folder, manifest.settings, settings)
        return manifest

    @classmethod
    def read(cls, folder: Path) -> "RunManifest":
        """The manifest of a run."""
        path = folder / RUN
        if not path.exists():
            raise DataError(f"{folder} holds no run: it has no run.json; run discover first")
        content = read_document(path, FORMAT, FORMAT_VERSION, "start the run again in a new folder")
        return cls(path, content["settings"], content["seconds"], content["done"])

    @property
    def used(self) -> float:
        """Seconds of all stages so far."""
        return sum(self.seconds.values())

    def finish(self, stage: str, seconds: float) -> None:
        """Record that a stage is done."""
        self.done.append(stage)
        self.note(stage, seconds)

    def note(self, stage: str, seconds: float) -> None:
        """Record the seconds that a stage has taken so far."""
        self.seconds[stage] = seconds
        self.write()

    def write(self) -> None:
        content = {
            "settings": self.settings,
            "seconds": {name: round(value, 1) for name, value in self.seconds.items()},
            "done": self.done,
        }
        write_document(self.path, FORMAT, FORMAT_VERSION, content)
