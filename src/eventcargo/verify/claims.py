"""Claims: what an edge says the event type is worth to its label, and what the data allow it to be worth.

All worths are in nats, summed over the sequences: by so much the event type makes the label likelier, the
rest of the boundary given. `verify` explains how the two meet.
"""

from dataclasses import dataclass

import numpy as np

from eventcargo.statistics.exact_g2 import (
    ExactG2,
    Ints,
    incomparable,
    max_presence_gain,
    residual_information,
    risk_difference,
)

PLAUSIBLE = 0.5
"""An edge is refuted where the data do not leave room for this share of what it claims."""

STANDS = 2.0
"""A claim of less than this many times what an edge must be worth does not stand without the data."""

MAX_STRENGTH = 2.0
"""A vote counts for this many nats at most: a model that is too sure claims more than there is to know."""


@dataclass
class Claim:
    """One edge into a label; what the data say of it is filled in by and by.

    >>> claim = Claim(event=0, votes=50.0, strength=2.0, sign=1, least=1.0)
    >>> claim.judge(np.array([[[900, 100], [90, 10]]]))        # as likely with the event type as without
    >>> claim.refuted, round(claim.room, 1)
    (True, 0.1)
    >>> claim.judge(np.array([[[0, 0], [10, 90]], [[5, 0], [0, 0]]]))  # no sequence without it to compare
    >>> claim.refuted, claim.p_value
    (False, None)
    """

    event: int
    votes: float | None
    """Sequences in which phase 1 would find the edge; None where no vote stands behind it."""
    strength: float | None
    sign: int
    least: float
    """What an edge must be worth to be told of."""
    is_new: bool = False
    is_required: bool = False
    p_value: float | None = None
    gain: float = 0.0
    effect: float = 0.0
    most: float = np.inf
    left: float = np.inf
    unseen: float = 0.0

    @property
    def worth(self) -> float | None:
        """Votes times their strength; None where phase 1 says nothing."""
        return None if self.votes is None or self.strength is None else self.votes * self._per_vote

    @property
    def _per_vote(self) -> float:
        return self.least if self.strength is None else min(self.strength, MAX_STRENGTH)

    @property
    def room(self) -> float:
        """The most it can be worth by the data: what cannot be compared is believed."""
        return min(self.most, self.left) + self.unseen

    @property
    def refuted(self) -> bool:
        """The data leave too little room for the claim, or the claim is too small to stand by itself."""
        if self.worth is None:
            return self.room < self.least
        return self.worth < STANDS * self.least or self.room < PLAUSIBLE * self.worth

    @property
    def is_hopeless(self) -> bool:
        """So little of the label is left to tell that no arrangement could bear the claim out."""
        return self.worth is not None and self.left + self.unseen < PLAUSIBLE * self.worth

    def is_doubtful(self, alpha: float) -> bool:
        """Whether the data do not bear the claim out at this level."""
        return self.p_value is None or self.p_value > alpha or self.gain < self.least

    def judge(self, tables: Ints) -> None:
        """Take in the tables of the event type's presence, (strata, 2, 2)."""
        found = ExactG2.of(tables)
        self.p_value, self.gain = found.p_value, found.gain
        self.bound(tables)

    def bound(self, tables: Ints) -> None:
        """Take in what presence leaves room for, and what it changes."""
        self.effect = risk_difference(tables)
        self.most, self.left = max_presence_gain(tables), residual_information(tables)
        self.unseen = incomparable(tables, self.sign >= 0) * self._per_vote
