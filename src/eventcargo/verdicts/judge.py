"""judge: give every label of a graph a verdict, from the data, the graph and the quality of its model.

The checks cannot see what the data do not contradict: docs/verdicts.md says what each can and cannot see.
"""

from collections.abc import Mapping

import polars as pl
from threadpoolctl import threadpool_limits

from eventcargo.deadline import NEVER, Deadline
from eventcargo.errors import counted
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.knowledge.knowledge import Resolved
from eventcargo.quality import Quality
from eventcargo.rules import Rule
from eventcargo.verdicts.checks import CHECKS, MISSING
from eventcargo.verdicts.config import JudgeConfig
from eventcargo.verdicts.evidence import Evidence
from eventcargo.verdicts.verdict import Verdict, Verdicts


def judge(
    data: EventDataset,
    graph: LabelGraph,
    quality: Quality | None = None,
    config: JudgeConfig | None = None,
    *,
    rules: Mapping[str, Rule | None] | None = None,
    knowledge: Resolved | None = None,
    timing: pl.DataFrame | None = None,
    seed: int = 0,
    deadline: Deadline = NEVER,
) -> Verdicts:
    """A verdict for every label of the graph; `quality` describes the label models on held-out sequences.

    `rules` are those of the graph: one that falls short of its model is told. Event types that `knowledge`
    forbids are not missing from a boundary; those that it requires are not held for records of the label.
    `timing` is that of a cohort (`CohortData.timing`, timing.parquet): members that occur practically only
    after their outcome are named. The most frequent labels come first; labels not reached before the deadline
    are doubted.

    >>> from eventcargo.events import EventSequence
    >>> kinds = [(("x", "y"), ("bad",)), (("y",), ())] * 60 + [(("x", "y"), ())]
    >>> data = EventDataset.from_sequences(
    ...     [EventSequence(f"{i:03}", events, tuple(map(float, range(len(events)))), labels)
    ...      for i, (events, labels) in enumerate(kinds)])
    >>> judge(data, LabelGraph.from_boundaries({"bad": ["x"]}))["bad"].level
    'trust'
    >>> judge(data, LabelGraph.from_boundaries({"bad": []}))["bad"].reasons[0]
    'no event type was found to cause it'
    """
    evidence = Evidence(
        data, graph, quality, config or JudgeConfig(), seed, deadline, knowledge, timing, rules
    )
    # its products are small: on a busy machine threads wait for each other
    with threadpool_limits(1, "blas"):
        return Verdicts({label: _verdict(evidence, number) for number, label in enumerate(evidence.labels)})


def _verdict(evidence: Evidence, number: int) -> Verdict:
    label = evidence.labels[number]
    if number in evidence.late:
        return Verdict.of(label, [("doubt", "there was no time to judge it")])
    findings = [finding for check in CHECKS for finding in check(evidence, number)]
    missing = [reason for check in MISSING for reason in check(evidence, number)]
    return Verdict.of(label, findings or [("trust", _trust_reason(evidence, number))], missing)


def _trust_reason(evidence: Evidence, number: int) -> str:
    predictability, n = evidence.predictabilities[number], len(evidence.members[number])
    assert predictability is not None  # without a predictability, a check has given a reason
    sequences, share = counted(int(evidence.support[number]), "sequence"), max(predictability.explained, 0.0)
    members = counted(n, "event type")
    return f"its boundary of {members} explains {share:.0%} of the label, carried by {sequences}"
