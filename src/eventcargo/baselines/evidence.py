"""Statistics of each member of a boundary, given the other members.

They are the same for every method, so that graphs can be compared: strength is the conditional mutual
information in nats, effect the change of the label's probability (Mantel-Haenszel risk difference over the
strata of the other members), both given the rest of the boundary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eventcargo.statistics.g2 import IndependenceTest, Target


@dataclass(frozen=True)
class EdgeStatistics:
    """The statistics of one edge."""

    strength: float
    effect: float
    p_value: float

    @property
    def sign(self) -> int:
        return int(np.sign(self.effect))


def edge_statistics(
    test: IndependenceTest, target: Target, boundary: Sequence[int], member: int
) -> EdgeStatistics:
    """The statistics of one member of a boundary, given the others."""
    rest = [other for other in boundary if other != member]
    tests = test(target, rest, np.array([member]))
    return EdgeStatistics(
        strength=float(tests.g2[0]) / (2.0 * test.counts.n_sequences),
        effect=_risk_difference(test, target, rest, member),
        p_value=float(tests.p_value[0]),
    )


def _risk_difference(test: IndependenceTest, target: Target, rest: Sequence[int], member: int) -> float:
    """Mean over strata of P(label | event) - P(label | no event), weighted by each stratum's precision."""
    (tables,) = test.counts.tables(target.rows, rest, np.array([member]))
    present = tables.present[:, :, 0].astype(float)  # (strata, 2)
    absent = tables.sizes - present
    with_event, without = present.sum(axis=1), absent.sum(axis=1)
    total = with_event + without
    weight = (with_event * without / total).sum()
    if weight == 0:
        return 0.0
    return float(((present[:, 1] * without - absent[:, 1] * with_event) / total).sum() / weight)
