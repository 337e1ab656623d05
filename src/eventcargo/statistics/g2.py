"""The G2 test of conditional independence, of one target against every event type at once.

G2 = 2 * sum over strata and cells of n * log(n * n_stratum / (n_row * n_column)), compared with a chi-square
distribution. Degrees of freedom: with `dof="observed"` one for each stratum in which both the target and
the candidate vary (empty strata carry no information and must cost none); with `dof="full"` 2 to the size of
the condition set, as in textbooks and pyCausalFS. Small samples: a test is made only if these strata hold at
least `min_rows_per_dof` sequences for each degree of freedom; otherwise p = 1.

If sequences come in groups, G2 is divided by the design effect of the pair before it is compared (Rao & Scott
1984), and the smallest sample is counted in groups.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import gammaincc, gammainccinv

from eventcargo.binary_matrix import BinaryMatrix
from eventcargo.errors import ConfigError, argument
from eventcargo.statistics.contingency import Contingency, Rows, Tables
from eventcargo.statistics.design_effect import Groups

MAX_FULL_DOF = 62
"""Largest exponent of 2 in full degrees of freedom: no data set has enough sequences for more."""


@dataclass(frozen=True)
class Target:
    """The target of a boundary: a label, or (with `column`) an event type among the candidates.

    Labels are sinks: they cause nothing, so they have neither children nor spouses.
    """

    rows: Rows
    column: int | None = None

    @property
    def itself(self) -> list[int]:
        """The column of the target itself, which is no candidate; empty for a label."""
        return [] if self.column is None else [self.column]


@dataclass(frozen=True)
class G2Tests:
    """How candidates depend on a target: `g2` and its degrees of freedom, 0 if no test is possible.

    `design_effects` gives the design effects of some candidates, by which their G2 is divided in tests; None:
    sequences are independent.
    """

    candidates: NDArray[np.int64]
    g2: NDArray[np.float64]
    dof: NDArray[np.int64]
    design_effects: Callable[[NDArray[np.int64]], NDArray[np.float64]] | None = None

    @cached_property
    def p_value(self) -> NDArray[np.float64]:
        """The p-value of every candidate; 1 if no test is possible."""
        p_value = np.ones_like(self.g2)
        tested = self.dof > 0
        p_value[tested] = gammaincc(self.dof[tested] / 2.0, self._corrected(tested)[tested] / 2.0)
        return p_value

    def holds(self, alpha: float) -> NDArray[np.bool_]:
        """Which candidates have p <= alpha; compares with critical values, much faster than p-values."""
        critical = self._critical(alpha)
        return self._corrected(self.g2 >= critical) >= critical

    def strongest(self, alpha: float, exclude: Sequence[int] = ()) -> int | None:
        """The candidate with the largest G2 among those with p <= alpha; the first on a tie."""
        critical = self._critical(alpha)
        g2 = self._corrected(self.g2 >= critical)
        allowed = (g2 >= critical) & ~np.isin(self.candidates, exclude)
        if not allowed.any():
            return None
        return int(self.candidates[np.argmax(np.where(allowed, g2, -1.0))])

    def excess(self, which: NDArray[np.bool_]) -> NDArray[np.float64]:
        """G2 beyond its mean under independence; of the candidates `which` by their design effect."""
        mean = self.dof.astype(np.float64)
        if self.design_effects is not None and which.any():
            mean[which] *= self.design_effects(self.candidates[which])
        return self.g2 - mean

    def _critical(self, alpha: float) -> NDArray[np.float64]:
        return _critical_values(alpha, int(self.dof.max(initial=0)))[self.dof]

    def _corrected(self, which: NDArray[np.bool_]) -> NDArray[np.float64]:
        """G2, divided by the design effect, which is 1 or more, for the candidates `which`."""
        if self.design_effects is None or not which.any():
            return self.g2
        g2 = self.g2.copy()
        g2[which] /= self.design_effects(self.candidates[which])
        return g2


@lru_cache(maxsize=2)
def _n_log_n(largest: int) -> NDArray[np.float64]:
    """n log n for the integers from 0 to `largest`."""
    integers = np.arange(largest + 1, dtype=np.float64)
    return integers * np.log(np.maximum(integers, 1.0))


@lru_cache(maxsize=64)
def _critical_values(alpha: float, largest: int) -> NDArray[np.float64]:
    """The G2 at which p = alpha, for 0 to `largest` degrees of freedom; infinite for 0."""
    dof = np.arange(1, largest + 1)
    return np.concatenate([[np.inf], 2.0 * gammainccinv(dof / 2.0, alpha)])


class IndependenceTest:
    """Tests whether a target is independent of an event type given others, for all event types at once.

    `adjusted` event types are in every condition set, so that none of them ever depends on a target.
    """

    def __init__(
        self,
        presence: sp.csr_array | BinaryMatrix | Contingency,
        dof: Literal["observed", "full"] = "observed",
        min_rows_per_dof: float = 5.0,
        groups: Groups = None,
        adjusted: Sequence[int] = (),
    ) -> None:
        """`groups` has the group of each sequence; None: each is its own."""
        if dof not in ("observed", "full"):
            raise ConfigError(f"{argument('dof', dof)} is unknown; use 'observed' or 'full'")
        if min_rows_per_dof < 0:
            raise ConfigError(f"{argument('min_rows_per_dof', min_rows_per_dof)} must be 0 or more")
        if not isinstance(presence, Contingency):
            presence = Contingency(presence, groups=groups)
        self.counts = presence
        self.dof = dof
        self.min_rows_per_dof = min_rows_per_dof
        self.adjusted = list(adjusted)
        self._n_log_n = _n_log_n(self.counts.n_sequences)

    def event(self, column: int) -> Target:
        """An event type as a target."""
        return Target(self.counts.rows(column), column)

    def local(self, target: Target, columns: NDArray[np.int64]) -> tuple["IndependenceTest", Target]:
        """The same test on a few event types, renumbered 0, 1, ...: faster if they are tested often.

        The adjusted event types come after them.
        """
        every = np.concatenate([columns, np.array(self.adjusted, np.int64)])
        counts, rows = self.counts.local(target.rows, every)
        adjusted = range(len(columns), len(every))
        return IndependenceTest(counts, self.dof, self.min_rows_per_dof, adjusted=adjusted), Target(rows)

    def __call__(
        self, target: Target, condition: Sequence[int] = (), candidates: NDArray[np.int64] | None = None
    ) -> G2Tests:
        """Test the target against the candidates (default: all event types) given the condition set."""
        condition = self._with_adjusted(condition)
        blocks = self.counts.tables(target.rows, condition, candidates)
        return self._by_group(
            _joined([self._test(tables, len(condition)) for tables in blocks]), target.rows, condition
        )

    def many(self, questions: Sequence[tuple[Target, Sequence[int]]]) -> Iterator[G2Tests]:
        """Test several (target, condition) pairs against all event types, from one sparse product."""
        pairs = [(target.rows, self._with_adjusted(condition)) for target, condition in questions]
        for (rows, condition), blocks in zip(pairs, self.counts.tables_of_many(pairs), strict=True):
            tests = _joined([self._test(tables, len(condition)) for tables in blocks])
            yield self._by_group(tests, rows, condition)

    def _by_group(self, tests: G2Tests, target: Rows, condition: Sequence[int]) -> G2Tests:
        """The tests with the design effects of this target and condition."""
        if self.counts.groups is None:
            return tests
        return replace(
            tests, design_effects=lambda columns: self.counts.design_effects(target, condition, columns)
        )

    def p_value(self, target: Target, column: int, condition: Sequence[int]) -> float:
        """The p-value of one event type given the condition set."""
        return float(self(target, condition, np.array([column])).p_value[0])

    def _with_adjusted(self, condition: Sequence[int]) -> Sequence[int]:
        return [*condition, *self.adjusted] if self.adjusted else condition

    def _test(self, tables: Tables, n_condition: int) -> G2Tests:
        strata = tables.sizes.sum(axis=1)
        with_event = tables.present[:, 0] + tables.present[:, 1]  # (strata, candidates)
        varies = (with_event > 0) & (with_event < strata[:, None])
        dof = np.count_nonzero(varies, axis=0)
        if self.dof == "full":
            dof = np.where(dof > 0, 2 ** min(n_condition, MAX_FULL_DOF), 0)
        if (tables.units < self.min_rows_per_dof).any() or self.dof == "full":
            rows = tables.units.astype(np.float64) @ varies
            dof = np.where(rows >= self.min_rows_per_dof * dof, dof, 0)
        return G2Tests(tables.candidates, self._g2(tables, with_event, strata), dof)

    def _g2(
        self, tables: Tables, with_event: NDArray[np.int64], strata: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """G2 as a sum of n log n terms, looked up in a table."""
        # G2 / 2 = sum over strata of f(cells) - f(candidate margins) - f(target margins) + f(size)
        f, present, sizes = self._n_log_n, tables.present, tables.sizes
        absent = sizes[:, :, None] - present
        cells = f[present].sum(axis=(0, 1)) + f[absent].sum(axis=(0, 1))
        columns = f[with_event].sum(axis=0) + f[strata[:, None] - with_event].sum(axis=0)
        constant = f[strata].sum() - f[sizes].sum()
        # rounding can give a value just below zero
        return np.maximum(2.0 * (cells - columns + constant), 0.0)


def _joined(parts: list[G2Tests]) -> G2Tests:
    if len(parts) == 1:
        return parts[0]
    return G2Tests(
        np.concatenate([part.candidates for part in parts]),
        np.concatenate([part.g2 for part in parts]),
        np.concatenate([part.dof for part in parts]),
    )
