"""Edge tables made by hand."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import polars as pl

from eventcargo import EdgeTable
from eventcargo.edges import EDGES, EXPOSED, GROUP_SUPPORT, GROUP_VOTES, POSITIVES, SUPPORT

Edge = tuple[str, str, str, float]
"""Sequence, label, event and effect."""


def table(
    edges: Iterable[Edge],
    tested: dict[str, int],
    met: dict[tuple[str, str], int],
    polarity: str = "present",
    test: str = "total",
    positives: dict[str, tuple[int, int]] | None = None,
) -> EdgeTable:
    """Edges of strength 0.5, of which a label had a chance of 0.5 before."""
    kind = {"test": test, "polarity": polarity}
    numbers = {"position": 0, "strength": 0.5, "effect_sd": 0.0, "before": 0.5, "entropy": 0.6931472}
    rows = [
        {"sequence": sequence, "label": label, "event": event, "effect": effect, **numbers, **kind}
        for sequence, label, event, effect in edges
    ]
    looked = [{"label": label, "sequences": count, **kind} for label, count in tested.items()]
    exposed = [
        {"label": label, "event": event, "sequences": count, **kind} for (label, event), count in met.items()
    ]
    rates = [
        {"label": label, "positives": count, "sequences": all_of_them}
        for label, (count, all_of_them) in (positives or {}).items()
    ]
    return EdgeTable(
        pl.DataFrame(rows, schema=EDGES),
        pl.DataFrame(looked, schema=SUPPORT),
        pl.DataFrame(exposed, schema=EXPOSED),
        pl.DataFrame(rates, schema=POSITIVES),
    )


def votes(
    counts: dict[tuple[str, str], int], tested: dict[str, int], polarity: str = "present", effect: float = 0.5
) -> EdgeTable:
    """So many votes for each label and event, with as many exposed as votes."""
    edges = [
        (f"{polarity}-{label}-{n}", label, event, effect)
        for (label, event), count in counts.items()
        for n in range(count)
    ]
    return table(edges, tested, counts, polarity)


def by_group(
    voted: np.ndarray,
    groups: np.ndarray | None,
    label: str = "bad",
    met: np.ndarray | None = None,
    name: str = "",
) -> EdgeTable:
    """Sequences of which some vote for `label` <- x, in groups; x occurs in those of `met` (default: all)."""
    met = np.ones(len(voted), bool) if met is None else met
    edges = [(f"{name}{label}-{n}", label, "x", 0.5) for n in np.flatnonzero(voted)]
    plain = table(edges, {label: len(voted)}, {(label, "x"): int(met.sum())})
    if groups is None:
        return plain
    number = np.unique(groups, return_inverse=True)[1]
    v, e, n = (np.bincount(number, each) for each in (voted, met, np.ones(len(voted))))
    kind = {"test": "total", "polarity": "present", "label": label}
    support = {**kind, "groups": len(n), "tested_tested": int(n @ n)}
    sums = {"votes_votes": v @ v, "votes_tested": v @ n, "votes_exposed": v @ e, "exposed_exposed": e @ e}
    counts = {"voting": (v > 0).sum(), "meeting": (e > 0).sum(), **sums}
    votes = {**kind, "event": "x", **{name: int(count) for name, count in counts.items()}}
    return replace(
        plain,
        group_support=pl.DataFrame([support], schema=GROUP_SUPPORT),
        group_votes=pl.DataFrame([votes], schema=GROUP_VOTES),
    )
