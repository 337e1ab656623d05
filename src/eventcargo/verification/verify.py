"""verify: test the edges of a graph on the data; drop refuted edges, add missing ones.

Two witnesses testify to an edge. Phase 1 has its votes (single sequences that show the edge) and its pooled
evidence (what all sequences say together); it sees arrangements, but only as well as its model does. The
data count sequences without a model, but may have none to compare with. Two tests ask the data: G2 within
the strata of the other members, which sees what acts only together with others, and a score test across
them, which sees what is weak and adds up. Their testimony is combined:

- An edge that single sequences **vote** for is confirmed if its p-value is a discovery among such edges
  (Benjamini and Hochberg). If it is not, it stands as long as the data do not refute it: they do if they
  leave room for less than half of what phase 1 claims. The room is an upper bound on what the presence of
  the event type, or any of its arrangements, can be worth. Sequences without a comparison count in full for
  the claim, so where the test has no power, phase 1 is believed; but an edge with evidence needs some
  support by the data, too.
- An edge that **no single sequence** shows, because its cause is weak or rare, but pooled evidence proposes,
  must be confirmed by the data: its p-value must be a discovery among such edges, at a share of `alpha`. It
  must not be a shadow of the strongest edge of its label (`claims.SHADOW`).
- Event types that the boundary lacks are **added** one by one. Nothing has named them, so the p-value must be
  at most `alpha` / number of event types that can be significant (`statistics.testable`): a fifth of that
  beside an edge that phase 1 names, else a discovery among all pairs of a label and an event type. A member
  gives way to an event type that mostly comes with it and is worth more.
- The edges of an **untrusted** label, whose model is no better than its base rate on held-out sequences,
  need pooled evidence or the data's confirmation; without evidence they are tested like added ones.

What falls is dropped one by one, smallest gain first, and the rest is tested again each time, so that one
of two event types that explain each other stays.
"""

from collections.abc import Collection, Iterator

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from eventcargo.deadline import NEVER, Deadline, OutOfTime, warn_of_left_out
from eventcargo.errors import DataError, counted
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.knowledge import Knowledge, Resolved
from eventcargo.statistics.discoveries import discovery_level
from eventcargo.verification.claims import Claim, Levels
from eventcargo.verification.config import VerifyConfig
from eventcargo.verification.forward import forward_select, swap_companions, type_level
from eventcargo.verification.label_test import LabelTest, VerifyData
from eventcargo.verification.levels import settle_levels
from eventcargo.verification.odds_ratios import odds_ratios

FIRST = 0.8
"""Discount on the discoveries that no single sequence shows. Where there are many, weak causes are usual;
where there would be one, it must be five times as sure: in a graph of strong causes, chance adds an edge in 1
of 100 data sets."""

PROPOSED = 0.2
"""Share of `alpha` at which edges that pooled evidence alone proposes are confirmed among themselves (the
evidence, which names them, has read the same sequences), and edges that nothing names among event types."""

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
    # products are small: on a busy machine threads wait for each other
    with threadpool_limits(1, "blas"):
        return _verified(graph, data, config, _with_adjusted(knowledge, data), untrusted, deadline)


def _verified(
    graph: LabelGraph,
    data: EventDataset,
    config: VerifyConfig,
    knowledge: Resolved | None,
    untrusted: Collection[str],
    deadline: Deadline,
) -> LabelGraph:
    """The graph of `verify`."""
    label_tests = [
        label_test
        for study in data.studies()
        for label_test in _label_tests(graph, VerifyData(study), config, knowledge)
    ]
    label_tests.sort(key=lambda label_test: -len(label_test.positives))
    forward_select(label_tests, config.rounds, config.alpha, deadline.share(GROWING))
    swap_companions(label_tests, config.alpha, deadline.share(GROWING))
    for label_test in label_tests:
        settle_levels(label_test, config.alpha)
    tested = [label_test for label_test in label_tests if label_test.claims]
    late = _decide(tested, config.alpha, len(label_tests) * len(data.event_names), untrusted, deadline)
    warn_of_left_out("edges were not tested on the data", late, len(label_tests))
    alternatives = {label_test.name: label_test.named_alternatives for label_test in tested}
    verified = _graph(graph, data, _kept(tested))
    return odds_ratios(verified.with_kinds(data.kinds.families, alternatives), data)


