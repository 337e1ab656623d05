"""fuse: the votes of all sequences become one graph, by the rule that is asked for."""

from collections.abc import Callable, Mapping

import polars as pl

from eventcargo.edges import EdgeTable
from eventcargo.errors import ConfigError, DataError
from eventcargo.events import EventDataset
from eventcargo.fusion.beta import expected_fpr
from eventcargo.fusion.caig import bes, caig
from eventcargo.fusion.intervals import jeffreys
from eventcargo.fusion.poll import Poll
from eventcargo.fusion.selection import PAIR, by_confidence, by_frequency, by_information, check_information
from eventcargo.fusion.settings import FuseConfig
from eventcargo.fusion.thresholds import adaptive, static, union
from eventcargo.fusion.verify import verify
from eventcargo.graphs import LabelGraph
from eventcargo.knowledge import Knowledge, Resolved

Support = Mapping[str, int]
Thresholds = Callable[[Support, FuseConfig], dict[str, float]]

BY_FREQUENCY: dict[str, Thresholds] = {
    "union": lambda support, _: union(support),
    "static": lambda support, config: static(support, config.tau),
    "adaptive": lambda support, config: adaptive(support, config.tau_max, config.tau_min),
}
BY_INFORMATION = ("fpr", "bes", "caig")


def fuse(
    votes: Poll | EdgeTable,
    config: FuseConfig | None = None,
    *,
    data: EventDataset | None = None,
    knowledge: Knowledge | Resolved | None = None,
) -> LabelGraph:
    """The graph of all labels.

    An edge that `knowledge` does not allow is never in it, one that it requires always is, with the frequency
    0 where it was never found. The paper's rules count votes of sequences that carry the label, `confident`
    those of all. The support of a label is the number of sequences that carry it and were tested. With
    `verify` the edges are then tested on the `data`.

    >>> from eventcargo.edges import EDGES, SUPPORT, CHANCES
    >>> kind = {"test": "total", "polarity": "present", "label": "brake"}
    >>> edge = {"event": "P01", "strength": 1.0, "effect": 0.5, **kind}
    >>> edges = [{"sequence": f"s{n}", **edge} for n in range(4)]
    >>> tested = {"sequences": 5, **kind}
    >>> frames = [(edges, EDGES), ([tested], SUPPORT), ([{**tested, "event": "P01"}], CHANCES)]
    >>> graph = fuse(EdgeTable(*(pl.DataFrame(rows, schema=schema) for rows, schema in frames)))
    >>> graph.edges.select("label", "event", "sign", "frequency", "agreement").row(0)
    ('brake', 'P01', 1, 0.8, 1.0)
    """
    config = config or FuseConfig()
    poll = Poll.of(votes) if isinstance(votes, EdgeTable) else votes
    if not poll.votes:
        raise DataError("there are no votes: no label was tested in any sequence")
    test = poll.tests[-1] if config.test == "auto" else config.test
    polarities = ("present", "absent") if config.rule == "confident" else ("present",)
    rows, support = poll.table(test, polarities), poll.support(test)
    known = _resolved(knowledge, poll, list(support), data)
    rows = _permitted(rows, known)
    edges = _signed(_kept(rows, support, poll, config))
    graph = LabelGraph.from_edges(_completed(edges, support, known), support)
    if not config.verify or data is None:
        return graph
    return verify(graph, data, knowledge=known, doubted=poll.plan.get("untrusted", ()))


def _kept(rows: pl.DataFrame, support: Support, poll: Poll, config: FuseConfig) -> pl.DataFrame:
    """The edges that the rule keeps, and those that are required."""
    if config.rule == "confident":
        return by_confidence(rows, config.least, config.opportunity)
    if config.rule in BY_FREQUENCY:
        return by_frequency(rows, BY_FREQUENCY[config.rule](support, config))
    return by_information(rows, _costs(rows, support, poll, config))


def _costs(rows: pl.DataFrame, support: Support, poll: Poll, config: FuseConfig) -> dict[str, float]:
    """The mutual information that an edge of each label has to exceed."""
    if config.rule == "bes":
        return bes(support)
    if config.rule == "fpr":
        check_information(rows)
        return bes(support, expected_fpr(rows["information"], config.fpr) if len(rows) else 0.0)
    if poll.n_sequences is None:
        raise ConfigError("rule='caig' needs the number of all sequences, which these edges do not tell")
    return caig(support, poll.n_sequences, config.penalty)


def _resolved(
    knowledge: Knowledge | Resolved | None, poll: Poll, labels: list[str], data: EventDataset | None
) -> Resolved | None:
    """What is known of the pairs of names that the data, or else the votes, have."""
    if not isinstance(knowledge, Knowledge):
        return knowledge
    return knowledge.resolve(labels, poll.event_names if data is None else list(data.event_names))


def _permitted(rows: pl.DataFrame, known: Resolved | None) -> pl.DataFrame:
    """Rows of edges that may be, with whether they have to be."""
    if known is None:
        return rows.with_columns(required=pl.lit(False))
    labels, events = (rows[name].unique().to_list() for name in PAIR)
    barred = (~known.table(labels, events)).nonzero()
    pairs = {"label": [labels[at] for at in barred[0]], "event": [events[at] for at in barred[1]]}
    out = pl.DataFrame(pairs, schema=dict.fromkeys(PAIR, pl.String))
    return (
        rows.join(out, on=PAIR, how="anti", maintain_order="left")
        .join(_required(known), on=PAIR, how="left", maintain_order="left")
        .with_columns(pl.col("required").fill_null(False))
    )


def _required(known: Resolved) -> pl.DataFrame:
    schema = {"label": pl.String, "event": pl.String}
    pairs = pl.DataFrame(sorted(known.required), schema=schema, orient="row")
    return pairs.with_columns(required=pl.lit(True))


def _signed(edges: pl.DataFrame) -> pl.DataFrame:
    """Edges with the sign of their mean effect, and the share of votes that agree with it."""
    share = pl.col("promoting") / pl.col("votes")
    sign = pl.col("effect").sign().cast(pl.Int8)
    agreement = pl.when(sign > 0).then(share).when(sign < 0).then(1 - share)
    return edges.with_columns(sign=sign, agreement=agreement)


def _completed(edges: pl.DataFrame, support: Support, known: Resolved | None) -> pl.DataFrame:
    """Edges with the support of their label, and the required ones that have no vote."""
    counts = pl.DataFrame({"label": list(support), "support": list(support.values())})
    found = edges.drop("support", strict=False)
    if known is not None and known.required:
        never = _required(known).join(found, on=PAIR, how="anti").drop("required")
        never = never.join(counts, on="label", how="left").with_columns(
            frequency=0.0, ci_low=0.0, stability=1.0
        )
        high = jeffreys(0, never["support"].fill_null(0).to_numpy())[1]
        found = pl.concat(
            [found, never.drop("support").with_columns(ci_high=pl.Series(high))], how="diagonal"
        )
    return found.join(counts, on="label", how="left", maintain_order="left")
