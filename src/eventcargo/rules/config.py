"""Settings of the search for rules."""

from dataclasses import dataclass
from typing import Literal

from eventcargo.config import Settings, setting


@dataclass(frozen=True)
class RuleConfig(Settings):
    """Settings of the search for rules."""

    kind: Literal["arrangement", "presence"] = "arrangement"
    """presence: whether event types occur; arrangement: also count, order, adjacency, gap, lateness"""
    held_out: float = setting(0.34, ge=0.05, le=0.8)
    """share of sequences held out to judge the rules"""
    min_support: int = setting(20, ge=1)
    """fewest sequences with the label, and without it, for which a rule is sought"""
    min_precision: float = setting(0.3, ge=0, le=1)
    """smallest precision of a rule on held-out sequences"""
    min_recall: float = setting(0.3, ge=0, le=1)
    """smallest recall of a rule on held-out sequences"""
    max_events: int = setting(30, ge=1)
    """most event types of a boundary, strongest first, that a rule may use"""
    max_literals: int = setting(6, ge=1)
    """most literals of a conjunction"""
    max_conjunctions: int = setting(8, ge=1)
    """most conjunctions joined by OR"""
    penalty: float = setting(1.0, gt=0)
    """multiplies the price of a literal: higher gives shorter rules"""
    unit: str = ""
    """unit of times given as plain numbers, such as h, shown in rules"""
    seed: int = setting(0, ge=0)
    """seed of the choice of held-out sequences"""
