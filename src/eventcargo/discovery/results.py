"""RunResults: everything a run found, read from its folder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from eventcargo.cohort.config import read_cohort
from eventcargo.discovery.run_folder import (
    BASELINE,
    COHORT,
    EDGES,
    GRAPH,
    QUALITY,
    RULES,
    RUN,
    VERDICTS,
    RunManifest,
)
from eventcargo.edges import EdgeFolder
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.io import read_graph
from eventcargo.models.density import DensityModel
from eventcargo.quality import Quality
from eventcargo.report import ReportInput
from eventcargo.rules import Rule, read_rules
from eventcargo.verdicts import Verdict, read_verdicts

Artefact = TypeVar("Artefact")

EDGE_SETTINGS = {"test": "test of phase 1", "threshold": "threshold, nats", "model": "model", "seed": "seed"}
"""Settings of phase 1 that the report shows for a run without run.json, with their names there."""


@dataclass(frozen=True)
class RunResults:
    """The results of all stages of a run; the edges of single sequences stay on disk."""

    model: DensityModel
    edges: Path
    graph: LabelGraph
    baseline: LabelGraph
    rules: Mapping[str, Rule | None]
    verdicts: Mapping[str, Verdict]
    quality: Quality | None


def read_results(folder: Path, model: DensityModel) -> RunResults:
    """Read the results of a run; `model` is its loaded model."""
    return RunResults(
        model,
        folder / EDGES,
        read_graph(folder / GRAPH),
        read_graph(folder / BASELINE),
        read_rules(folder / RULES),
        read_verdicts(folder / VERDICTS),
        read_quality(folder),
    )


def read_quality(folder: Path) -> Quality | None:
    """The quality of a run's model; None if it was not measured."""
    return _read(folder / QUALITY, Quality.read)


def read_report_input(folder: Path, data: EventDataset, baseline: Path | None = None) -> ReportInput:
    """What the report of a run shows; only the graph must exist. `baseline` replaces the run's own."""
    return ReportInput(
        graph=read_graph(folder / GRAPH),
        data=data,
        edges=_read(folder / EDGES, EdgeFolder.open),
        quality=read_quality(folder),
        rules=_read(folder / RULES, read_rules) or {},
        verdicts=_read(folder / VERDICTS, read_verdicts) or {},
        baseline=read_graph(baseline) if baseline else _read(folder / BASELINE, read_graph),
        about=_about(folder),
        cohort=_cohort_line(folder),
    )


def _read(path: Path, reader: Callable[[Path], Artefact]) -> Artefact | None:
    return reader(path) if path.exists() else None


def _cohort_line(folder: Path) -> str:
    """How the sequences of a run were cut, in words; empty if they were read as they are."""
    found = _read(folder / COHORT, read_cohort)
    return "" if found is None else str(found[1].get("line", ""))


def _about(folder: Path) -> dict[str, str]:
    """The settings of a run that are not empty, and the time of its stages."""
    if not (folder / RUN).exists():
        plan = EdgeFolder.open(folder / EDGES).plan if (folder / EDGES).exists() else {}
        return {words: str(plan[name]) for name, words in EDGE_SETTINGS.items() if name in plan}
    manifest = RunManifest.read(folder)
    shown = {name: str(value) for name, value in manifest.settings.items() if value not in ("", None, 0)}
    return {**shown, "time": ", ".join(f"{name} {value:,.0f} s" for name, value in manifest.seconds.items())}