def _decide(
    tested: list[LabelTest], alpha: float, n_pairs: int, untrusted: Collection[str], deadline: Deadline
) -> list[str]:
    """Test all claims and drop those that fall; returns the labels not reached before the deadline."""
    level = alpha / max(1, sum(len(label_test.claims) for label_test in tested))
    asked = list(_asked(tested, level, deadline))
    late = [label_test.name for label_test in tested[len(asked) :]]
    claims = [claim for label_test in asked for claim in label_test.claims]
    of_voted = _discovery_level([claim for claim in claims if not claim.is_mute], alpha)
    of_proposed = _discovery_level([claim for claim in claims if claim.is_proposed], PROPOSED * alpha)
    mute = [claim.p_value for claim in claims if claim.is_mute]
    of_mute = discovery_level(mute, alpha, n_pairs, FIRST)
    for label_test in asked:
        own = [claim for claim in label_test.claims if claim.is_mute]
        of_unnamed = min(of_mute, type_level(label_test, own, alpha))
        if len(own) < len(label_test.claims):
            of_unnamed = max(of_unnamed, type_level(label_test, own, PROPOSED * alpha))
        levels = Levels(of_voted, max(of_proposed, of_unnamed), of_unnamed)
        if not _eliminated(label_test, level, levels, label_test.name in untrusted, deadline):
            late.append(label_test.name)
    return late


def _discovery_level(claims: list[Claim], alpha: float) -> float:
    """The level up to which p-values are discoveries among some claims."""
    return discovery_level([claim.p_value for claim in claims], alpha, len(claims))


def _asked(tested: list[LabelTest], level: float, deadline: Deadline) -> Iterator[LabelTest]:
    """The labels one by one, each once its claims were tested, until the deadline."""
    for label_test in tested:
        if deadline.is_over:
            return
        try:
            label_test.ask(level, deadline=deadline)
        except OutOfTime:
            return
        yield label_test


def _eliminated(
    label_test: LabelTest, level: float, levels: Levels, untrusted: bool, deadline: Deadline
) -> bool:
    """Drop the claims of a label that fall; if there is no time for that, all stay and it is false."""
    claims = list(label_test.claims)
    try:
        label_test.backward_eliminate(level, levels, untrusted, deadline)
    except OutOfTime:
        label_test.replace(claims)
        return False
    return True


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
    columns = ("label", "event", "frequency", "strength", "evidence")
    for label, event, frequency, strength, evidence in graph.edges.select(columns).iter_rows():
        if label not in places or event in verify_data.data.kinds.adjusted:
            continue
        at = places[label]
        votes = None if frequency is None else frequency * supports[at]
        claim = Claim(numbers[event], votes, strength, evidence)
        claim.is_required = (label, event) in required
        label_tests[at].claims.append(claim)
    return label_tests


def _kept(tested: list[LabelTest]) -> list[tuple[str, str, Claim]]:
    """Label, event type and claim of the edges that stay."""
    return [
        (label_test.name, label_test.verify_data.data.event_names[claim.event], claim)
        for label_test in tested
        for claim in label_test.claims
    ]


def _graph(graph: LabelGraph, data: EventDataset, kept: list[tuple[str, str, Claim]]) -> LabelGraph:
    """The edges of a graph that are kept, with their figures, and those that were added or swapped in."""
    positives = dict(zip(data.label_names, data.support.tolist(), strict=True))
    support = positives | {label: count for label, count in graph.support.items() if count is not None}
    known = set(graph.edges.select("label", "event").iter_rows())
    rows = [
        (label, event, claim.p_value, claim.gain / max(positives[label], 1))
        for label, event, claim in kept
        if (label, event) in known
    ]
    schema = {"label": pl.String, "event": pl.String, "p_value": pl.Float64, "gain": pl.Float64}
    tested = pl.DataFrame(rows, schema=schema, orient="row")
    old = graph.edges.drop("p_value", "gain").join(tested, on=["label", "event"], maintain_order="left")
    added = [
        _added(label, event, claim, positives[label], support[label])
        for label, event, claim in kept
        if (label, event) not in known
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
