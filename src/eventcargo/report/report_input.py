"""ReportInput: the results of a run that its report shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from eventcargo.edges import EdgeFolder, EdgeTable
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.quality import Quality
from eventcargo.rules import Rule
from eventcargo.verdicts import Verdict


@dataclass(frozen=True)
class ReportInput:
    """The input of a report; only the graph and the data are required.

    `edges` are the edges of individual sequences, `quality` is the model's quality on held-out sequences,
    `baseline` the graph of a classical method to compare with, `about` the settings of the run. `rules` maps
    a label to None if no rule was found for it. `cohort` says in one line how the sequences were cut,
    `drift` whether the model is out of date for the sequences that were added last.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("car1", ("P01",), (0.0,), ("brake",))])
    >>> ReportInput(LabelGraph.from_boundaries({"brake": ["P01"]}), data).verdicts
    {}
    """

    graph: LabelGraph
    data: EventDataset
    edges: EdgeTable | EdgeFolder | None = None
    quality: Quality | None = None
    rules: Mapping[str, Rule | None] = field(default_factory=dict)
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    baseline: LabelGraph | None = None
    about: Mapping[str, str] = field(default_factory=dict)
    cohort: str = ""
    drift: str = ""
