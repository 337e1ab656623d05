"""verify: the edges of a graph tested on the data themselves; missing ones added, refuted ones dropped.

Two witnesses speak for an edge. Phase 1 claims that in so many sequences (frequency x support) the event type
was worth so much (strength, in nats); it sees order, number and time, but only as well as its model does. The
data count sequences, without a model, but a count may have nothing to compare. They meet like this:

- **Confirmed** is an edge whose event type tells of the label given the rest of the boundary (presence and
  arrangements of the other members), by its presence or an arrangement, with a p-value that survives
  Benjamini and Hochberg's procedure over all edges, and with a gain of at least `min_gain` nats for each
  sequence that carries the label. With many sequences everything is significant; then the gain decides.
- **Refuted** is an edge for which the data leave less room than half of its claim. The room is the most that
  the presence of the event type (and every arrangement about it) can be worth, errors allowed for, and never
  more than what is left to tell of the label once the rest of the boundary is known. Sequences with nothing
  to compare them with count in full for the claim. So an edge is refuted only where an effect as large as the
  claimed one would have been seen; where the test has no power, phase 1 is believed.
- A claim below twice `min_gain` cannot stand by itself and must be confirmed. An edge without a claim (of a
  graph that knows no frequency or strength) must have room for `min_gain`.
- The model of an **untrusted** label did no better than the base rate on held-out sequences, so phase 1 is
  no witness. Its edges need a p-value of at most `alpha` and the least gain; those that have not are dropped
  one by one, the smallest gain first, so that of twins that explain each other one stays.

Confirmed edges stay; of the others those stay that are not refuted. Before that each boundary may
grow by event types that are missing: those must be confirmed, with a Bonferroni correction for all
pairs.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, DataError
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.knowledge import Resolved
from eventcargo.verify.claims import Claim
from eventcargo.verify.forward import forward_select
from eventcargo.verify.label_test import LabelTest, VerifyData


@dataclass(frozen=True)
class VerifyConfig:
    """Settings of the test of a graph on the data."""

    alpha: float = 0.05
    "Rate of false discoveries among confirmed edges; an added edge is tested at alpha divided by all pairs."
    min_gain: float = 0.05
    "Nats an edge must be worth for each sequence that carries its label."
    rounds: int = 6
    "Event types that may be added to a boundary; 0 adds none."

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise ConfigError(f"alpha={self.alpha} must lie between 0 and 1")
        if not 0 < self.min_gain < np.inf:
            raise ConfigError(f"min_gain={self.min_gain} must be above 0, in nats")
        if self.rounds < 0:
            raise ConfigError(f"rounds={self.rounds} must be 0 (nothing is added) or more")


def verify(
    graph: LabelGraph,
    data: EventDataset,
    config: VerifyConfig | None = None,
    knowledge: Resolved | None = None,
    untrusted: Collection[str] = (),
) -> LabelGraph:
    """The graph with p-values and gains, without the edges the data refute and with those that were missing.

    The gain, by which boundaries are ordered, is what the data say the event type is worth, in nats for each
    sequence that carries the label. The p-value is null where no test could be made. An added edge has no
    frequency; its strength is its gain. Required edges stay, forbidden ones are not added. For `untrusted`
    labels, whose model is no witness, the data alone decide.

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
    ground = VerifyData(data)
    required = frozenset[tuple[str, str]]() if knowledge is None else knowledge.required
    label_tests = _label_tests(graph, ground, config, required)
    allowed = None if knowledge is None else knowledge.table(data.label_names, data.event_names)
    forward_select(label_tests, config.rounds, config.alpha, allowed)
    asked = [label_test for label_test in label_tests if label_test.claims]
    level = config.alpha / max(1, sum(len(label_test.claims) for label_test in asked))
    for label_test in asked:
        label_test.ask(level)
        if label_test.name in untrusted:
            label_test.backward_eliminate(level, config.alpha)
    return _graph(graph, data, _kept(asked, config.alpha))


def _check_names(graph: LabelGraph, data: EventDataset) -> None:
    for column, known in (("label", data.label_names), ("event", data.event_names)):
        unknown = sorted(set(graph.edges[column].to_list()) - set(known))
        if unknown:
            raise DataError(
                f"{len(unknown):,} {column} names are not in the data, the first: {unknown[0]!r}; "
                "verify a graph on the data it was found in, or on others of the same kind"
            )


def _label_tests(
    graph: LabelGraph, ground: VerifyData, config: VerifyConfig, required: frozenset[tuple[str, str]]
) -> list[LabelTest]:
    """One test for each label of the data."""
    numbers = {name: number for number, name in enumerate(ground.data.event_names)}
    supports = [len(positives) for positives in ground.positives]
    label_tests = [
        LabelTest(ground, label, [], config.min_gain * support) for label, support in enumerate(supports)
    ]
    places = {name: number for number, name in enumerate(ground.data.label_names)}
    columns = ("label", "event", "frequency", "strength", "sign")
    for label, event, frequency, strength, sign in graph.edges.select(columns).iter_rows():
        at = places[label]
        votes = None if frequency is None else frequency * supports[at]
        claim = Claim(numbers[event], votes, strength, 0 if sign is None else sign, label_tests[at].least)
        claim.is_required = (label, event) in required
        label_tests[at].claims.append(claim)
    return label_tests


def _kept(asked: list[LabelTest], alpha: float) -> list[tuple[str, str, Claim]]:
    """Label, event type and claim of the edges that stay."""
    pairs = [(label_test, claim) for label_test in asked for claim in label_test.claims]
    passed = _discoveries([claim.p_value for _, claim in pairs], alpha)
    kept = []
    for (label_test, claim), is_discovery in zip(pairs, passed, strict=True):
        is_confirmed = is_discovery and claim.gain >= claim.least
        if is_confirmed or claim.is_required or not (claim.is_new or claim.refuted):
            kept.append((label_test.name, label_test.ground.data.event_names[claim.event], claim))
    return kept


def _discoveries(p_values: list[float | None], alpha: float) -> NDArray[np.bool_]:
    """Which p-values Benjamini and Hochberg's procedure takes for discoveries; none where it is None."""
    given = np.array([np.inf if p_value is None else p_value for p_value in p_values])
    tested = np.sort(given[np.isfinite(given)])
    below = np.flatnonzero(tested <= alpha * np.arange(1, len(tested) + 1) / max(1, len(tested)))
    largest = tested[below[-1]] if len(below) else -1.0
    passed: NDArray[np.bool_] = given <= largest
    return passed


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
