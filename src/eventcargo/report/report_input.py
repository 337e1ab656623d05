"""ReportInput: what a report is made of, the results of the earlier steps of a run.

Rules and verdicts are taken by their attributes, so that the report does not depend on how they are found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from eventcargo.edges import EdgeTable
from eventcargo.errors import DataError
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph

LEVELS = ("trust", "caution", "doubt")
"""What a verdict can say of a label, the best first."""


class RuleLike(Protocol):
    """A label's rule in words and how it did on held-out sequences."""

    @property
    def text(self) -> str: ...
    @property
    def support(self) -> int: ...
    @property
    def precision(self) -> float: ...
    @property
    def recall(self) -> float: ...


class VerdictLike(Protocol):
    """Whether to believe a label's boundary, one of `LEVELS`, and why."""

    @property
    def level(self) -> str: ...
    @property
    def reasons(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class ReportInput:
    """What goes into a report; only the graph and the data must be there.

    `edges` are those of single sequences, `quality` the content of a model's quality.json, `baseline` the
    graph of a classical method to compare with, `about` what was run, in words. A label that `rules` maps to
    None was looked at and has no rule.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("car1", ("P01",), (0.0,), ("brake",))])
    >>> ReportInput(LabelGraph.from_boundaries({"brake": ["P01"]}), data).verdicts
    {}
    """

    graph: LabelGraph
    data: EventDataset
    edges: EdgeTable | None = None
    quality: Mapping[str, Any] | None = None
    rules: Mapping[str, RuleLike | None] = field(default_factory=dict)
    verdicts: Mapping[str, VerdictLike] = field(default_factory=dict)
    baseline: LabelGraph | None = None
    about: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for label, verdict in self.verdicts.items():
            if verdict.level not in LEVELS:
                raise DataError(
                    f"the verdict on label {label!r} is {verdict.level!r}; it must be one of "
                    f"{', '.join(LEVELS)}"
                )
