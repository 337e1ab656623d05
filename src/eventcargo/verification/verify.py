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

import zlib
from collections.abc import Collection
from dataclasses import asdict, replace

import numpy as np
import polars as pl

from eventcargo.baselines.levels import named_gains
from eventcargo.deadline import NEVER, Deadline, warn_of_left_out
from eventcargo.engines.engine import Engine
from eventcargo.engines.local import engine_or
from eventcargo.engines.work import moment
from eventcargo.errors import DataError, counted
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.knowledge import Knowledge, Resolved
from eventcargo.statistics.discoveries import discovery_level
from eventcargo.verification.claims import Claim, Levels
from eventcargo.verification.config import VerifyConfig
from eventcargo.verification.odds_ratios import odds_ratios
from eventcargo.verification.verify_work import COLUMNS, PROPOSED, TestedLabel, Verification, VerifyWork

FIRST = 0.8
"""Discount on the discoveries that no single sequence shows. Where there are many, weak causes are usual;
where there would be one, it must be five times as sure: in a graph of strong causes, chance adds an edge in 1
of 100 data sets."""

GROWING = 0.5
"""Largest share of the time for adding missing event types."""


def verify(
    graph: LabelGraph,
    data: EventDataset,
    config: VerifyConfig | None = None,
    knowledge: Resolved | None = None,
    untrusted: Collection[str] = (),
    deadline: Deadline = NEVER,
    engine: Engine | None = None,
) -> LabelGraph:
    """The graph with p-values and gains, without refuted edges and with missing ones added.

    The gain, which orders a boundary, is what the event type is worth by the data, in nats per sequence with
    the label. The p-value is null if no test was possible. An added edge has no frequency; its strength is
    its gain. Required edges stay, forbidden edges are not added. Event types that the data adjust for are in
    every condition and in no edge. Of a scale one threshold stays, of a family one level (`levels`).

    For `untrusted` labels, whose model is no witness, the data alone decide. The most frequent labels come
    first; edges of labels not reached before the deadline stay as they are, and a warning names these labels.
    The `engine` works on blocks of labels: by default, processes on this machine.

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
    state = Verification(
        graph.edges.select(COLUMNS), data, config, _with_adjusted(knowledge, data), frozenset(untrusted)
    )
    with engine_or(engine) as where:
        tested = _tested(state, where, deadline)
    alternatives = {one.name: _named(one, data) for one in tested}
    verified = _graph(graph, data, _kept(tested, data))
    return odds_ratios(verified.with_kinds(data.kinds.families, alternatives), data)


def _tested(state: Verification, engine: Engine, deadline: Deadline) -> list[TestedLabel]:
    """The labels with edges, with the claims that stand."""
    with engine.workspace("verify", _plan(state)) as place:
        work = VerifyWork(place, state.data.fingerprint, state.config, "grow")
        grown = _passed(work, state, engine, deadline.share(GROWING))
        late = [one.name for one in grown if one.is_late]
        warn_of_left_out("not all missing event types were looked for", late, len(grown))
        alpha = state.config.alpha
        level = alpha / max(1, sum(len(one.claims) for one in grown))
        asked = _passed(replace(work, kind="ask", level=level), state, engine, deadline)
        claims = [claim for one in asked if not one.is_late for claim in one.claims]
        levels = _levels(claims, alpha, len(asked) * len(state.data.event_names))
        last = replace(work, kind="eliminate", level=level, levels=levels)
        claimed = {one.name for one in asked if one.claims}
        tested = [one for one in _passed(last, state, engine, deadline) if one.name in claimed]
        untested = {one.name for one in (*asked, *tested) if one.is_late and one.claims}
        names = [one.name for one in asked if one.name in untested]
        warn_of_left_out("edges were not tested on the data", names, len(grown))
        return tested


def _passed(work: VerifyWork, state: Verification, engine: Engine, deadline: Deadline) -> list[TestedLabel]:
    """All labels after a pass."""
    work, units = replace(work, ends=moment(deadline)), range(len(state.blocks))
    with work.held(state, deadline):
        for _ in engine.run(work, units):
            pass
    return [one for unit in units for one in work.read(unit)]


def _levels(claims: list[Claim], alpha: float, n_pairs: int) -> Levels:
    """The levels of claims that were tested, each among those for which phase 1 says as much."""
    mute = [claim.p_value for claim in claims if claim.is_mute]
    return Levels(
        voted=_discovery_level([claim for claim in claims if not claim.is_mute], alpha),
        proposed=_discovery_level([claim for claim in claims if claim.is_proposed], PROPOSED * alpha),
        unnamed=discovery_level(mute, alpha, n_pairs, FIRST),
    )


def _plan(state: Verification) -> dict[str, object]:
    """What the units of a verification follow from."""
    known = state.knowledge
    return {
        **asdict(state.config),
        "data": state.data.fingerprint,
        "edges": state.edges.rows(),
        "untrusted": sorted(state.untrusted),
        "required": [] if known is None else sorted(known.required),
        "allowed": None if known is None else zlib.crc32(np.ascontiguousarray(known.allowed).tobytes()),
    }


def _discovery_level(claims: list[Claim], alpha: float) -> float:
    """The level up to which p-values are discoveries among some claims."""
    return discovery_level([claim.p_value for claim in claims], alpha, len(claims))


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


def _kept(tested: list[TestedLabel], data: EventDataset) -> list[tuple[str, str, Claim]]:
    """Label, event type and claim of the edges that stay."""
    return [(one.name, data.event_names[claim.event], claim) for one in tested for claim in one.claims]


def _named(tested: TestedLabel, data: EventDataset) -> dict[str, dict[str, float]]:
    """The alternatives of a label by name, in nats per sequence with the label."""
    return named_gains(tested.alternatives, data.event_names, data.label_support[tested.name])


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
