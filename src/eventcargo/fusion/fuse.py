"""fuse: turn the votes of all sequences into one graph, by a criterion."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import betainc

from eventcargo.edges import EdgeTable
from eventcargo.errors import ConfigError, DataError, counted
from eventcargo.fusion.confidence import Border, lower_end_border, share_border, stability
from eventcargo.fusion.config import FuseConfig
from eventcargo.fusion.criteria import adaptive, bes, caig, exceeds, expected_fpr, static, union
from eventcargo.fusion.evidence import discovered, evidence_stability, in_nats
from eventcargo.fusion.vote_store import VoteStore, run_votes
from eventcargo.graphs import LabelGraph
from eventcargo.knowledge import Knowledge, Resolved
from eventcargo.statistics.intervals import LEVEL, jeffreys

Support = Mapping[str, int]
Thresholds = Callable[[Support, FuseConfig], dict[str, float]]

BY_FREQUENCY: dict[str, Thresholds] = {
    "union": lambda support, _: union(support),
    "static": lambda support, config: static(support, config.tau),
    "adaptive": lambda support, config: adaptive(support, config.tau_max, config.tau_min),
}
BY_INFORMATION = ("fpr", "bes", "caig")


def fuse(
    votes: VoteStore | EdgeTable,
    config: FuseConfig | None = None,
    *,
    knowledge: Knowledge | Resolved | None = None,
) -> LabelGraph:
    """The graph of all labels whose edges the criterion keeps.

    An edge that `knowledge` does not allow is never in the graph; a required edge always is, with frequency 0
    if it has no vote. The paper's criteria count votes of sequences with the label, `confident` votes of all
    tested sequences. The support of a label is the number of tested sequences that carry it.

    >>> from eventcargo.edges import EDGES, SUPPORT, EXPOSED
    >>> kind = {"test": "total", "polarity": "present", "label": "brake"}
    >>> edge = {"event": "P01", "strength": 1.0, "effect": 0.5, **kind}
    >>> edges = [{"sequence": f"s{n}", **edge} for n in range(4)]
    >>> tested = {"sequences": 5, **kind}
    >>> frames = [(edges, EDGES), ([tested], SUPPORT), ([{**tested, "event": "P01"}], EXPOSED)]
    >>> graph = fuse(EdgeTable(*(pl.DataFrame(rows, schema=schema) for rows, schema in frames)))
    >>> graph.edges.select("label", "event", "sign", "frequency", "agreement").row(0)
    ('brake', 'P01', 1, 0.8, 1.0)
    """
    config = config or FuseConfig()
    store = VoteStore.of(votes) if isinstance(votes, EdgeTable) else votes
    if not store.votes:
        raise DataError("no votes to fuse: no label was tested in any sequence")
    test = store.tests[-1] if config.test == "auto" else config.test
    if config.criterion == "pooled" and not len(store.pooled):
        config = replace(config, criterion="confident")
    polarities = ("present", "absent") if config.criterion in ("pooled", "confident") else ("present",)
    rows, support = store.table(test, polarities), store.support(test)
    known = _resolved(knowledge, store, list(support))
    rows = _permitted(rows, known)
    if len(store.pooled) and known is not None:
        store = replace(store, pooled=_permitted(store.pooled, known).drop("required"))
    edges = _signed(_kept(rows, support, store, config))
    return LabelGraph.from_edges(_completed(edges, support, store.n_groups(test), known), support)


def fuse_run(
    run: str | Path, config: FuseConfig | None = None, *, knowledge: Knowledge | Resolved | None = None
) -> LabelGraph:
    """The graph of a run's votes, counted from RUN/edges unless RUN/votes already holds their votes."""
    return fuse(run_votes(Path(run)), config, knowledge=knowledge)


def _kept(rows: pl.DataFrame, support: Support, store: VoteStore, config: FuseConfig) -> pl.DataFrame:
    """The edges that the criterion keeps, and the required ones."""
    if config.criterion == "pooled":
        return by_evidence(rows, store, support, config)
    if config.criterion == "confident":
        return by_confidence(rows, config.min_frequency, config.min_opportunity)
    if config.criterion in BY_FREQUENCY:
        return by_frequency(rows, BY_FREQUENCY[config.criterion](support, config))
    return by_information(rows, _costs(rows, support, store, config))


def _costs(rows: pl.DataFrame, support: Support, store: VoteStore, config: FuseConfig) -> dict[str, float]:
    """The mutual information that an edge of each label must exceed."""
    if config.criterion == "bes":
        return bes(support)
    if config.criterion == "fpr":
        check_information(rows)
        return bes(support, expected_fpr(rows["information"], config.fpr) if len(rows) else 0.0)
    if not store.label_sequences:
        raise ConfigError(
            "criterion='caig' needs the number of all sequences, which these edges do not record; choose "
            "another criterion"
        )
    return caig(support, store.label_sequences, config.penalty)


