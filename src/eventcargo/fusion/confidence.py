"""Stability: in which share of bootstrap samples of the sequences an edge would be kept.

In a Poisson bootstrap every sequence counts a Poisson number of times, of mean 1. Sums of these are Poisson
again: the votes of an edge, the sequences that had the event type and did not vote, and those that had it not
are three independent Poisson numbers, whose means are what was counted. So nothing has to be drawn: the share
is a sum over the numbers these can be. Thresholds that follow from the supports of all labels are held.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, pdtr

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CELLS = 33
"""Groups of the numbers that a Poisson number can be; each is one number where these are few."""

WIDTH = 4.5
"""Standard deviations to either side within which the cells are; the first and the last have the tails."""

AT_ONCE = 500
"""Edges worked on together."""

Border = Callable[[Floats, Ints], Floats]
"""Of numbers of votes (edges, cells) of some edges (by row): the most sequences without a vote, -1: none."""


def stability(votes: Ints, met: Ints, tested: Ints, of_tested: Border, of_met: Border) -> Floats:
    """The share of bootstrap samples in which neither border is passed.

    Parameters
    ----------
    votes, met, tested
        Of each edge: sequences that voted, that had the event type, and in which the label was tested.
    of_tested, of_met
        How many of those tested, and of those met, may have no vote.

    >>> one = np.array([1])
    >>> any_vote = lambda k, rows: np.where(k > 0, np.inf, -1.0)
    >>> stability(one, one, one, any_vote, any_vote).round(3).tolist()  # 1 - exp(-1)
    [0.632]
    """
    found, sure = _clear_cases(votes, met, tested, of_tested, of_met)
    left = np.flatnonzero(~sure)
    for start in range(0, len(left), AT_ONCE):
        rows = left[start : start + AT_ONCE]
        votes_of, missed_of = _Cells(votes[rows]), _Cells((met - votes)[rows])
        most, most_met = (border(votes_of.middle, rows) for border in (of_tested, of_met))
        share = missed_of.share_up_to(np.minimum(most, most_met))  # (edges, votes, missed)
        room = np.maximum(most[:, :, None] - missed_of.middle[:, None, :], 0.0)
        rest = pdtr(room, (tested - met)[rows, None, None].astype(float))
        found[rows] = np.einsum("ek,em,ekm,ekm->e", votes_of.chance, missed_of.chance, share, rest)
    return found.clip(0.0, 1.0)


def _clear_cases(
    votes: Ints, met: Ints, tested: Ints, of_tested: Border, of_met: Border
) -> tuple[Floats, NDArray[np.bool_]]:
    """1 for edges kept even if all numbers are as bad as can be, and for which edges this is so."""
    rows = np.arange(len(votes))
    few = np.floor(np.maximum(votes - _reach(votes), 0))[:, None]
    missed, elsewhere = (n + np.ceil(_reach(n)) for n in (met - votes, tested - met))
    kept = (missed + elsewhere <= of_tested(few, rows)[:, 0]) & (missed <= of_met(few, rows)[:, 0])
    return kept.astype(np.float64), kept


def _reach(mean: Floats | Ints) -> Floats:
    """How far from its mean a Poisson number matters."""
    return WIDTH * np.sqrt(mean) + WIDTH


class _Cells:
    """The numbers that Poisson numbers of these means can be, in cells: (edges, cells) all."""

    def __init__(self, mean: Ints) -> None:
        mu = mean[:, None].astype(np.float64)
        first, last = np.floor(np.maximum(mu - _reach(mu), 0)), np.ceil(mu + _reach(mu))
        self.step = np.ceil((last - first + 1) / CELLS)
        self.start = first + self.step * np.arange(CELLS)
        self.middle = self.start + (self.step - 1) / 2
        below = np.where(self.start > 0, pdtr(np.maximum(self.start - 1, 0), mu), 0.0)
        below[:, 0] = 0.0
        self.chance = np.diff(below, axis=1, append=1.0)

    def share_up_to(self, most: Floats) -> Floats:
        """The share of each cell's numbers that are at most so many: (edges, votes, cells)."""
        within = most[:, :, None] - self.start[:, None, :] + 1
        return (np.floor(within) / self.step[:, None, :]).clip(0.0, 1.0)


def share_border(least: Floats) -> Border:
    """The border of votes / tested >= least, one number for each edge; some vote is needed."""

    def border(k: Floats, rows: Ints) -> Floats:
        tau = least[rows, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.floor(k * (1 - tau) / tau + 1e-9)
        return np.where(k > 0, np.where(tau > 0, most, np.inf), -1.0)

    return border


def lower_end_border(least: float, tail: float, least_votes: int) -> Border:
    """The border of Jeffreys' interval, with the chance `tail` below it, beginning at `least` or above."""

    def border(k: Floats, rows: Ints) -> Floats:  # noqa: ARG001 (the same for all edges)
        numbers, at = np.unique(k, return_inverse=True)
        most = np.where(numbers >= least_votes, _most_misses(numbers, least, tail), -1.0)
        return most[at].reshape(k.shape)

    return border


def _most_misses(k: Floats, least: float, tail: float) -> Floats:
    """The most misses beside k hits, by bisection: the lower end falls with every miss."""
    if least == 0:
        return np.full(len(k), np.inf)
    low, high = np.full(len(k), -1.0), np.ceil((k + 1) / least) + 1
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        good = betainc(k + 0.5, np.maximum(middle, 0) + 0.5, least) <= tail
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return low
