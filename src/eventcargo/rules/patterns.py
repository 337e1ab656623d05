"""LiteralPatterns: which literals hold together, and the number of sequences with and without the label.

A boundary has a handful of event types that most sequences lack, so thousands of sequences share a pattern;
the search works on patterns and never on sequences.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from eventcargo.rules.literals import Literal
from eventcargo.statistics.distinct_rows import distinct_rows

Figures = NDArray[np.float32]


@dataclass(frozen=True)
class LiteralPatterns:
    """`held[i, q]`: literal i holds in pattern q. `carrying`, `lacking`: sequences with/without the label."""

    literals: tuple[Literal, ...]
    held: Figures  # (literals, patterns)
    carrying: Figures
    lacking: Figures

    @classmethod
    def collapse(
        cls,
        literals: tuple[Literal, ...],
        held: NDArray[np.bool_],
        carried: NDArray[np.bool_],
        elsewhere: tuple[int, int] = (0, 0),
    ) -> "LiteralPatterns":
        """Count the patterns of `held` (literals, sequences).

        `elsewhere` adds sequences, with and without the label, in which no literal holds.
        """
        example, which = distinct_rows(held.T)
        nothing = np.zeros((len(literals), 1), np.float32)
        carrying = np.append(np.bincount(which, carried, len(example)), elsewhere[0])
        lacking = np.append(np.bincount(which, ~carried, len(example)), elsewhere[1])
        return cls(
            literals,
            np.concatenate([held[:, example].astype(np.float32), nothing], axis=1),
            carrying.astype(np.float32),
            lacking.astype(np.float32),
        )

    @property
    def totals(self) -> tuple[float, float]:
        """Sequences with and without the label."""
        return float(self.carrying.sum()), float(self.lacking.sum())


def log_likelihood(carrying: ArrayLike, lacking: ArrayLike) -> NDArray[np.float64]:
    """Maximum log-likelihood of labels that share one rate, in nats.

    >>> float(log_likelihood(2, 2).round(3))
    -2.773
    """
    carrying, lacking = np.asarray(carrying, np.float64), np.asarray(lacking, np.float64)
    total = carrying + lacking
    return np.asarray(xlogy(carrying, carrying) + xlogy(lacking, lacking) - xlogy(total, total))


def gain(hits: ArrayLike, alarms: ArrayLike, totals: tuple[float, float]) -> NDArray[np.float64]:
    """Nats by which two rates, inside (hits, false alarms) and outside a rule, fit better than one.

    Minus infinity unless the rate inside is higher: such a rule would describe the label's absence.
    """
    carrying, lacking = totals
    hits, alarms = np.asarray(hits, np.float64), np.asarray(alarms, np.float64)
    missed, spared = carrying - hits, lacking - alarms
    one = log_likelihood(carrying, lacking)
    fit = log_likelihood(hits, alarms) + log_likelihood(missed, spared) - one
    return np.where(hits * spared > missed * alarms, fit, -np.inf)
