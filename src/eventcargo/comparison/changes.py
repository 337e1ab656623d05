"""Changes: the word for what became of an edge from the first run to the second."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CHANGES = ("gained", "lost", "reversed", "stronger", "weaker", "frequency", "none")
"""What may have become of an edge; "frequency" is a change of that alone, "none": no change was shown."""


def changes(
    found: Sequence[str],
    odds_a: Floats,
    odds_b: Floats,
    effect_changed: NDArray[np.bool_],
    share_changed: NDArray[np.bool_],
) -> list[str]:
    """The word for what became of each edge."""
    side_a, side_b = _side_of_zero(odds_a), _side_of_zero(odds_b)
    return [
        _change(where, int(side_a[at]), int(side_b[at]), abs(odds_a[0, at]) < abs(odds_b[0, at]))
        if effect_changed[at]
        else "frequency"
        if share_changed[at]
        else "none"
        for at, where in enumerate(found)
    ]


def _side_of_zero(log_odds: Floats) -> NDArray[np.int64]:
    """1 or -1 if an interval lies above or below 0, else 0."""
    with np.errstate(invalid="ignore"):
        return np.asarray((log_odds[1] > 0).astype(np.int64) - (log_odds[2] < 0))


def _change(found: str, side_a: int, side_b: int, grew: bool) -> str:
    """The word for an effect that changed.

    An edge is lost if the second search does not have it and the second data do not show it, and gained the
    other way round; whatever both data show is stronger, weaker or reversed.
    """
    if side_a * side_b < 0:
        return "reversed"
    if found == "a" and side_b == 0 and not grew:
        return "lost"
    if found == "b" and side_a == 0 and grew:
        return "gained"
    return "stronger" if grew else "weaker"
