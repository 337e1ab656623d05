"""The global protocol: compare found with true boundaries, label by label.

The true boundary of a label has every event type of its rule. Only the event types of a boundary are
compared, not signs, strengths or the order of edges.
"""

import warnings
from collections.abc import Iterable

import polars as pl

from eventcargo.errors import EventCargoWarning, counted
from eventcargo.evaluation.reference import EventMap, Reference
from eventcargo.evaluation.scores import Scores, score_labels
from eventcargo.graphs import LabelGraph


def evaluate(
    graph: LabelGraph,
    truth: LabelGraph,
    *,
    negated: bool = True,
    labels: Iterable[str] | None = None,
    event_of: EventMap | None = None,
) -> Scores:
    """Precision, recall and F1 of the boundaries of `graph` against those of `truth`.

    Parameters
    ----------
    negated
        False ignores the true edges with sign -1: they need not be found, and finding them is no error.
    labels
        Labels to evaluate, by default all of the truth. A label missing in `graph` has an empty boundary.
    event_of
        Maps event names of both graphs before they are compared; edges that become equal count once.

    >>> truth = LabelGraph.from_boundaries({"brake": ["P01", "U02"]}, support={"brake": 9})
    >>> evaluate(LabelGraph.from_boundaries({"brake": ["P01", "P01=high"]}), truth).micro
    Average(precision=0.5, recall=0.5, f1=0.5)
    >>> found = LabelGraph.from_boundaries({"brake": ["P01=low", "P01=high"]})
    >>> evaluate(found, truth, event_of=lambda name: name.split("=")[0]).micro.precision
    1.0
    """
    foreign = [label for label in graph.labels if label not in truth.support]
    if foreign and labels is None:
        warnings.warn(
            f"left out {len(foreign):,} of {counted(len(graph.labels), 'label')} of the graph that the truth "
            f"lacks, the first: {foreign[0]!r}",
            EventCargoWarning,
            stacklevel=2,
        )
    reference = Reference.from_truth(truth, negated=negated, labels=labels, event_of=event_of)
    return score_pairs(reference, reference.comparable(graph.edges.select("label", "event")))


def score_pairs(reference: Reference, found: pl.DataFrame) -> Scores:
    """Scores of found pairs (label, event) whose events are already mapped."""
    hits = found.join(reference.pairs, on=["label", "event"], how="semi")
    counts = reference.labels
    for name, table in (("n_true", reference.pairs), ("n_found", found), ("n_hit", hits)):
        counts = counts.join(reference.count(name, table), on="label")
    return score_labels(counts)
