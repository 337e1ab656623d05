"""Edge tables made by hand."""

from collections.abc import Iterable

import polars as pl

from eventcargo import EdgeTable
from eventcargo.edges import EDGES, EXPOSED, POSITIVES, SUPPORT

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
