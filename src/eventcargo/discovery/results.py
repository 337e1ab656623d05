"""RunResults: everything a run found, read from its folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eventcargo.discovery.run_folder import RunManifest
from eventcargo.edges import EdgeTable
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.io import read_graph
from eventcargo.models.density import DensityModel
from eventcargo.report import ReportInput
from eventcargo.rules import Rule, read_rules
from eventcargo.verdicts import Verdict, read_verdicts


@dataclass(frozen=True)
class RunResults:
    """What the stages of a run left behind; the edges of single sequences stay on disk."""

    model: DensityModel
    edges: Path
    graph: LabelGraph
    baseline: LabelGraph
    rules: Mapping[str, Rule | None]
    verdicts: Mapping[str, Verdict]
    quality: Mapping[str, Any] | None
    about: Mapping[str, str]  # what was run, in words

    def content(self, data: EventDataset) -> ReportInput:
        """What the report shows."""
        edges = EdgeTable.read(self.edges)
        return ReportInput(
            self.graph, data, edges, self.quality, self.rules, self.verdicts, self.baseline, self.about
        )


def read_results(folder: Path, model: DensityModel) -> RunResults:
    """The findings of a run with this model."""
    return RunResults(
        model,
        folder / "edges",
        read_graph(folder / "graph.parquet"),
        read_graph(folder / "baseline.parquet"),
        read_rules(folder / "rules.json"),
        read_verdicts(folder / "verdicts.json"),
        read_quality(folder),
        _about(RunManifest.read(folder)),
    )


def read_quality(folder: Path) -> dict[str, Any] | None:
    """The content of quality.json; None for a model that was not judged."""
    path = folder / "model" / "quality.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def _about(record: RunManifest) -> dict[str, str]:
    """What was asked for and how long it took, without what is empty."""
    shown = {name: str(value) for name, value in record.settings.items() if value not in ("", None, 0)}
    return {**shown, "time": ", ".join(f"{name} {value:,.0f} s" for name, value in record.seconds.items())}
