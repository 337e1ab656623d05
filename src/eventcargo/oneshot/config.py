"""The settings of phase 1: which tests look at which sequences, and what strength makes an edge."""

import re
from dataclasses import dataclass, replace
from typing import Literal

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
    """total: each event type given the whole rest of its sequence; prefix: each event given those before it,
    as the paper does; both"""
    threshold: float = 0.2
    """total, and prefix with a static cut: strength in nats above which an event type is an edge"""
    threshold_kind: Literal["relative", "pooled", "static"] = "relative"
    """prefix: an edge is stronger than the mean of its sequence by z_threshold standard deviations
    (relative), than the mean of many sequences (pooled), or than threshold (static)"""
    z_threshold: float = 2.75
    """prefix: standard deviations of the relative cut"""
    preset: Literal["default", "paper"] = "default"
    """paper: the prefix test with the paper's settings, whatever else is set for it"""
    shard: int = 2048
    """sequences of a shard; the result does not depend on it"""
    workers: int = 0
    """processes; 0: one for each core where it pays. The result does not depend on it"""
    max_memory: str = ""
    """max_cases memory all processes may take together, such as 4G; empty: no limit"""
    seed: int = 0
    """number that all random draws follow from"""

    def __post_init__(self) -> None:
        CasesConfig.__post_init__(self)
        PrefixConfig.__post_init__(self)
        if self.test not in ("total", "prefix", "both"):
            raise ConfigError(f"test={self.test!r}: use total, prefix or both")
        if self.threshold_kind not in ("relative", "pooled", "static"):
            raise ConfigError(f"threshold_kind={self.threshold_kind!r}: use relative, pooled or static")
        if self.preset not in ("default", "paper"):
            raise ConfigError(f"preset={self.preset!r}: use default or paper")
        if self.shard < 1:
            raise ConfigError(f"shard={self.shard}: use 1 or more")
        for name in ("workers", "seed"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name}={getattr(self, name)}: use 0 or more")
        memory(self.max_memory)

    @property
    def tests(self) -> tuple[str, ...]:
        """Names of the tests to be made."""
        if self.preset == "paper":
            return ("prefix",)
        return ("prefix", "total") if self.test == "both" else (self.test,)

    @property
    def pools(self) -> bool:
        """Whether a cut has to be fitted to the scores of many sequences first."""
        return "prefix" in self.tests and self.threshold_kind == "pooled" and self.preset != "paper"

    def configured_tests(
        self, pooled: float | None = None, allowed: Flags | None = None
    ) -> list[ConfiguredTest]:
        """The tests with their cuts; the prefix test looks at sequences that carry the label only.

        `allowed`, (labels, V), says which pairs of a label and an event type may be edges.
        """
        made = {"total": ConfiguredTest(TotalTest(allowed), StaticThreshold(self.threshold), allowed=allowed)}
        threshold = self._threshold(pooled)
        made["prefix"] = ConfiguredTest(PrefixTest(self.prefix, threshold), threshold, ("present",), allowed)
        return [made[name] for name in self.tests]

    def _threshold(self, pooled: float | None) -> EdgeThreshold:
        if self.preset == "paper":
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
        return PAPER if self.preset == "paper" else own


def memory(text: str) -> float:
    """Bytes of a size in words; no text is no limit.

    >>> memory("1.5G"), memory("")
    (1610612736.0, inf)
    """
    if not text:
        return float("inf")
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)B?", text.strip().upper())
    if not found or float(found[1]) == 0:
        raise ConfigError(f"max_memory={text!r}: use a number with M or G, such as 800M or 4G")
    return float(found[1]) * UNITS[found[2]]
