"""Claims: how much an edge says its event type is worth to the label, and how much the data allow.

Worth is in nats, summed over the sequences: the log-likelihood of the label that the event type adds given
the rest of the boundary. `verify` explains how claim and data are weighed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eventcargo.statistics.exact_g2 import (
    ExactG2,
    Ints,
    incomparable_share,
    max_presence_gain,
    residual_information,
)
from eventcargo.statistics.risk_difference import risk_difference
from eventcargo.statistics.score_test import ScoreTest

PLAUSIBLE = 0.5
"""An edge is refuted if the data leave room for less than this share of its claim."""

LEANING = 3.0
"""Smallest gain, in nats, of an edge with evidence that stands without being confirmed: exp(-3) is 5 %,
without a correction for all that was tried, because phase 1 has named it."""

SHADOW = 0.04
"""Smallest gain of an edge that no single sequence shows, as a share of the largest gain of its boundary:
less may be what an inexact description of the strongest cause leaves over. Evidence, which pays for what had
to be learned, must reach half of this share."""

MAX_STRENGTH = 2.0
"""Most nats that a vote counts for: an overconfident model claims more than there is to know."""


@dataclass(frozen=True)
class Levels:
    """The largest p-values that confirm a claim, by what phase 1 says for it."""

    voted: float
    proposed: float
    unnamed: float

    def of(self, claim: "Claim", untrusted: bool) -> float:
        """The level of a claim; a label without a trusted model has no witness but the data."""
        if not claim.is_mute and not (untrusted and claim.is_bare):
            return self.voted
        return self.proposed if claim.is_proposed else self.unnamed


@dataclass
class Claim:
    """One edge into a label: what phase 1 claims, and what the data say once it is tested.

    >>> claim = Claim(event=0, votes=50.0, strength=2.0)
    >>> claim.judge(np.array([[[900, 100], [90, 10]]]))        # as likely with the event type as without
    >>> claim.refuted, round(claim.room, 1)
    (True, 0.1)
    >>> claim.judge(np.array([[[0, 0], [10, 90]], [[5, 0], [0, 0]]]))  # no sequence without it to compare
    >>> claim.refuted, claim.p_value
    (False, None)
    """

    event: int
    votes: float | None = None
    """Sequences in which phase 1 finds the edge; None if single sequences do not show it."""
    strength: float | None = None
    evidence: float | None = None
    """Pooled evidence of all sequences, in nats; None if unknown."""
    is_new: bool = False
    is_required: bool = False
    p_value: float | None = None
    gain: float = 0.0
    effect: float = 0.0
    max_gain: float = np.inf
    left: float = np.inf
    unseen: float = 0.0

    @property
    def is_mute(self) -> bool:
        """Whether no single sequence speaks for it: the edge is new, or pooled evidence alone proposes it."""
        return self.is_new or self.is_proposed

    @property
    def is_proposed(self) -> bool:
        """Whether pooled evidence alone proposes the edge."""
        return self.votes is None and self.evidence is not None

    @property
    def is_bare(self) -> bool:
        """Whether the edge comes without votes and evidence, as that of another method."""
        return self.votes is None and self.evidence is None

    @property
    def worth(self) -> float | None:
        """Pooled evidence, or votes times strength; of a mute claim its gain; None without a claim."""
        if self.is_mute:
            return self.gain
        if self.evidence is not None:
            return self.evidence
        if self.votes is None or self.strength is None:
            return None
        return self.votes * min(self.strength, MAX_STRENGTH)

    @property
    def room(self) -> float:
        """The most that the edge can be worth by the data; sequences without comparison count in full."""
        return min(self.max_gain, self.left) + self.unseen

    @property
    def refuted(self) -> bool:
        """Whether the data leave too little room for the claim."""
        return self.room < (LEANING if self.worth is None else PLAUSIBLE * self.worth)

    @property
    def is_hopeless(self) -> bool:
        """Whether too little of the label is left unexplained for any arrangement to confirm the claim."""
        return self.worth is not None and self.left + self.unseen < PLAUSIBLE * self.worth

    def is_doubtful(self, largest: float) -> bool:
        """Whether the data fail to confirm the claim at this level."""
        return self.p_value is None or self.p_value > largest

    def falls(self, largest: float, untrusted: bool) -> bool:
        """Whether the claim is not confirmed at this level, and nothing else speaks for it."""
        if self.is_required:
            return False
        if self.is_mute:
            return self.is_doubtful(largest) or self.refuted
        if not self.is_doubtful(largest):
            return False
        if self.refuted or (untrusted and (self.evidence is None or self.p_value is None)):
            return True
        return self.p_value is not None and self.evidence is not None and self.gain < LEANING

    def is_shadow_of(self, claims: "Sequence[Claim]") -> bool:
        """Whether no single sequence shows the edge, and it is worth little beside the strongest of some."""
        largest = max(claim.gain for claim in claims)
        most = max((claim.evidence for claim in claims if claim.evidence is not None), default=0.0)
        is_faint = self.evidence is not None and self.evidence < SHADOW / 2 * most
        return self.is_mute and not self.is_required and (self.gain < SHADOW * largest or is_faint)

    def judge(self, tables: Ints, design_effect: float = 1.0, score: ScoreTest | None = None) -> None:
        """Set p-value, gain, effect and bounds from the tables of presence, (strata, 2, 2), and the score."""
        tests: list[ExactG2 | ScoreTest] = [ExactG2.of(tables, design_effect)]
        tests += [] if score is None else [score]
        self.decide(tests, len(tests))
        self.bound(tables, design_effect)

    def decide(self, tests: Sequence[ExactG2 | ScoreTest], n_tried: int) -> None:
        """Set p-value and gain from the strongest of several tests, the best of `n_tried`."""
        p_values = [test.p_value for test in tests if test.p_value is not None]
        self.p_value = min(1.0, min(p_values) * n_tried) if p_values else None
        self.gain = max(test.gain for test in tests)

    def bound(self, tables: Ints, design_effect: float = 1.0) -> None:
        """Set the effect of presence and the most that the edge can be worth."""
        self.effect = risk_difference(tables)
        self.max_gain = max_presence_gain(tables, design_effect)
        self.left = residual_information(tables, design_effect)
        self.unseen = incomparable_share(tables) * max(self.worth or 0.0, 0.0)