def _resolved(knowledge: Knowledge | Resolved | None, store: VoteStore, labels: list[str]) -> Resolved | None:
    """Knowledge resolved for the names that the votes have."""
    if not isinstance(knowledge, Knowledge):
        return knowledge
    return knowledge.resolve(labels, store.event_names)


def _permitted(rows: pl.DataFrame, known: Resolved | None) -> pl.DataFrame:
    """The rows of edges that knowledge allows, with a column `required`."""
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
    """Edges with the sign of their mean effect and the share of votes that agree with it."""
    share = pl.when(pl.col("votes") > 0).then(pl.col("promoting") / pl.col("votes"))
    sign = pl.col("effect").sign().cast(pl.Int8)
    agreement = pl.when(sign > 0).then(share).when(sign < 0).then(1 - share)
    return edges.with_columns(sign=sign, agreement=agreement)


def _completed(
    edges: pl.DataFrame, support: Support, n_groups: Support, known: Resolved | None
) -> pl.DataFrame:
    """Edges with the support of their label, and the required edges without a vote."""
    counts = pl.DataFrame({"label": list(support), "support": list(support.values())})
    completed = edges.drop("support", strict=False)
    if known is not None and known.required:
        never = _required(known).join(completed, on=PAIR, how="anti").drop("required")
        never = never.with_columns(frequency=0.0, ci_low=0.0, stability=1.0)
        high = jeffreys(0, [n_groups.get(label, 0) for label in never["label"]])[1]
        completed = pl.concat([completed, never.with_columns(ci_high=pl.Series(high))], how="diagonal")
    return completed.join(counts, on="label", how="left", maintain_order="left")


Floats = NDArray[np.float64]

PAIR = ["label", "event"]
TAIL = (1 - LEVEL) / 2
"""Probability that the true share lies below the interval of `LEVEL`."""

MIN_VOTES = 2
"""Fewest votes of a sure edge: the interval of one vote in one sequence already begins far above 0."""


def by_frequency(rows: pl.DataFrame, thresholds: Mapping[str, float]) -> pl.DataFrame:
    """The edges whose frequency reaches the threshold of their label."""
    edges = _with_thresholds(rows, thresholds)
    edges = edges.filter((pl.col("frequency") >= pl.col("threshold")) | pl.col("required"))
    border = share_border(edges["threshold"].to_numpy())
    return _described(edges, _stability(edges, border, _any_misses))


def by_information(rows: pl.DataFrame, costs: Mapping[str, float]) -> pl.DataFrame:
    """The edges whose mutual information exceeds the cost of their label; their stability is unknown."""
    check_information(rows)
    worth = exceeds(rows["label"].to_list(), rows["information"].to_numpy(), costs)
    edges = _with_thresholds(rows, costs).filter(pl.Series(worth) | pl.col("required"))
    return _described(edges, pl.repeat(None, len(edges), dtype=pl.Float64, eager=True))


def check_information(rows: pl.DataFrame) -> None:
    """Refuse edges whose mutual information is unknown."""
    unknown = rows["information"].null_count()
    if unknown:
        raise DataError(
            f"the information of {unknown:,} of {counted(len(rows), 'edge')} is unknown; extract the edges "
            "again, or choose a criterion by frequency"
        )


def by_confidence(rows: pl.DataFrame, min_frequency: float, min_opportunity: float) -> pl.DataFrame:
    """The edges that are surely frequent enough where the label is present, or where it is absent.

    Surely: Jeffreys' interval of votes / support begins at `min_frequency` or above, the interval of votes /
    exposed at `min_opportunity` or above, and there are at least two votes, of two groups. So a rarer label
    needs a larger share.
    Frequency and interval are those of the polarity that passes with the higher lower end; strength, effect
    and sign pool the votes of both.
    """
    likely = (pl.col("votes") >= min_frequency * pl.col("support")) & (
        pl.col("votes") >= min_opportunity * pl.col("n_exposed")
    )
    edges = _of_pairs(rows, likely | pl.col("required"))  # first a cheap filter: the test below is slow
    voting = edges["voting" if "voting" in edges.columns else "votes"].to_numpy()
    passes = (voting >= MIN_VOTES) & _begins_at(*_effective(edges, "support"), min_frequency)
    passes &= _begins_at(*_effective(edges, "n_exposed"), min_opportunity)
    edges = edges.with_columns(passes=pl.Series(passes), threshold=pl.lit(min_frequency))
    edges = _of_pairs(edges, pl.col("passes") | pl.col("required"))
    borders = [lower_end_border(share, TAIL, MIN_VOTES) for share in (min_frequency, min_opportunity)]
    return _pooled(_described(edges, _stability(edges, *borders)))


