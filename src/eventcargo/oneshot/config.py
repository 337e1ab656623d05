"""Settings of phase 1: which tests run on which sequences, and which strength makes an edge."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from eventcargo.config import Settings, setting
from eventcargo.errors import ConfigError, argument
from eventcargo.memory import parse_memory


@dataclass(frozen=True)
class CasesConfig(Settings):
    """How many sequences are tested per label."""

    absent: float = setting(1.0, ge=0)
    """sequences without the label to test, as a multiple of its positives"""
    min_absent: int = setting(50, ge=0)
    """smallest number of sequences without the label to test, unless absent is 0"""
    max_cases: int = setting(500, ge=0)
    """most sequences of either kind for a label that costs a forward pass per event type; 0: no limit"""


@dataclass(frozen=True)
class ContextConfig(Settings):
    """What is redrawn, and from which distribution."""

    context: int = setting(15, ge=0)
    """events at the start to redraw; later events are scored"""
    top_k: int = setting(35, ge=0)
    """draw from the k most probable event types; 0: from all"""
    top_p: float = setting(0.8, gt=0, le=1)
    """draw from the most probable event types that together hold this probability; 1: from all"""
    nucleus: Literal["reaching", "within"] = "reaching"
    """reaching: keep the event type that crosses top_p; within: drop it, as the paper does"""
    temperature: float = setting(1.0, gt=0)
    """above 1 flattens the distribution, below 1 sharpens it"""
    draws: Literal["stratified", "independent"] = "stratified"
    """stratified: particles cover each position's distribution evenly; independent: as in the paper"""
    order: Literal["observed", "ancestral"] = "observed"
    """observed: condition each draw on the observed prefix; ancestral: on the earlier draws"""


@dataclass(frozen=True)
class PrefixConfig(ContextConfig):
    """Settings of the prefix test."""

    particles: int = setting(64, ge=0)
    """most redrawn contexts per sequence; 0: the observed sequence alone"""
    first_round: int = setting(8, ge=2)
    """particles drawn before the first check for stopping; their number doubles up to each further check"""
    error: float = setting(0.5, ge=0)
    """stop drawing when at most this many wrong decisions are expected in a sequence; 0: draw all"""
    tokens: int = setting(8_192, ge=1)
    """positions per forward pass"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.particles and not self.context:
            raise ConfigError(
                f"{argument('context', 0)} leaves nothing to redraw for "
                f"{argument('particles', self.particles)}; use {argument('particles', 0)}"
            )

    @property
    def rounds(self) -> tuple[int, ...]:
        """Particles drawn in each round.

        >>> PrefixConfig(particles=68, first_round=8).rounds
        (8, 8, 16, 32, 4)
        """
        if not self.error or self.first_round >= self.particles:
            return (self.particles,)
        totals = [self.first_round]
        while totals[-1] < self.particles:
            totals.append(min(2 * totals[-1], self.particles))
        return tuple(after - before for before, after in pairwise([0, *totals]))


PAPER = PrefixConfig(
    context=15, particles=68, top_k=35, top_p=0.8, nucleus="within", draws="independent", error=0.0
)
"""The paper's settings; its threshold is `thresholds.PAPER_THRESHOLD`."""


@dataclass(frozen=True)
class ExtractConfig(CasesConfig, PrefixConfig):
    """Settings of phase 1."""

    test: Literal["total", "prefix", "both"] = "total"
    """total: each event type given the rest of its sequence; prefix: each event given the events before it,
    as in the paper; both"""
    threshold: float = setting(0.2, ge=0)
    """total, and prefix with threshold_kind static: strength in nats above which an event is an edge"""
    threshold_kind: Literal["relative", "pooled", "static"] = "relative"
    """prefix: an edge exceeds the mean strength of its sequence by z_threshold standard deviations
    (relative), the mean strength of many sequences (pooled), or threshold (static)"""
    z_threshold: float = setting(2.75, ge=0)
    """prefix: standard deviations above the mean, for the relative threshold"""
    paper: bool = False
    """run the prefix test with the paper's settings, whatever else is set for it"""
    shard: int = setting(2048, ge=1)
    """sequences per shard; does not change the result"""
    workers: int = setting(0, ge=0)
    """worker processes; 0: one per core where that pays; does not change the result"""
    max_memory: str = ""
    """most memory that all workers may use together, such as 4G; empty: no limit"""
    seed: int = setting(0, ge=0)
    """seed of all random draws"""

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_memory(self.max_memory)

    @property
    def tests(self) -> tuple[str, ...]:
        """Names of the tests to run."""
        if self.paper:
            return ("prefix",)
        return ("prefix", "total") if self.test == "both" else (self.test,)

    @property
    def pools(self) -> bool:
        """Whether the threshold must first be fitted to the scores of many sequences."""
        return "prefix" in self.tests and self.threshold_kind == "pooled" and not self.paper

    @property
    def prefix(self) -> PrefixConfig:
        """Settings of the prefix test alone."""
        names = PrefixConfig.__dataclass_fields__
        own = replace(PrefixConfig(), **{name: getattr(self, name) for name in names})
        return PAPER if self.paper else own
