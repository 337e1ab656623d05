"""fuse: the votes of all sequences become one graph, by the rule that is asked for."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import betainc

from eventcargo.edges import EdgeTable
from eventcargo.errors import ConfigError, DataError
from eventcargo.fusion.confidence import Border, lower_end_border, share_border, stability
from eventcargo.fusion.config import FuseConfig
from eventcargo.fusion.criteria import adaptive, bes, caig, exceeds, expected_fpr, static, union
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
    """The graph of all labels.

    An edge that `knowledge` does not allow is never in it, one that it requires always is, with the frequency
    0 where it was never found. The paper's rules count votes of sequences that carry the label, `confident`
    those of all. The support of a label is the number of sequences that carry it and were tested.

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
        raise DataError("there are no votes: no label was tested in any sequence")
    test = store.tests[-1] if config.test == "auto" else config.test
    polarities = ("present", "absent") if config.criterion == "confident" else ("present",)
    rows, support = store.table(test, polarities), store.support(test)
    known = _resolved(knowledge, store, list(support))
    rows = _permitted(rows, known)
    edges = _signed(_kept(rows, support, store, config))
    return LabelGraph.from_edges(_completed(edges, support, known), support)


def fuse_run(
    run: str | Path, config: FuseConfig | None = None, *, knowledge: Knowledge | Resolved | None = None
) -> LabelGraph:
    """The graph of a run's votes; they are counted from RUN/edges unless RUN/votes holds them already."""
    return fuse(run_votes(Path(run)), config, knowledge=knowledge)


def _kept(rows: pl.DataFrame, support: Support, store: VoteStore, config: FuseConfig) -> pl.DataFrame:
    """The edges that the rule keeps, and those that are required."""
    if config.criterion == "confident":
        return by_confidence(rows, config.least, config.opportunity)
    if config.criterion in BY_FREQUENCY:
        return by_frequency(rows, BY_FREQUENCY[config.criterion](support, config))
    return by_information(rows, _costs(rows, support, store, config))


def _costs(rows: pl.DataFrame, support: Support, store: VoteStore, config: FuseConfig) -> dict[str, float]:
    """The mutual information that an edge of each label has to exceed."""
    if config.criterion == "bes":
        return bes(support)
    if config.criterion == "fpr":
        check_information(rows)
        return bes(support, expected_fpr(rows["information"], config.fpr) if len(rows) else 0.0)
    if store.n_sequences is None:
        raise ConfigError("criterion='caig' needs the number of all sequences, which these edges do not tell")
    return caig(support, store.n_sequences, config.penalty)


def _resolved(knowledge: Knowledge | Resolved | None, store: VoteStore, labels: list[str]) -> Resolved | None:
    """What is known of the pairs of names that the votes have."""
    if not isinstance(knowledge, Knowledge):
        return knowledge
    return knowledge.resolve(labels, store.event_names)


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


Floats = NDArray[np.float64]

PAIR = ["label", "event"]
TAIL = (1 - LEVEL) / 2
"""Chance that the true share is below the interval of `LEVEL`."""

MIN_VOTES = 2
"""Votes that make an edge sure at least: the interval of one of one begins far above 0."""


def by_frequency(rows: pl.DataFrame, thresholds: Mapping[str, float]) -> pl.DataFrame:
    """The edges whose frequency is at least the threshold of their label."""
    found = _with_thresholds(rows, thresholds)
    kept = found.filter((pl.col("frequency") >= pl.col("threshold")) | pl.col("required"))
    border = share_border(kept["threshold"].to_numpy())
    return _described(kept, _stability(kept, border, _any_misses))


def by_information(rows: pl.DataFrame, costs: Mapping[str, float]) -> pl.DataFrame:
    """The edges whose mutual information is above the cost of their label; their stability is not known."""
    check_information(rows)
    worth = exceeds(rows["label"].to_list(), rows["information"].to_numpy(), costs)
    kept = _with_thresholds(rows, costs).filter(pl.Series(worth) | pl.col("required"))
    return _described(kept, pl.repeat(None, len(kept), dtype=pl.Float64, eager=True))


def check_information(rows: pl.DataFrame) -> None:
    """Refuse edges of which the mutual information is not known."""
    unknown = rows["information"].null_count()
    if unknown:
        raise DataError(
            f"the information of {unknown:,} of {len(rows):,} edges is not known; extract the edges again, "
            "or choose a rule by frequency"
        )


def by_confidence(rows: pl.DataFrame, least: float, opportunity: float) -> pl.DataFrame:
    """The edges that are surely found often enough where the label is present, or where it is absent.

    Surely: Jeffreys' interval of votes / support begins at `least` or above, and that of votes / exposed at
    `opportunity`, and there are two votes. So the rarer the label, the larger the share that is needed.
    Frequency and interval are those of the polarity where the lower end is higher; strength, effect and sign
    are of the votes of both.
    """
    likely = (pl.col("votes") >= least * pl.col("support")) & (
        pl.col("votes") >= opportunity * pl.col("exposed")
    )
    found = _of_pairs(rows, likely | pl.col("required"))  # the test below is slow
    votes, support, exposed = (found[name].to_numpy() for name in ("votes", "support", "exposed"))
    passes = (votes >= MIN_VOTES) & _begins_at(votes, support, least)
    passes &= _begins_at(votes, exposed, opportunity)
    found = found.with_columns(passes=pl.Series(passes), threshold=pl.lit(least))
    found = _of_pairs(found, pl.col("passes") | pl.col("required"))
    borders = [lower_end_border(share, TAIL, MIN_VOTES) for share in (least, opportunity)]
    return _pooled(_described(found, _stability(found, *borders)))


def _of_pairs(rows: pl.DataFrame, good: pl.Expr) -> pl.DataFrame:
    """The rows of the edges that have a good one."""
    return rows.join(rows.filter(good).select(PAIR).unique(), on=PAIR, how="semi", maintain_order="left")


def _begins_at(found: Floats, tried: Floats, least: float) -> NDArray[np.bool_]:
    """Whether Jeffreys' interval begins at `least` or above."""
    return betainc(found + 0.5, tried - found + 0.5, least) <= TAIL


def _pooled(rows: pl.DataFrame) -> pl.DataFrame:
    """One row for each edge from the rows of its polarities."""
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
        raise DataError(f"{len(missing):,} labels have no threshold, the first: {missing[0]!r}")
    least = pl.DataFrame(
        {"label": list(thresholds), "threshold": list(thresholds.values())},
        schema={"label": pl.String, "threshold": pl.Float64},
    )
    return rows.join(least, on="label", how="left", maintain_order="left")


def _any_misses(votes: Floats, rows: NDArray[np.int64]) -> Floats:  # noqa: ARG001 (a border)
    return np.full(votes.shape, np.inf)


def _stability(rows: pl.DataFrame, of_tested: Border, of_met: Border) -> pl.Series:
    votes, met, tested = (rows[name].to_numpy() for name in ("votes", "exposed", "support"))
    return pl.Series(stability(votes, met, tested, of_tested, of_met))


def _described(rows: pl.DataFrame, stable: pl.Series) -> pl.DataFrame:
    """Rows with the interval of their frequency and their stability; a required edge is always kept."""
    low, high = jeffreys(rows["votes"].to_numpy(), rows["support"].to_numpy())
    told = rows.with_columns(ci_low=pl.Series(low), ci_high=pl.Series(high), stability=stable)
    return told.with_columns(stability=pl.when("required").then(1.0).otherwise("stability"))
