"""LiteralPatterns: which literals hold together, and how many sequences with and without the label show each.

A label looks at a handful of event types that most sequences do not have, so thousands of sequences show the
same pattern; search works on patterns and never on sequences.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from eventcargo.rules.literals import Literal

Figures = NDArray[np.float32]


@dataclass(frozen=True)
class LiteralPatterns:
    """`held[i, q]`: literal i holds in pattern q; `carrying[q]`, `lacking[q]`: sequences with and without."""

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
        """Patterns of `held` (literals, sequences), and of those `elsewhere`, in which no literal
        holds.

        `elsewhere` counts the sequences with and without the label.
        """
        example, which = _distinct(held)
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


def _distinct(held: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """An example of every distinct column, and which of them each column is; 64 rows at a time."""
    example, which = np.zeros(1, np.int64), np.zeros(held.shape[1], np.int64)
    for start in range(0, len(held), 64):
        part = held[start : start + 64]
        rows = np.zeros((64, held.shape[1]), bool)
        rows[: len(part)] = part
        words = np.ascontiguousarray(np.packbits(rows, axis=0).T).view(np.int64).reshape(-1)
        _, numbers = np.unique(words, return_inverse=True)
        joined = which * (int(numbers.max(initial=0)) + 1) + numbers
        _, example, which = np.unique(joined, return_index=True, return_inverse=True)
    return example, which


def log_likelihood(carrying: ArrayLike, lacking: ArrayLike) -> NDArray[np.float64]:
    """Greatest log-likelihood of labels that all have one rate, in nats.

    >>> float(log_likelihood(2, 2).round(3))
    -2.773
    """
    carrying, lacking = np.asarray(carrying, np.float64), np.asarray(lacking, np.float64)
    total = carrying + lacking
    return np.asarray(xlogy(carrying, carrying) + xlogy(lacking, lacking) - xlogy(total, total))


def gain(hits: ArrayLike, alarms: ArrayLike, totals: tuple[float, float]) -> NDArray[np.float64]:
    """How much better two rates fit than one, in nats: inside (hits, false alarms) and outside of a rule.

    Minus infinity where the rate inside is not the higher one: such a rule speaks of the label's absence.
    """
    carrying, lacking = totals
    hits, alarms = np.asarray(hits, np.float64), np.asarray(alarms, np.float64)
    missed, spared = carrying - hits, lacking - alarms
    one = log_likelihood(carrying, lacking)
    fit = log_likelihood(hits, alarms) + log_likelihood(missed, spared) - one
    return np.where(hits * spared > missed * alarms, fit, -np.inf)
