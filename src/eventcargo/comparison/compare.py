"""compare: what differs between the edges of two runs, by the data of both.

An edge that one search found and the other did not need not have changed: the other may have missed it by
chance. So nothing is concluded from the searches. They say which pairs of a label and an event type to look
at, those that either graph has. Each pair is then measured in the data of both runs, whichever graph has it:

- **effect**: the odds ratio of the event type given the presence of all other event types that either graph
  has for the label (`verification.odds_ratios`), the same adjustment in both;
- **frequency**: the share of the sequences in which the event type occurs.

The difference of both has a 95 % interval (`statistics.difference`) and a p-value that allows for the luck of
the search that found it (`comparison.selection`). An effect has changed only if it has whichever way causes
are taken to combine (`comparison.scales`). A change is reported if its p-value is a discovery among
all pairs looked at (Benjamini & Hochberg), effects and frequencies each among themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from eventcargo.comparison.changes import CHANGES, changes
from eventcargo.comparison.config import CompareConfig
from eventcargo.comparison.frequencies import frequencies
from eventcargo.comparison.scales import Powers, power_p_values, powers
from eventcargo.comparison.selection import Selection, search_threshold
from eventcargo.errors import ConfigError, DataError
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.progress import OnProgress
from eventcargo.statistics.difference import Difference
from eventcargo.statistics.discoveries import discovery_level
from eventcargo.verification.odds_ratios import odds_ratios

Floats = NDArray[np.float64]
Pair = tuple[str, str]

ENDS = ("", "_low", "_high")


@dataclass(frozen=True)
class Side:
    """One of the two runs: its name, graph and data."""

    name: str
    graph: LabelGraph
    data: EventDataset

    @classmethod
    def of(cls, given: Any, name: str) -> "Side":
        """A side from a fitted `Cargo`, or from a pair of graph and data."""
        if isinstance(given, Side):
            return given
        pair = given
        if not isinstance(given, tuple):
            pair = (getattr(given, "graph_", None), getattr(given, "data_", None))
        if len(pair) != 2 or not isinstance(pair[0], LabelGraph) or not isinstance(pair[1], EventDataset):
            raise ConfigError(
                f"{name}, {type(given).__name__}, has no graph or no data; give a Cargo, the folder of a "
                "run, or a pair of graph and data, such as (cargo.graph_, data)"
            )
        return cls(name, *pair)


@dataclass(frozen=True)
class Comparison:
    """The edges of two runs, pair by pair of a label and an event type, in the order of `rank`.

    `edges` has for each pair: `found` (a, b or both: which graph has it), `odds_a` and `odds_b` with `_low`
    and `_high`, `ratio` = odds_b / odds_a with its interval and `p_value`, `frequency_a`, `frequency_b` and
    their `frequency_difference` with interval and `frequency_p_value`, `change` (one of `CHANGES`),
    `frequency_changed`, and `untested`, the reason why an effect could not be compared.
    """

    names: tuple[str, str]
    edges: pl.DataFrame
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    """labels that only the first, and only the second run knows"""
    event_types: tuple[tuple[Pair, ...], tuple[Pair, ...]]
    """edges whose event type only the first, and only the second run knows"""
    alpha: float

    @property
    def changed(self) -> pl.DataFrame:
        """The edges that changed."""
        return self.edges.filter(pl.col("change") != "none")

    @property
    def counts(self) -> dict[str, int]:
        """How many edges have each change."""
        words = self.edges["change"].to_list()
        return {change: words.count(change) for change in CHANGES}

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "a": self.names[0],
            "b": self.names[1],
            "alpha": self.alpha,
            "counts": self.counts,
            "edges": self.edges.to_dicts(),
            "labels_only_a": list(self.labels[0]),
            "labels_only_b": list(self.labels[1]),
            "event_types_only_a": [list(pair) for pair in self.event_types[0]],
            "event_types_only_b": [list(pair) for pair in self.event_types[1]],
        }


def compare(
    a: Any, b: Any, config: CompareConfig | None = None, *, progress: OnProgress | None = None
) -> Comparison:
    """Compare the edges of two runs, each a fitted `Cargo` or a pair of graph and data.

    >>> from eventcargo.simulation import simulate
    >>> fleet = simulate("noisy_or", sequences=4000, labels=2, seed=1)
    >>> halves = [(fleet.truth, fleet.data[:2000]), (fleet.truth, fleet.data[2000:])]
    >>> compare(*halves).counts["none"] == len(fleet.truth)
    True
    """
    first, second, alpha = Side.of(a, "a"), Side.of(b, "b"), (config or CompareConfig()).alpha
    labels = _only(first.data.label_names, second.data.label_names)
    both = [label for label in first.data.label_names if label in set(second.data.label_names)]
    if not both:
        raise DataError(
            f"{first.name} and {second.name} have no label in common; the first labels are "
            f"{_first(first.data.label_names)} and {_first(second.data.label_names)}"
        )
    union = _union(first.graph, second.graph, both)
    pairs = [(label, event) for label, events in union.boundaries.items() for event in events]
    known = [set(side.data.event_names) for side in (first, second)]
    shared = [pair for pair in pairs if all(pair[1] in names for names in known)]
    alone = tuple(
        tuple(p for p in pairs if p[1] in mine and p[1] not in other) for mine, other in (known, known[::-1])
    )
    edges = _tested(first, second, union, shared, alpha, progress)
    return Comparison((first.name, second.name), edges, labels, (alone[0], alone[1]), alpha)


def _first(names: Sequence[str]) -> str:
    return repr(names[0]) if names else "none"


def _only(a: Sequence[str], b: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(sorted(set(a) - set(b))), tuple(sorted(set(b) - set(a)))


def _union(a: LabelGraph, b: LabelGraph, labels: Sequence[str]) -> LabelGraph:
    """The boundaries of both graphs together."""
    own = {label: sorted({*a.boundaries.get(label, ()), *b.boundaries.get(label, ())}) for label in labels}
    return LabelGraph.from_boundaries(own)


def _tested(
    first: Side,
    second: Side,
    union: LabelGraph,
    pairs: Sequence[Pair],
    alpha: float,
    progress: OnProgress | None,
) -> pl.DataFrame:
    """The table of all pairs that both runs know."""
    measured = []
    with threadpool_limits(1, "blas"):  # its products are small
        for at, side in enumerate((first, second)):
            if progress is not None:
                progress("compare", at / 2, 1.0, f"effects in {side.name}")
            measured.append(_Measured.of(side, union, pairs))
    if progress is not None:
        progress("compare", 1.0, 1.0)
    a, b = measured
    graphs = [set(side.graph.edges.select("label", "event").iter_rows()) for side in (first, second)]
    found = [_found(*(pair in graph for graph in graphs)) for pair in pairs]
    effect, share = Difference.of(a.log_odds, b.log_odds), Difference.of(a.share, b.share)
    p_value = _effect_p_values(pairs, np.array(found) == "both", a, b, effect)
    effect_changed, share_changed = (_discoveries(one, alpha) for one in (p_value, share.p_value))
    table = {
        "label": pl.Series([label for label, _ in pairs], dtype=pl.String),
        "event": pl.Series([event for _, event in pairs], dtype=pl.String),
        "found": pl.Series(found, dtype=pl.String),
        "change": pl.Series(
            changes(found, a.log_odds, b.log_odds, effect_changed, share_changed), dtype=pl.String
        ),
        "frequency_changed": share_changed,
        **_three("odds_a", np.exp(a.log_odds)),
        **_three("odds_b", np.exp(b.log_odds)),
        **_three("ratio", np.exp(np.stack([effect.value, effect.low, effect.high]))),
        "p_value": p_value,
        "frequency_a": a.share[0],
        "frequency_b": b.share[0],
        **_three("frequency_difference", np.stack([share.value, share.low, share.high])),
        "frequency_p_value": share.p_value,
        "untested": pl.Series(_untested(first, second, pairs, a.log_odds, b.log_odds), dtype=pl.String),
    }
    return _ranked(pl.DataFrame(table).with_columns(pl.selectors.float().fill_nan(None)))


@dataclass(frozen=True)
class _Measured:
    """The pairs in the data of one run: log odds ratios and shares with intervals, (3, pairs), and powers."""

    log_odds: Floats
    share: Floats
    powers: Powers
    threshold: float
    """what its search asks for, in standard errors"""

    @classmethod
    def of(cls, side: Side, union: LabelGraph, pairs: Sequence[Pair]) -> "_Measured":
        return cls(
            _log_odds(side, union, pairs),
            _frequencies(side, union, pairs),
            powers(side.data, union.boundaries),
            search_threshold(len(side.data.event_names)),
        )


def _effect_p_values(
    pairs: Sequence[Pair], in_both: NDArray[np.bool_], a: _Measured, b: _Measured, effect: Difference
) -> Floats:
    """The p-values of effects: the larger of those on two scales (`comparison.scales`).

    That of a pair that one search alone found allows for its luck.
    """
    luck = Selection.of(a.log_odds, b.log_odds, (a.threshold, b.threshold))
    of_odds = np.where(in_both, effect.p_value, luck.p_value)
    of_power = power_p_values(a.powers, b.powers, pairs, (np.sign(a.log_odds[0]), np.sign(b.log_odds[0])))
    return np.where(np.isnan(of_power), of_odds, np.maximum(of_odds, of_power))


def _three(name: str, values: Floats) -> dict[str, Floats]:
    return {f"{name}{end}": value for end, value in zip(ENDS, values, strict=True)}


def _log_odds(side: Side, union: LabelGraph, pairs: Sequence[Pair]) -> Floats:
    """Log odds ratios and their intervals in the data of one run: (3, pairs)."""
    edges = odds_ratios(union, side.data).edges
    table = {
        (label, event): values
        for label, event, *values in edges.select(
            "label", "event", "odds_ratio", "odds_low", "odds_high"
        ).iter_rows()
    }
    odds = np.array([table[pair] for pair in pairs], np.float64).reshape(-1, 3)
    return np.log(odds).T


def _frequencies(side: Side, union: LabelGraph, pairs: Sequence[Pair]) -> Floats:
    """Shares and their intervals in the data of one run: (3, pairs)."""
    table = frequencies(side.data, union.boundaries)
    return np.array([table[pair] for pair in pairs], np.float64).reshape(-1, 3).T


def _discoveries(p_values: Floats, alpha: float) -> NDArray[np.bool_]:
    """Which p-values are discoveries among those there are."""
    tested = p_values[~np.isnan(p_values)]
    with np.errstate(invalid="ignore"):
        return np.asarray(p_values <= discovery_level(tested.tolist(), alpha, len(tested)))


def _found(in_a: bool, in_b: bool) -> str:
    return "both" if in_a and in_b else "a" if in_a else "b"


def _untested(
    first: Side, second: Side, pairs: Sequence[Pair], odds_a: Floats, odds_b: Floats
) -> list[str | None]:
    """Why effects cannot be compared."""
    support = [side.data.label_support for side in (first, second)]
    reasons: list[str | None] = []
    for at, (label, event) in enumerate(pairs):
        bare = [
            side.name if not own[label] else "" for side, own in zip((first, second), support, strict=True)
        ]
        missing = [side.name for side, odds in ((first, odds_a), (second, odds_b)) if np.isnan(odds[0, at])]
        if any(bare):
            reasons.append(f"no sequence of {' and '.join(filter(None, bare))} carries {label}")
        elif missing:
            reasons.append(
                f"in {' and '.join(missing)} {event} has no odds ratio: it, or the label, does not vary, or "
                "it cannot be told from another event type"
            )
        else:
            reasons.append(None)
    return reasons


def _ranked(edges: pl.DataFrame) -> pl.DataFrame:
    """Changed effects first, then changed frequencies, then the rest; the surest first."""
    rank = (
        pl.when(pl.col("change") == "none").then(2).when(pl.col("change") == "frequency").then(1).otherwise(0)
    )
    return edges.sort([rank, pl.col("p_value"), pl.col("label"), pl.col("event")], nulls_last=True)
