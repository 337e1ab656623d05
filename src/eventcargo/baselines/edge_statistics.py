"""Statistics of each member of a boundary, given the other members.

They are the same for every method, so that graphs can be compared: strength is the conditional mutual
information in nats, effect the change of the label's probability (Mantel-Haenszel risk difference over the
strata of the other members), both given the rest of the boundary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.statistics.g2 import IndependenceTest, Target
from eventcargo.statistics.risk_difference import risk_difference


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
        effect=risk_difference(_tables(test, target, rest, member)),
        p_value=float(tests.p_value[0]),
    )


def _tables(test: IndependenceTest, target: Target, rest: Sequence[int], member: int) -> NDArray[np.int64]:
    """Numbers of sequences by stratum of the rest, member and label: (strata, 2, 2)."""
    (tables,) = test.counts.tables(target.rows, rest, np.array([member]))
    present = tables.present[:, :, 0]  # (strata, 2)
    return np.stack([tables.sizes - present, present], axis=1)
