"""Cuts: from which strength on a scored event is an edge.

The paper's cut is relative: within one sequence and for one label, the mean and some standard deviations over
the scored positions. Others hold one threshold for all sequences: given, fitted to the strengths of many
sequences, or chosen where the truth is known. All have a floor in nats, because a relative cut alone makes
edges of rounding errors, and all ask for strictly more than the threshold, because a label that no event
moves would otherwise be moved by all of them.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, DataError
from eventcargo.oneshot.scores import EventScores

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FLOOR = 0.01
"""Smallest strength of an edge, in nats: a label that rises from 0.5 to 0.57, or from 0.01 to 0.027. On
validation data, lower floors found more false edges, and this one lost hardly a true one."""


def _check_nats(name: str, value: float) -> None:
    if not 0 <= value < np.inf:
        raise ConfigError(f"{name}={value}: use a strength in nats, 0 or more")


class EdgeThreshold(Protocol):
    """A rule that says which scores are edges."""

    def keep(self, scores: EventScores) -> Flags:
        """Which of the scored pairs are edges."""
        ...

    @property
    def min_positions(self) -> int:
        """Scored positions that a sequence needs before one of them can be an edge."""
        ...

    def margins(self, draws: Floats) -> Floats:
        """How far the strengths of each particle of a sequence lie above the threshold.

        Both are (particles, positions, labels). The mean over particles is strength minus threshold, the
        effect_sd says how sure that is: a threshold that follows from the strengths varies with them.
        """
        ...


@dataclass(frozen=True)
class StaticThreshold:
    """One threshold for all pairs, in nats.

    >>> StaticThreshold(0.1).margins(np.array([[[0.25]]])).tolist()
    [[[0.15]]]
    """

    threshold: float
    """strength above which an event is an edge"""
    floor: float = 0.0
    """smallest strength of an edge, in nats, for thresholds that are fitted"""

    def __post_init__(self) -> None:
        _check_nats("threshold", self.threshold)
        _check_nats("floor", self.floor)

    @property
    def min_positions(self) -> int:
        return 1

    def keep(self, scores: EventScores) -> Flags:
        """Pairs stronger than the threshold."""
        return scores.strength > max(self.threshold, self.floor)

    def margins(self, draws: Floats) -> Floats:
        """Strength of each particle minus the threshold."""
        return draws - max(self.threshold, self.floor)


@dataclass(frozen=True)
class RelativeThreshold:
    """The paper's cut: mean + z_threshold * sd over the scored positions of one sequence, label by label.

    Only scored positions count, so that padding changes nothing. The largest z among n positions is
    (n - 1) / sqrt(n): with 2.75, a sequence of fewer than 10 scored positions can never have an edge.

    >>> RelativeThreshold(2.75).min_positions
    10
    """

    z_threshold: float = 2.75
    """standard deviations above the mean"""
    floor: float = FLOOR
    """smallest strength of an edge, in nats"""

    def __post_init__(self) -> None:
        if not 0 <= self.z_threshold < np.inf:
            raise ConfigError(
                f"z_threshold={self.z_threshold}: use a number of standard deviations, 0 or more"
            )
        _check_nats("floor", self.floor)

    @property
    def min_positions(self) -> int:
        """The smallest n with (n - 1) / sqrt(n) > z: sqrt(n) > (z + sqrt(z^2 + 4)) / 2, z = z_threshold."""
        return int(((self.z_threshold + (self.z_threshold**2 + 4) ** 0.5) / 2) ** 2) + 1

    def keep(self, scores: EventScores) -> Flags:
        """Pairs stronger than the threshold of their sequence and label."""
        group = _groups(scores)
        n = np.bincount(group)
        mean = np.bincount(group, scores.strength) / n
        squares = np.bincount(group, (scores.strength - mean[group]) ** 2)
        threshold = mean + self.z_threshold * np.sqrt(squares / np.maximum(n - 1, 1))
        return scores.strength > np.maximum(threshold, self.floor)[group]

    def margins(self, draws: Floats) -> Floats:
        """Strength of each particle minus the threshold as it would move with that particle.

        The threshold is linearised at the mean strengths: its slope in the strength of position i is 1 / n +
        z_threshold * (strength[i] - mean) / ((n - 1) * sd). Too few positions are below it by any measure.
        """
        if draws.shape[1] < self.min_positions:  # below the threshold, whatever is drawn
            return np.full(draws.shape, -1.0)
        strength = draws.mean(axis=0)  # (positions, labels)
        n, mean, sd = len(strength), strength.mean(axis=0), strength.std(axis=0, ddof=1)
        slopes = 1 / n + self.z_threshold * (strength - mean) / np.maximum((n - 1) * sd, np.finfo(float).tiny)
        threshold = mean + self.z_threshold * sd  # (labels,)
        moved = threshold + np.einsum("kpl,pl->kl", draws - strength, slopes)  # (particles, labels)
        return draws - np.where(threshold > self.floor, moved, self.floor)[:, None, :]


PAPER_THRESHOLD = RelativeThreshold(z_threshold=2.75, floor=1e-6)
"""The paper's cut; its floor is the paper's distance of probabilities from 0 and 1."""


def fit_pooled_threshold(parts: Iterable[EventScores], floor: float = FLOOR) -> StaticThreshold:
    """The cut at the mean strength of the pairs of many sequences.

    Nearly all events tell nearly nothing of a label and a few tell much, so that the mean lies between: it is
    where the curve of (share of all pairs, share of all strength), the strongest first, bends most. The sum
    is exact, so that neither the order of the sequences nor how they are parted changes the threshold. On
    validation data it came nearer to the best threshold of each data set than thresholds that divide the
    strengths or their logarithms in two groups, and than any fixed one.

    >>> ones, strength = np.ones(4, np.int64), np.array([0.0, 0.01, 0.0, 0.39])
    >>> scores = EventScores(ones, ones, np.arange(4), strength, strength, strength, ones)
    >>> fit_pooled_threshold([scores]).threshold
    0.1
    """
    parts = list(parts)
    count = sum(len(scores) for scores in parts)
    if count == 0:
        raise DataError(
            "0 scored pairs; a pooled cut needs the scores of some sequences longer than the context"
        )
    total = math.fsum(strength for scores in parts for strength in scores.strength.tolist())
    return StaticThreshold(total / count, floor)


def choose_cut(strength: Floats, is_true: Flags, floor: float = FLOOR) -> StaticThreshold:
    """The cut with the best F1 on pairs of known truth; of equally good ones the largest.

    The threshold lies midway between the weakest edge kept and the strongest pair that is not.

    >>> choose_cut(np.array([0.9, 0.5, 0.3, 0.1]), np.array([True, True, False, False])).threshold
    0.4
    """
    if len(strength) != len(is_true) or not is_true.any():
        raise DataError(
            f"{len(strength):,} strengths and {int(is_true.sum()):,} true ones among {len(is_true):,}; "
            "a cut is chosen on pairs of which at least one is true"
        )
    order = np.argsort(-strength, kind="stable")
    values = np.append(strength[order], 0.0)
    hits = np.cumsum(is_true[order])
    f1 = 2 * hits / (np.arange(1, len(order) + 1) + is_true.sum())
    f1[values[:-1] == values[1:]] = -1  # equal strengths are kept together
    best = int(np.argmax(f1))
    return StaticThreshold(float(values[best] + values[best + 1]) / 2, floor)


def _groups(scores: EventScores) -> NDArray[np.int64]:
    """Numbers of the (row, label) groups, 0, 1, ..., for each pair."""
    new = np.ones(len(scores), bool)
    new[1:] = (np.diff(scores.rows) != 0) | (np.diff(scores.labels) != 0)
    return np.cumsum(new) - 1
