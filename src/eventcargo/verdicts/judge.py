"""Judge: data, a graph and the quality of the models go in; for every label a verdict comes out.

What the data cannot contradict is not found here: docs/verdicts.md says what each check can and cannot see.
"""

from collections.abc import Mapping
from typing import Any

from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.verdicts.checks import CHECKS
from eventcargo.verdicts.config import JudgeConfig
from eventcargo.verdicts.evidence import Evidence
from eventcargo.verdicts.verdict import Verdict


def judge(
    data: EventDataset,
    graph: LabelGraph,
    quality: Mapping[str, Any] | None = None,
    config: JudgeConfig | None = None,
    *,
    seed: int = 0,
) -> dict[str, Verdict]:
    """A verdict for every label of the graph; `quality` is what the file quality.json of a model holds.

    >>> from eventcargo.events import EventSequence
    >>> kinds = [(("x", "y"), ("bad",)), (("y",), ())] * 60
    >>> data = EventDataset.from_sequences(
    ...     [EventSequence(f"{i:03}", events, tuple(map(float, range(len(events)))), labels)
    ...      for i, (events, labels) in enumerate(kinds)])
    >>> judge(data, LabelGraph.from_boundaries({"bad": ["x"]}))["bad"].level
    'trust'
    >>> judge(data, LabelGraph.from_boundaries({"bad": []}))["bad"].reasons[0]
    'no event type was found to cause it'
    """
    evidence = Evidence(data, graph, quality or {}, config or JudgeConfig(), seed)
    found = {}
    for number, label in enumerate(evidence.labels):
        findings = [finding for check in CHECKS for finding in check(evidence, number)]
        found[label] = Verdict.of(label, findings or [("trust", _praise(evidence, number))])
    return found


def _praise(evidence: Evidence, number: int) -> str:
    forecast, n = evidence.forecasts[number], len(evidence.members[number])
    assert forecast is not None  # where there is none, a check has said why
    types = "1 event type" if n == 1 else f"{n:,} event types"
    return (
        f"its boundary of {types} explains {forecast.explained:.0%} of the label, which "
        f"{evidence.support[number]:,} sequences carry"
    )
