"""Scales: whether an effect differs on the scale of causal power, too.

How strong a cause is depends on how causes are taken to combine. In logistic regression each multiplies the
odds; by noisy-or each produces the label by itself with a probability of its own. If one cause of a label
changes, the odds ratios of the others change where causes combine by noisy-or, and their probabilities change
where they multiply odds. So a change counts only if both scales show it: then the cause itself has changed.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from eventcargo.events import EventDataset
from eventcargo.statistics.causal_power import WITH, WITHOUT, RiskRatio
from eventcargo.verification.odds_ratios import boundary_patterns

Floats = NDArray[np.float64]
Pair = tuple[str, str]
Powers = Mapping[Pair, tuple[RiskRatio, RiskRatio]]
"""For each label and event type the risk ratios of staying without the label, and of carrying it."""


def powers(data: EventDataset, boundaries: Mapping[str, Sequence[str]]) -> Powers:
    """The risk ratios of all event types given the others of their boundary."""
    return {pair: ratios for study in data.studies() for pair, ratios in _of_study(study, boundaries)}


def _of_study(
    study: EventDataset, boundaries: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Pair, tuple[RiskRatio, RiskRatio]]]:
    for label, members, patterns in boundary_patterns(study, boundaries):
        for at, event in enumerate(members):
            yield (label, event), (RiskRatio.of(patterns, at, WITHOUT), RiskRatio.of(patterns, at, WITH))


def power_p_values(
    first: Powers, second: Powers, pairs: Sequence[Pair], signs: tuple[Floats, Floats]
) -> Floats:
    """The p-values of differences in causal power; NaN for effects of opposite signs, or without a power."""
    p_values = np.full(len(pairs), np.nan)
    for at, pair in enumerate(pairs):
        sign = signs[0][at] if signs[0][at] == signs[1][at] else 0.0
        if sign:
            a, b = (side[pair][WITHOUT if sign > 0 else WITH] for side in (first, second))
            p_values[at] = 2 * ndtr(-abs(b.log - a.log) / np.hypot(a.error, b.error))
    return p_values