def by_evidence(rows: pl.DataFrame, store: VoteStore, support: Support, config: FuseConfig) -> pl.DataFrame:
    """The edges whose pooled evidence is a discovery, described by their votes if these are sure.

    An edge that evidence alone shows has no frequency and no strength: single sequences do not show it.
    """
    sure = by_confidence(rows, config.min_frequency, config.min_opportunity)
    n_pairs = len(support) * len(store.event_names)
    evident = discovered(in_nats(store.pooled), sure, n_pairs, config.alpha)
    evident = evident.with_columns(by_evidence=evidence_stability(evident))
    edges = evident.join(
        sure.drop("threshold"), on=PAIR, how="full", coalesce=True, maintain_order="left_right"
    )
    edges = edges.filter(pl.col("threshold").is_not_null() | pl.col("required"))
    return edges.with_columns(
        pl.col("required").fill_null(False),
        pl.col("votes", "promoting").fill_null(0),
        effect=pl.col("effect").fill_null(pl.col("mean_effect")),
        stability=pl.max_horizontal("stability", "by_evidence"),
    )


def _of_pairs(rows: pl.DataFrame, good: pl.Expr) -> pl.DataFrame:
    """All rows of the edges that have at least one good row."""
    return rows.join(rows.filter(good).select(PAIR).unique(), on=PAIR, how="semi", maintain_order="left")


def _begins_at(votes: Floats, sequences: Floats, min_frequency: float) -> NDArray[np.bool_]:
    """Whether Jeffreys' interval of votes / sequences begins at `min_frequency` or above."""
    # the lower end is the TAIL quantile of Beta(votes + 1/2, sequences - votes + 1/2)
    return betainc(votes + 0.5, sequences - votes + 0.5, min_frequency) <= TAIL


def _pooled(rows: pl.DataFrame) -> pl.DataFrame:
    """One row for each edge from the rows of its polarities; an edge is kept if either polarity keeps it."""
    votes = pl.col("votes")
    means = [((pl.col(name) * votes).sum() / votes.sum()).alias(name) for name in ("strength", "effect")]
    best = rows.sort(
        *PAIR,
        "passes",
        "ci_low",
        "polarity",
        descending=[False, False, True, True, True],
        maintain_order=True,
    )
    return best.group_by(PAIR, maintain_order=True).agg(
        pl.col("frequency", "threshold", "ci_low", "ci_high", "required").first(),
        *means,
        pl.col("votes", "promoting").sum(),
        stability=1 - (1 - pl.col("stability")).product(),
    )


def _with_thresholds(rows: pl.DataFrame, thresholds: Mapping[str, float]) -> pl.DataFrame:
    missing = sorted(set(rows["label"].unique()) - set(thresholds))
    if missing:
        raise DataError(f"{counted(len(missing), 'label')} without a threshold, the first: {missing[0]!r}")
    min_frequency = pl.DataFrame(
        {"label": list(thresholds), "threshold": list(thresholds.values())},
        schema={"label": pl.String, "threshold": pl.Float64},
    )
    return rows.join(min_frequency, on="label", how="left", maintain_order="left")


def _any_misses(votes: Floats, rows: NDArray[np.int64]) -> Floats:  # noqa: ARG001 (a border)
    return np.full(votes.shape, np.inf)


EFFECTS = {"support": "tested_effect", "n_exposed": "exposed_effect"}
"""The columns with the design effects of votes / support and of votes / exposed."""


def _effective(rows: pl.DataFrame, tried: str) -> tuple[Floats, Floats]:
    """Votes and tried sequences; with groups, those of as many independent sequences."""
    counts = rows["votes"].to_numpy(), rows[tried].to_numpy()
    if EFFECTS[tried] not in rows.columns:
        return counts
    effect = rows[EFFECTS[tried]].to_numpy()
    return counts[0] / effect, counts[1] / effect


def _stability(rows: pl.DataFrame, of_tested: Border, of_met: Border) -> pl.Series:
    votes, met, tested = (rows[name].to_numpy() for name in ("votes", "n_exposed", "support"))
    if "tested_effect" in rows.columns:  # one bootstrap draws both shares: by the larger design effect
        effect = rows.select(pl.max_horizontal(*EFFECTS.values())).to_series().to_numpy()
        votes, met, tested = votes / effect, met / effect, tested / effect
    return pl.Series(stability(votes, met, tested, of_tested, of_met))


def _described(rows: pl.DataFrame, stable: pl.Series) -> pl.DataFrame:
    """Rows with the interval of their frequency and their stability, which is 1 for a required edge."""
    low, high = jeffreys(*_effective(rows, "support"))
    described = rows.with_columns(ci_low=pl.Series(low), ci_high=pl.Series(high), stability=stable)
    return described.with_columns(stability=pl.when("required").then(1.0).otherwise("stability"))
