"""verify: test the edges of a graph on the data; drop refuted edges, add missing ones.

Two witnesses testify to an edge. Phase 1 claims a number of sequences (frequency x support) and what the
event type is worth in each (strength, in nats); it sees arrangements, but only as well as its model does. The
data count sequences without a model, but may have none to compare with. Their testimony is combined:

- An edge is **confirmed** if the label depends on its event type, by presence or an arrangement, given the
  presence and arrangements of the other members: the p-value passes the Benjamini-Hochberg procedure over all
  edges, and the gain is at least `min_gain` nats per sequence with the label. With many sequences everything
  is significant; then the gain decides.
- An edge is **refuted** if the data leave room for less than half of its claim. The room is an upper bound on
  what the presence of the event type, or any of its arrangements, can be worth, and never exceeds what the
  rest of the boundary leaves unexplained. Sequences without a comparison count in full for the claim. So an
  edge is refuted only if an effect half as large as claimed would have been visible; where the test has no
  power, phase 1 is believed.
- A claim below twice `min_gain` is too small to stand by itself and must be confirmed. An edge without a
  claim (its graph has no frequency or strength) must have room for `min_gain`.
- An **untrusted** label has a model that is no better than its base rate on held-out sequences, so phase 1 is
  no witness. Its edges need a p-value of at most `alpha` and the smallest gain; the others are dropped one by
  one, smallest gain first, so that one of two event types that explain each other stays.

Confirmed edges stay, and so do edges that are not refuted. Before that, each boundary may grow by missing
event types; these must be confirmed, with a Bonferroni correction for all pairs.
"""

from collections.abc import Collection

import numpy as np
import polars as pl

from eventcargo.deadline import NEVER, Deadline, warn_of_left_out
from eventcargo.errors import DataError, counted
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.knowledge import Knowledge, Resolved
from eventcargo.statistics.discoveries import discoveries
from eventcargo.verification.claims import Claim
from eventcargo.verification.config import VerifyConfig
from eventcargo.verification.forward import forward_select
from eventcargo.verification.label_test import LabelTest, VerifyData
from eventcargo.verification.levels import settle_levels

GROWING = 0.5
"""Largest share of the time for adding missing event types."""


def verify(
    graph: LabelGraph,
    data: EventDataset,
    config: VerifyConfig | None = None,
    knowledge: Resolved | None = None,
    untrusted: Collection[str] = (),
    deadline: Deadline = NEVER,
) -> LabelGraph:
    """The graph with p-values and gains, without refuted edges and with missing ones added.

    The gain, which orders a boundary, is what the event type is worth by the data, in nats per sequence with
    the label. The p-value is null if no test was possible. An added edge has no frequency; its strength is
    its gain. Required edges stay, forbidden edges are not added. Event types that the data adjust for are in
    every condition and in no edge. Of a scale one threshold stays, of a family one level (`levels`).

    For `untrusted` labels, whose model is no witness, the data alone decide. The most frequent labels come
    first; edges of labels not reached before the deadline stay as they are, and a warning names these labels.

    >>> from dataclasses import replace
    >>> from eventcargo.events import EventSequence
    >>> bad = EventSequence("", ("P01", "U02"), (0.0, 1.0), ("brake",))
    >>> good = EventSequence("", ("U02",), (0.0,), ())
    >>> data = EventDataset.from_sequences(
    ...     [replace(bad if i % 3 else good, id=str(i)) for i in range(300)])
    >>> verify(LabelGraph.from_boundaries({"brake": []}), data).boundary("brake")
    ['P01']
    """
    config = config or VerifyConfig()
    _check_names(graph, data)
    knowledge = _with_adjusted(knowledge, data)
    label_tests = [
        label_test
        for study in data.studies()
        for label_test in _label_tests(graph, VerifyData(study), config, knowledge)
    ]
    label_tests.sort(key=lambda label_test: -len(label_test.positives))
    forward_select(label_tests, config.rounds, config.alpha, deadline.share(GROWING))
    for label_test in label_tests:
        settle_levels(label_test, config.alpha)
    tested = [label_test for label_test in label_tests if label_test.claims]
    level = config.alpha / max(1, sum(len(label_test.claims) for label_test in tested))
    late = list[str]()
    for label_test in tested:
        if deadline.is_over:
            late.append(label_test.name)
            continue
        label_test.ask(level)
        if label_test.name in untrusted:
            label_test.backward_eliminate(level, config.alpha)
    warn_of_left_out("edges were not tested on the data", late, len(label_tests))
    alternatives = {label_test.name: label_test.named_alternatives for label_test in tested}
    verified = _graph(graph, data, _kept(tested, config.alpha))
    return verified.with_kinds(data.kinds.families, alternatives)


