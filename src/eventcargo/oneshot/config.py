"""Settings of phase 1: which tests run on which sequences, and which strength makes an edge."""

import re
from dataclasses import dataclass, replace
from typing import Literal

from eventcargo.config import setting
from eventcargo.errors import ConfigError
from eventcargo.oneshot.cases import CasesConfig
from eventcargo.oneshot.prefix import PAPER, PrefixConfig, PrefixTest
from eventcargo.oneshot.score_shard import ConfiguredTest, Flags
from eventcargo.oneshot.thresholds import PAPER_THRESHOLD, EdgeThreshold, RelativeThreshold, StaticThreshold
from eventcargo.oneshot.total import TotalTest

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


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
        memory(self.max_memory)

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

    def configured_tests(
        self, pooled: float | None = None, allowed: Flags | None = None
    ) -> list[ConfiguredTest]:
        """The tests with their thresholds; the prefix test covers only sequences with the label.

        `allowed`, (labels, V), marks the pairs of a label and an event type that may be edges.
        """
        made = {"total": ConfiguredTest(TotalTest(allowed), StaticThreshold(self.threshold), allowed=allowed)}
        threshold = self._threshold(pooled)
        made["prefix"] = ConfiguredTest(PrefixTest(self.prefix, threshold), threshold, ("present",), allowed)
        return [made[name] for name in self.tests]

    def _threshold(self, pooled: float | None) -> EdgeThreshold:
        if self.paper:
            return PAPER_THRESHOLD
        if self.threshold_kind == "pooled" and pooled is not None:
            return StaticThreshold(pooled)
        return (
            StaticThreshold(self.threshold)
            if self.threshold_kind == "static"
            else RelativeThreshold(self.z_threshold)
        )

    @property
    def prefix(self) -> PrefixConfig:
        """Settings of the prefix test alone."""
        names = PrefixConfig.__dataclass_fields__
        own = replace(PrefixConfig(), **{name: getattr(self, name) for name in names})
        return PAPER if self.paper else own


def memory(text: str) -> float:
    """Bytes of a size such as `1.5G`; an empty text means no limit.

    >>> memory("1.5G"), memory("")
    (1610612736.0, inf)
    """
    if not text:
        return float("inf")
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)B?", text.strip().upper())
    if not match or float(match[1]) == 0:
        raise ConfigError(f"max_memory={text!r}: use a number with M or G, such as 800M or 4G")
    return float(match[1]) * UNITS[match[2]]
