"""Stability: the share of bootstrap samples of the sequences in which an edge is kept, in closed form.

In a Poisson bootstrap (Hanley & MacGibbon 2006) every sequence counts Poisson(1) times. Sums of Poisson
variables are Poisson again, so an edge's votes, its exposed sequences without a vote and its tested sequences
without the event type are independent Poisson numbers whose means are the observed counts. The share is a sum
over their values and needs no draws. Thresholds that depend on the supports of all labels stay fixed.

If sequences come in groups, the bootstrap draws groups. Counts are then divided by their design effect, which
gives the Poisson numbers the same relative spread as sums over drawn groups.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, pdtr

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CELLS = 33
"""Cells into which the values of a Poisson number are grouped; a cell is one value if there are few."""

WIDTH = 4.5
"""Standard deviations on either side of the mean that the cells cover; the outer cells hold the tails."""

AT_ONCE = 500
"""Edges processed together."""

Border = Callable[[Floats, Ints], Floats]
"""Maps votes (edges, cells) of the edges `rows` to the most misses that keep the edge; -1: none does."""


def stability(
    votes: Ints | Floats, met: Ints | Floats, tested: Ints | Floats, of_tested: Border, of_met: Border
) -> Floats:
    """The share of bootstrap samples in which each edge is kept: neither border is crossed.

    Parameters
    ----------
    votes, met, tested
        Of each edge: sequences that vote, that are exposed, and in which the label is tested; with groups,
        as many independent sequences as they are worth.
    of_tested, of_met
        The most tested, and the most exposed, sequences that may have no vote.

    >>> one = np.array([1])
    >>> any_vote = lambda k, rows: np.where(k > 0, np.inf, -1.0)
    >>> stability(one, one, one, any_vote, any_vote).round(3).tolist()  # 1 - exp(-1)
    [0.632]
    """
    # P(kept) = sum_k P(K = k) sum_{m <= min(a_k, b_k)} P(M = m) P(R <= a_k - m), where K, M, R are Poisson
    # with means votes, met - votes, tested - met, and a_k, b_k are the misses that of_tested and of_met
    # allow. The sums over k and m run over cells of values.
    kept_share, is_certain = _clear_cases(votes, met, tested, of_tested, of_met)
    left = np.flatnonzero(~is_certain)
    for start in range(0, len(left), AT_ONCE):
        rows = left[start : start + AT_ONCE]
        votes_of, missed_of = _Cells(votes[rows]), _Cells((met - votes)[rows])
        max_misses, most_met = (border(votes_of.middle, rows) for border in (of_tested, of_met))
        share = missed_of.share_up_to(np.minimum(max_misses, most_met))  # (edges, votes, missed)
        room = np.maximum(max_misses[:, :, None] - missed_of.middle[:, None, :], 0.0)
        rest = pdtr(room, (tested - met)[rows, None, None].astype(float))
        weights = votes_of.probability, missed_of.probability
        kept_share[rows] = np.einsum("ek,em,ekm,ekm->e", *weights, share, rest)
    return kept_share.clip(0.0, 1.0)


def _clear_cases(
    votes: Ints | Floats, met: Ints | Floats, tested: Ints | Floats, of_tested: Border, of_met: Border
) -> tuple[Floats, NDArray[np.bool_]]:
    """1 for edges kept even at the unfavourable end of every range, else 0; and which edges those are."""
    rows = np.arange(len(votes))
    few = np.floor(np.maximum(votes - _reach(votes), 0))[:, None]
    missed, elsewhere = (n + np.ceil(_reach(n)) for n in (met - votes, tested - met))
    is_certain = (missed + elsewhere <= of_tested(few, rows)[:, 0]) & (missed <= of_met(few, rows)[:, 0])
    return is_certain.astype(np.float64), is_certain


def _reach(mean: Floats | Ints) -> Floats:
    """The distance from its mean beyond which a Poisson number is negligible."""
    return WIDTH * np.sqrt(mean) + WIDTH


class _Cells:
    """The values of Poisson numbers with these means, grouped into cells: (edges, cells) each."""

    def __init__(self, mean: Ints | Floats) -> None:
        mu = mean[:, None].astype(np.float64)
        first, last = np.floor(np.maximum(mu - _reach(mu), 0)), np.ceil(mu + _reach(mu))
        self.step = np.ceil((last - first + 1) / CELLS)
        self.start = first + self.step * np.arange(CELLS)
        self.middle = self.start + (self.step - 1) / 2
        below = np.where(self.start > 0, pdtr(np.maximum(self.start - 1, 0), mu), 0.0)
        below[:, 0] = 0.0
        self.probability = np.diff(below, axis=1, append=1.0)

    def share_up_to(self, max_misses: Floats) -> Floats:
        """The share of each cell's values that are at most `max_misses`: (edges, votes, cells)."""
        within = max_misses[:, :, None] - self.start[:, None, :] + 1
        return (np.floor(within) / self.step[:, None, :]).clip(0.0, 1.0)


def share_border(min_share: Floats) -> Border:
    """The border of votes / tested >= least, with one `min_share` per edge; at least one vote is needed."""

    def border(k: Floats, rows: Ints) -> Floats:
        tau = min_share[rows, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            max_misses = np.floor(k * (1 - tau) / tau + 1e-9)
        return np.where(k > 0, np.where(tau > 0, max_misses, np.inf), -1.0)

    return border


def lower_end_border(min_share: float, tail: float, min_votes: int) -> Border:
    """The border of a Jeffreys interval that leaves `tail` below it and begins at `min_share` or above."""

    def border(k: Floats, rows: Ints) -> Floats:  # noqa: ARG001 (the same for all edges)
        numbers, at = np.unique(k, return_inverse=True)
        max_misses = np.where(numbers >= min_votes, _max_misses(numbers, min_share, tail), -1.0)
        return max_misses[at].reshape(k.shape)

    return border


def _max_misses(k: Floats, min_share: float, tail: float) -> Floats:
    """The most misses that k hits allow, by bisection: every miss lowers the lower end."""
    if min_share == 0:
        return np.full(len(k), np.inf)
    # lower end >= least exactly if P(Beta(k + 1/2, misses + 1/2) <= least) <= tail
    low, high = np.full(len(k), -1.0), np.ceil((k + 1) / min_share) + 1
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        good = betainc(k + 0.5, np.maximum(middle, 0) + 0.5, min_share) <= tail
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return low
