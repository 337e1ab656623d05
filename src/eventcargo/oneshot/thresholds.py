"""Thresholds: the strength above which a scored event is an edge.

The paper's threshold is relative: within one sequence and for one label, the mean plus some standard
deviations over the scored positions. The others are one value for all sequences: given, fitted to the
strengths of many sequences, or chosen where the truth is known. All have a floor in nats, because a relative
threshold alone turns rounding errors into edges. All require strictly more than the threshold; otherwise a
label that no event moves would have an edge from each of them.
"""

import math
from collections.abc import Iterable
from dataclasses import MISSING, dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eventcargo.config import Settings, setting
from eventcargo.errors import DataError
from eventcargo.oneshot.scores import EventScores

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FLOOR = 0.01
"""Smallest strength of an edge, in nats: a label rising from 0.5 to 0.57, or from 0.01 to 0.027. On
validation data, lower floors gave more false edges, and this one lost hardly any true edge."""


class EdgeThreshold(Protocol):
    """A rule that decides which scores are edges."""

    def keep(self, scores: EventScores) -> Flags:
        """Which scored pairs are edges."""
        ...

    @property
    def min_positions(self) -> int:
        """Scored positions that a sequence needs before any of them can be an edge."""
        ...

    def margins(self, draws: Floats) -> tuple[Floats, Floats]:
        """Strength minus threshold of each event, and its standard deviation over particles.

        Strengths of a sequence (labels, particles, positions) give two arrays (labels, positions). The
        deviation says how certain a decision is: a threshold that is computed from the strengths varies with
        them.
        """
        ...


@dataclass(frozen=True)
class StaticThreshold(Settings):
    """One threshold for all pairs, in nats.

    >>> StaticThreshold(0.1).margins(np.array([[[0.25], [0.75]]]))[0].tolist()
    [[0.4]]
    """

    threshold: float = setting(MISSING, ge=0)
    """strength above which an event is an edge"""
    floor: float = setting(0.0, ge=0)
    """smallest strength of an edge, in nats, for fitted thresholds"""

    @property
    def min_positions(self) -> int:
        return 1

    def keep(self, scores: EventScores) -> Flags:
        """Pairs stronger than the threshold."""
        return scores.strength > max(self.threshold, self.floor)

    def margins(self, draws: Floats) -> tuple[Floats, Floats]:
        """Mean strength minus the threshold, and the deviation of strengths."""
        strength = draws.mean(axis=1)
        return strength - max(self.threshold, self.floor), _deviation(draws - strength[:, None])


@dataclass(frozen=True)
class RelativeThreshold(Settings):
    """The paper's threshold: mean + z_threshold * sd over the scored positions, per sequence and label.

    Padding does not count. The largest possible z among n positions is (n - 1) / sqrt(n): with 2.75, a
    sequence with fewer than 10 scored positions can never have an edge.

    >>> RelativeThreshold(2.75).min_positions
    10
    """

    z_threshold: float = setting(2.75, ge=0)
    """standard deviations above the mean"""
    floor: float = setting(FLOOR, ge=0)
    """smallest strength of an edge, in nats"""

    @property
    def min_positions(self) -> int:
        """Smallest n with (n - 1) / sqrt(n) > z = z_threshold: sqrt(n) > (z + sqrt(z^2 + 4)) / 2."""
        return int(((self.z_threshold + (self.z_threshold**2 + 4) ** 0.5) / 2) ** 2) + 1

    def keep(self, scores: EventScores) -> Flags:
        """Pairs stronger than the threshold of their sequence and label."""
        group = _groups(scores)
        n = np.bincount(group)
        mean = np.bincount(group, scores.strength) / n
        squares = np.bincount(group, (scores.strength - mean[group]) ** 2)
        threshold = mean + self.z_threshold * np.sqrt(squares / np.maximum(n - 1, 1))
        return scores.strength > np.maximum(threshold, self.floor)[group]

    def margins(self, draws: Floats) -> tuple[Floats, Floats]:
        """Mean strength minus the threshold, and its deviation over particles, which move the threshold too.

        The threshold is linearised at the mean strengths: its slope in the strength of position i is 1 / n +
        z_threshold * (strength[i] - mean) / ((n - 1) * sd). With too few positions every margin is -1.
        """
        strength = draws.mean(axis=1)  # (labels, positions)
        n = strength.shape[1]
        if n < self.min_positions:  # below the threshold whatever is drawn
            return np.full(strength.shape, -1.0), np.zeros(strength.shape)
        mean = strength.mean(axis=1, keepdims=True)
        above = strength - mean
        sd = np.sqrt((above**2).sum(axis=1, keepdims=True) / (n - 1))
        threshold = mean + self.z_threshold * sd  # (labels, 1)
        slopes = 1 / n + self.z_threshold * above / np.maximum((n - 1) * sd, np.finfo(float).tiny)
        moved = draws - strength[:, None]
        moved -= moved @ np.where(threshold > self.floor, slopes, 0.0)[:, :, None]
        return strength - np.maximum(threshold, self.floor), _deviation(moved)


PAPER_THRESHOLD = RelativeThreshold(z_threshold=2.75, floor=1e-6)
"""The paper's threshold; its floor is the margin to which the paper clamps probabilities off 0 and 1."""


def fit_pooled_threshold(parts: Iterable[EventScores], floor: float = FLOOR) -> StaticThreshold:
    """A threshold at the mean strength of the pairs of many sequences.

    Nearly all events say almost nothing about a label and a few say much, so the mean lies between the two:
    it is where the curve of (share of pairs, share of strength), strongest first, is farthest from the
    diagonal. The sum is exact, so neither the order nor the grouping of the sequences changes the threshold.
    On validation data it came closer to the best threshold of each data set than thresholds that split the
    strengths or their logarithms into two groups, and than any fixed one.

    >>> ones, strength = np.ones(4, np.int64), np.array([0.0, 0.01, 0.0, 0.39])
    >>> scores = EventScores(ones, ones, np.arange(4), strength, strength, strength, ones)
    >>> fit_pooled_threshold([scores]).threshold
    0.1
    """
    parts = list(parts)
    count = sum(len(scores) for scores in parts)
    if count == 0:
        raise DataError(
            "0 scored pairs; a pooled threshold needs sequences with a label that are longer than the context"
        )
    total = math.fsum(strength for scores in parts for strength in scores.strength.tolist())
    return StaticThreshold(total / count, floor)


def _deviation(moved: Floats) -> Floats:
    """Standard deviation over particles of what has mean 0: (labels, particles, positions)."""
    return np.sqrt(np.einsum("lkp,lkp->lp", moved, moved) / max(moved.shape[1] - 1, 1))


def _groups(scores: EventScores) -> NDArray[np.int64]:
    """The number (0, 1, ...) of the group with the same row and label, for each pair."""
    new = np.ones(len(scores), bool)
    new[1:] = (np.diff(scores.rows) != 0) | (np.diff(scores.labels) != 0)
    return np.cumsum(new) - 1