def _with_adjusted(knowledge: Resolved | None, data: EventDataset) -> Resolved | None:
    """Knowledge by which the event types that the data adjust for are in no edge."""
    if not data.kinds.adjusted:
        return knowledge
    known = knowledge or Knowledge().resolve(list(data.label_names), list(data.event_names))
    return known.without(data.kinds.adjusted)


def _check_names(graph: LabelGraph, data: EventDataset) -> None:
    for column, known in (("label", data.label_names), ("event", data.event_names)):
        unknown = sorted(set(graph.edges[column].to_list()) - set(known))
        if unknown:
            raise DataError(
                f"{counted(len(unknown), f'{column} name')} not in the data, the first: {unknown[0]!r}; "
                "verify a graph on the data it was made from, or on data of the same kind"
            )


def _label_tests(
    graph: LabelGraph, verify_data: VerifyData, config: VerifyConfig, knowledge: Resolved | None
) -> list[LabelTest]:
    """One test for each label of the data."""
    required = frozenset[tuple[str, str]]() if knowledge is None else knowledge.required
    numbers = {name: number for number, name in enumerate(verify_data.data.event_names)}
    supports = [len(positives) for positives in verify_data.positives]
    label_tests = [
        LabelTest(verify_data, label, [], config.min_gain * support) for label, support in enumerate(supports)
    ]
    if knowledge is not None:
        for label_test in label_tests:
            label_test.barred = ~knowledge.table([label_test.name], verify_data.data.event_names)[0]
    places = {name: number for number, name in enumerate(verify_data.data.label_names)}
    columns = ("label", "event", "frequency", "strength", "sign")
    for label, event, frequency, strength, sign in graph.edges.select(columns).iter_rows():
        if label not in places or event in verify_data.data.kinds.adjusted:
            continue
        at = places[label]
        votes = None if frequency is None else frequency * supports[at]
        claim = Claim(numbers[event], votes, strength, 0 if sign is None else sign, label_tests[at].min_gain)
        claim.is_required = (label, event) in required
        label_tests[at].claims.append(claim)
    return label_tests


def _kept(tested: list[LabelTest], alpha: float) -> list[tuple[str, str, Claim]]:
    """Label, event type and claim of the edges that stay."""
    pairs = [(label_test, claim) for label_test in tested for claim in label_test.claims]
    passed = discoveries([claim.p_value for _, claim in pairs], alpha)
    edges = []
    for (label_test, claim), is_discovery in zip(pairs, passed, strict=True):
        is_confirmed = is_discovery and claim.gain >= claim.min_gain
        if is_confirmed or claim.is_required or not (claim.is_new or claim.refuted):
            edges.append((label_test.name, label_test.verify_data.data.event_names[claim.event], claim))
    return edges


def _graph(graph: LabelGraph, data: EventDataset, kept: list[tuple[str, str, Claim]]) -> LabelGraph:
    positives = dict(zip(data.label_names, data.support.tolist(), strict=True))
    support = positives | {label: count for label, count in graph.support.items() if count is not None}
    rows = [
        (label, event, claim.p_value, claim.gain / max(positives[label], 1))
        for label, event, claim in kept
        if not claim.is_new
    ]
    schema = {"label": pl.String, "event": pl.String, "p_value": pl.Float64, "gain": pl.Float64}
    tested = pl.DataFrame(rows, schema=schema, orient="row")
    old = graph.edges.drop("p_value", "gain").join(tested, on=["label", "event"], maintain_order="left")
    added = [
        _added(label, event, claim, positives[label], support[label])
        for label, event, claim in kept
        if claim.is_new
    ]
    new = pl.DataFrame(added, schema=dict(graph.edges.schema))
    return LabelGraph.from_edges(pl.concat([old.select(new.columns), new]), support)


def _added(label: str, event: str, claim: Claim, positives: int, support: int) -> dict[str, object]:
    return {
        "label": label,
        "event": event,
        "sign": int(np.sign(claim.effect)),
        "support": support,
        "strength": claim.gain / positives,
        "effect": claim.effect,
        "p_value": claim.p_value,
        "gain": claim.gain / positives,
    }
