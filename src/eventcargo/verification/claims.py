"""Claims: how much an edge says its event type is worth to the label, and how much the data allow.

Worth is in nats, summed over the sequences: the log-likelihood of the label that the event type adds given
the rest of the boundary. `verify` explains how claim and data are weighed.
"""

from dataclasses import dataclass

import numpy as np

from eventcargo.statistics.exact_g2 import (
    ExactG2,
    Ints,
    incomparable,
    max_presence_gain,
    residual_information,
)
from eventcargo.statistics.risk_difference import risk_difference

PLAUSIBLE = 0.5
"""An edge is refuted if the data leave room for less than this share of its claim."""

STANDS = 2.0
"""A claim below this multiple of the smallest worth of an edge must be confirmed by the data."""

MAX_STRENGTH = 2.0
"""Most nats that a vote counts for: an overconfident model claims more than there is to know."""


@dataclass
class Claim:
    """One edge into a label: what phase 1 claims, and what the data say once it is tested.

    >>> claim = Claim(event=0, votes=50.0, strength=2.0, sign=1, min_gain=1.0)
    >>> claim.judge(np.array([[[900, 100], [90, 10]]]))        # as likely with the event type as without
    >>> claim.refuted, round(claim.room, 1)
    (True, 0.1)
    >>> claim.judge(np.array([[[0, 0], [10, 90]], [[5, 0], [0, 0]]]))  # no sequence without it to compare
    >>> claim.refuted, claim.p_value
    (False, None)
    """

    event: int
    votes: float | None
    """Sequences in which phase 1 finds the edge; None if unknown."""
    strength: float | None
    sign: int
    min_gain: float
    """Smallest worth of an edge, in nats."""
    is_new: bool = False
    is_required: bool = False
    p_value: float | None = None
    gain: float = 0.0
    effect: float = 0.0
    max_gain: float = np.inf
    left: float = np.inf
    unseen: float = 0.0

    @property
    def worth(self) -> float | None:
        """Votes times strength; None if phase 1 makes no claim."""
        return None if self.votes is None or self.strength is None else self.votes * self._per_vote

    @property
    def _per_vote(self) -> float:
        return self.min_gain if self.strength is None else min(self.strength, MAX_STRENGTH)

    @property
    def room(self) -> float:
        """The most that the edge can be worth by the data; sequences without comparison count in full."""
        return min(self.max_gain, self.left) + self.unseen

    @property
    def refuted(self) -> bool:
        """Whether the data leave too little room for the claim, or it is too small to stand by itself."""
        if self.worth is None:
            return self.room < self.min_gain
        return self.worth < STANDS * self.min_gain or self.room < PLAUSIBLE * self.worth

    @property
    def is_hopeless(self) -> bool:
        """Whether too little of the label is left unexplained for any arrangement to confirm the claim."""
        return self.worth is not None and self.left + self.unseen < PLAUSIBLE * self.worth

    def is_doubtful(self, alpha: float) -> bool:
        """Whether the data fail to confirm the claim at this level."""
        return self.p_value is None or self.p_value > alpha or self.gain < self.min_gain

    def judge(self, tables: Ints, design_effect: float = 1.0) -> None:
        """Set p-value, gain, effect and bounds from the tables of its presence, (strata, 2, 2)."""
        test = ExactG2.of(tables, design_effect)
        self.p_value, self.gain = test.p_value, test.gain
        self.bound(tables, design_effect)

    def bound(self, tables: Ints, design_effect: float = 1.0) -> None:
        """Set the effect of presence and the most that the edge can be worth."""
        self.effect = risk_difference(tables)
        self.max_gain = max_presence_gain(tables, design_effect)
        self.left = residual_information(tables, design_effect)
        self.unseen = incomparable(tables, self.sign >= 0) * self._per_vote
