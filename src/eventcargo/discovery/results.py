"""RunResults: everything a run found, read from its folder."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

import eventcargo.prediction
from eventcargo.cohort.config import COHORT, read_cohort
from eventcargo.discovery.data_source import added
from eventcargo.discovery.run_folder import (
    BASELINE,
    EDGES,
    FUSED,
    GRAPH,
    MODEL,
    QUALITY,
    RULES,
    RUN,
    VERDICTS,
    RunManifest,
    artefacts,
    is_current,
)
from eventcargo.drift import read_drift
from eventcargo.edges import EdgeFolder
from eventcargo.errors import counted
from eventcargo.events import EventDataset
from eventcargo.fusion import FuseConfig
from eventcargo.graphs import LabelGraph
from eventcargo.io import read_graph
from eventcargo.quality import Quality
from eventcargo.report import ReportInput
from eventcargo.report.report_input import PrefixProbabilities
from eventcargo.rules import Rule, read_rules
from eventcargo.verdicts import Verdicts, read_verdicts

if TYPE_CHECKING:
    from eventcargo.models.density import DensityModel

Artefact = TypeVar("Artefact")

EDGE_SETTINGS = {"test": "test of phase 1", "threshold": "threshold, nats", "model": "model", "seed": "seed"}
"""Settings of phase 1 that the report shows for a run without run.json, with their names there."""


FUSE_WORDS = {"test": "test of phase 2"}
"""Settings of phase 2 that have another name in the report, because phase 1 has one of the same name."""


@dataclass(frozen=True)
class RunResults:
    """The results of all stages of a run; the edges of single sequences stay on disk.

    Without time for one, there is no model, and there are no edges of single sequences.
    """

    model: "DensityModel | None"
    edges: Path
    graph: LabelGraph
    baseline: LabelGraph
    rules: Mapping[str, Rule | None]
    verdicts: Verdicts
    quality: Quality | None


def read_results(folder: Path, model: "DensityModel | None") -> RunResults:
    """Read the results of a run; `model` is its loaded model, if it has one.

    Rules and verdicts of another graph than the run's are left out, with a warning.
    """
    return RunResults(
        model,
        folder / EDGES,
        read_graph(folder / GRAPH),
        read_graph(folder / BASELINE),
        read_current_rules(folder),
        read_verdicts(folder / VERDICTS) if is_current(folder, VERDICTS) else Verdicts(),
        read_quality(folder),
    )


def read_current_rules(folder: Path) -> dict[str, Rule | None]:
    """The rules of a run; none if there are none or they are those of another graph, then with a warning."""
    return read_rules(folder / RULES) if is_current(folder, RULES) else {}


def load_run_model(folder: Path, device: str = "cpu") -> "DensityModel | None":
    """The model of a run; None if it had no time for one."""
    if not (folder / MODEL).exists() and (folder / GRAPH).exists():
        return None
    from eventcargo.models.loading import load_model

    return load_model(folder / MODEL, device)


def read_quality(folder: Path) -> Quality | None:
    """The quality of a run's model; None if it was not measured."""
    return _read(folder / QUALITY, Quality.read)


def read_report_input(folder: Path, data: EventDataset, baseline: Path | None = None) -> ReportInput:
    """What the report of a run shows; only the graph must exist. `baseline` replaces the run's own.

    Rules, verdicts and a baseline made from another graph or other data are left out, with a warning.
    """
    is_current(folder, GRAPH, data, "is shown all the same")
    shown = {name for name in (RULES, VERDICTS) if is_current(folder, name, data)}
    compared = baseline or (folder / BASELINE if is_current(folder, BASELINE, data) else None)
    return ReportInput(
        graph=read_graph(folder / GRAPH),
        data=data,
        edges=_read(folder / EDGES, EdgeFolder.open),
        quality=read_quality(folder),
        rules=read_rules(folder / RULES) if RULES in shown else {},
        verdicts=read_verdicts(folder / VERDICTS) if VERDICTS in shown else {},
        baseline=None if compared is None else read_graph(compared),
        about=_about(folder),
        cohort=_cohort_line(folder),
        date=_date(folder),
        probabilities=_prefix_probabilities(folder, data),
        notes=_drift_notes(folder),
    )


def _date(folder: Path) -> str:
    """The day on which the graph was made, UTC."""
    return datetime.fromtimestamp((folder / GRAPH).stat().st_mtime, UTC).date().isoformat()


def _prefix_probabilities(folder: Path, data: EventDataset) -> PrefixProbabilities | None:
    """How the labels' probabilities grow within sequences; None without a model that can read the data.

    The model is loaded when the first sequences are given.
    """
    if not (folder / MODEL).exists():
        return None

    def of(sequences: EventDataset) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        model = load_run_model(folder)
        assert model is not None
        names = model.value_names
        if tuple(model.label_names) == tuple(data.label_names) and names in (None, tuple(data.value_names)):
            yield from eventcargo.prediction.prefix_probabilities(model, sequences)

    return of


def _read(path: Path, reader: Callable[[Path], Artefact]) -> Artefact | None:
    return reader(path) if path.exists() else None


def _cohort_line(folder: Path) -> str:
    """How the sequences of a run were cut, and how many came later, in words; empty if read as they are."""
    found = _read(folder / COHORT, read_cohort)
    line = "" if found is None else str(found[1].get("line", ""))
    later = sum(part.sequences for part in added(folder))
    return f"{line}, {counted(later, 'sequence')} added since" if line and later else line


def _drift_notes(folder: Path) -> list[str]:
    """Whether the model is out of date for what was added last, in words; empty if nothing was."""
    drift = read_drift(folder)
    return [] if drift is None else [drift.sentence]


def _about(folder: Path) -> dict[str, str]:
    """The settings of a run that are not empty, and the time of its stages."""
    if not (folder / RUN).exists():
        plan = EdgeFolder.open(folder / EDGES).plan if (folder / EDGES).exists() else {}
        tested = {words: str(plan[name]) for name, words in EDGE_SETTINGS.items() if name in plan}
        return {**tested, **_fuse_settings(folder)}
    manifest = RunManifest.read(folder)
    shown = {name: str(value) for name, value in manifest.settings.items() if value not in ("", None, 0)}
    time = ", ".join(f"{name} {value:,.0f} s" for name, value in manifest.seconds.items())
    return {**shown, **_fuse_settings(folder), "time": time}


def _fuse_settings(folder: Path) -> dict[str, str]:
    """The criterion of the latest `fuse`, which need not be the run's, and what else is not default."""
    origin = artefacts(folder).origin(FUSED)
    if origin is None:
        return {}
    usual = asdict(FuseConfig())
    changed = {name: str(value) for name, value in origin.settings.items() if value != usual.get(name)}
    changed["criterion"] = str(origin.settings.get("criterion", ""))
    return {FUSE_WORDS.get(name, name): value for name, value in changed.items() if value}
