"""The G2 test of conditional independence, for a target against every event type at once.

G2 = 2 * sum over strata and cells of n * log(n * n_stratum / (n_row * n_column)), compared with a chi-square
distribution. Degrees of freedom: with `dof="observed"` one for each stratum in which both the target and
the candidate vary (empty strata carry no information and must cost none); with `dof="full"` 2 to the size of
the condition set, as textbooks and pyCausalFS have it. Small samples: a test is made only if the telling
strata hold at least `min_rows_per_dof` sequences for each degree of freedom; otherwise p = 1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import gammaincc, gammainccinv

from eventcargo.errors import ConfigError
from eventcargo.statistics.contingency import Contingency, Rows, Tables


@dataclass(frozen=True)
class Target:
    """What a boundary is asked for: a label, or (with `column`) an event type among the candidates.

    Labels are sinks: nothing follows from them, so they have neither children nor spouses.
    """

    rows: Rows
    column: int | None = None

    @property
    def itself(self) -> list[int]:
        """The columns that are no candidates because they are the target."""
        return [] if self.column is None else [self.column]


@dataclass(frozen=True)
class G2Tests:
    """How candidates depend on a target: `g2` and its degrees of freedom, 0 where no test can be made."""

    candidates: NDArray[np.int64]
    g2: NDArray[np.float64]
    dof: NDArray[np.int64]

    @cached_property
    def p_value(self) -> NDArray[np.float64]:
        """p of every candidate; 1 where no test can be made."""
        p_value = np.ones_like(self.g2)
        tested = self.dof > 0
        p_value[tested] = gammaincc(self.dof[tested] / 2.0, self.g2[tested] / 2.0)
        return p_value

    def holds(self, alpha: float) -> NDArray[np.bool_]:
        """Which candidates have p <= alpha; decided by critical values, which is much faster than p."""
        critical = _critical_values(alpha, int(self.dof.max(initial=0)))
        return self.g2 >= critical[self.dof]

    def strongest(self, alpha: float, exclude: Sequence[int] = ()) -> int | None:
        """The candidate with the largest G2 among those with p <= alpha; the first of equals."""
        allowed = self.holds(alpha) & ~np.isin(self.candidates, exclude)
        if not allowed.any():
            return None
        return int(self.candidates[np.argmax(np.where(allowed, self.g2, -1.0))])


@lru_cache(maxsize=2)
def _n_log_n(largest: int) -> NDArray[np.float64]:
    """n log n for the whole numbers up to `largest`."""
    integers = np.arange(largest + 1, dtype=np.float64)
    return integers * np.log(np.maximum(integers, 1.0))


@lru_cache(maxsize=64)
def _critical_values(alpha: float, largest: int) -> NDArray[np.float64]:
    """The G2 at which p = alpha, for 0 to `largest` degrees of freedom; none is enough for 0."""
    dof = np.arange(1, largest + 1)
    return np.concatenate([[np.inf], 2.0 * gammainccinv(dof / 2.0, alpha)])


class IndependenceTest:
    """Is a target independent of an event type, given others? Asked for all event types at once."""

    def __init__(
        self,
        presence: sp.csr_array | Contingency,
        dof: Literal["observed", "full"] = "observed",
        min_rows_per_dof: float = 5.0,
    ) -> None:
        if dof not in ("observed", "full"):
            raise ConfigError(f"dof={dof!r} is unknown; use 'observed' or 'full'")
        if min_rows_per_dof < 0:
            raise ConfigError(f"min_rows_per_dof={min_rows_per_dof} must be 0 or more")
        self.counts = presence if isinstance(presence, Contingency) else Contingency(presence)
        self.dof = dof
        self.min_rows_per_dof = min_rows_per_dof
        self._n_log_n = _n_log_n(self.counts.n_sequences)

    def event(self, column: int) -> Target:
        """An event type as a target."""
        return Target(self.counts.rows(column), column)

    def local(self, target: Target, columns: NDArray[np.int64]) -> tuple["IndependenceTest", Target]:
        """The same test among a few event types, renumbered 0, 1, ...; for many questions on them."""
        counts, rows = self.counts.local(target.rows, columns)
        return IndependenceTest(counts, self.dof, self.min_rows_per_dof), Target(rows)

    def __call__(
        self, target: Target, condition: Sequence[int] = (), candidates: NDArray[np.int64] | None = None
    ) -> G2Tests:
        """Test the target against the candidates (default: all event types) given the condition set."""
        blocks = self.counts.tables(target.rows, condition, candidates)
        return _joined([self._test(tables, len(condition)) for tables in blocks])

    def many(self, questions: Sequence[tuple[Target, Sequence[int]]]) -> Iterator[G2Tests]:
        """G2Tests of several (target, condition) questions against all event types, from one product."""
        asked = [(target.rows, condition) for target, condition in questions]
        for (_, condition), blocks in zip(asked, self.counts.tables_of_many(asked), strict=True):
            yield _joined([self._test(tables, len(condition)) for tables in blocks])

    def p_value(self, target: Target, column: int, condition: Sequence[int]) -> float:
        """p of one event type given the condition set."""
        return float(self(target, condition, np.array([column])).p_value[0])

    def _test(self, tables: Tables, n_condition: int) -> G2Tests:
        strata = tables.sizes.sum(axis=1)
        with_event = tables.present[:, 0] + tables.present[:, 1]  # (strata, candidates)
        varies = (with_event > 0) & (with_event < strata[:, None])
        dof = np.count_nonzero(varies, axis=0)
        if self.dof == "full":
            dof = np.where(dof > 0, 2**n_condition, 0)
        if (strata < self.min_rows_per_dof).any() or self.dof == "full":
            rows = strata.astype(np.float64) @ varies
            dof = np.where(rows >= self.min_rows_per_dof * dof, dof, 0)
        return G2Tests(tables.candidates, self._g2(tables, with_event, strata), dof)

    def _g2(
        self, tables: Tables, with_event: NDArray[np.int64], strata: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """G2 as a sum of n log n terms, looked up for whole numbers."""
        f, present, sizes = self._n_log_n, tables.present, tables.sizes
        absent = sizes[:, :, None] - present
        cells = f[present].sum(axis=(0, 1)) + f[absent].sum(axis=(0, 1))
        columns = f[with_event].sum(axis=0) + f[strata[:, None] - with_event].sum(axis=0)
        constant = f[strata].sum() - f[sizes].sum()
        # rounding can leave a trace below zero where the truth is zero
        return np.maximum(2.0 * (cells - columns + constant), 0.0)


def _joined(parts: list[G2Tests]) -> G2Tests:
    if len(parts) == 1:
        return parts[0]
    return G2Tests(
        np.concatenate([part.candidates for part in parts]),
        np.concatenate([part.g2 for part in parts]),
        np.concatenate([part.dof for part in parts]),
    )
