"""The settings of phase 2: which rule makes edges of votes."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from eventcargo.errors import ConfigError

Criterion = Literal["confident", "adaptive", "static", "union", "fpr", "bes", "caig"]
CRITERIA = get_args(Criterion)


@dataclass(frozen=True)
class FuseConfig:
    """Settings of phase 2."""

    criterion: Criterion = "confident"
    """confident: found surely often enough, in sequences with or without the label; the paper's: adaptive,
    static, union (by frequency), fpr, bes, caig (by mutual information)"""
    test: Literal["auto", "total", "prefix"] = "auto"
    """whose votes count; auto: total where there are any"""
    least: float = 0.04
    """confident: share of the tested sequences in which an edge has to be found, surely"""
    opportunity: float = 0.1
    """confident: share of the tested sequences that have the event type in which it has to be, surely"""
    tau: float = 0.5
    """static: least frequency"""
    tau_max: float = 0.5
    """adaptive: least frequency of the rarest labels"""
    tau_min: float = 0.05
    """adaptive: least frequency of the most frequent labels"""
    fpr: float = 0.05
    """fpr: share of the false edges that is let through"""
    penalty: float = 0.1
    """caig: an edge costs penalty * log(sequences / support + 1) nats; the paper gives no value"""

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise ConfigError(f"criterion={self.criterion!r}: use one of {', '.join(CRITERIA)}")
        if self.test not in ("auto", "total", "prefix"):
            raise ConfigError(f"test={self.test!r}: use auto, total or prefix")
        for name in ("least", "opportunity", "tau", "tau_max", "tau_min"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name}={getattr(self, name)}: use a share of the sequences, from 0 to 1")
        if self.tau_min > self.tau_max:
            raise ConfigError(f"tau_min={self.tau_min} is above tau_max={self.tau_max}; use one that is not")
        if not 0 < self.fpr < 1:
            raise ConfigError(f"fpr={self.fpr}: use a false-positive rate between 0 and 1")
        if not 0 <= self.penalty < math.inf:
            raise ConfigError(f"penalty={self.penalty}: use a number of nats, 0 or more")
