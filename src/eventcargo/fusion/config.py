"""Settings of phase 2: the criterion that turns votes into edges."""

from dataclasses import dataclass
from typing import Literal, get_args

from eventcargo.config import Settings, setting
from eventcargo.errors import ConfigError, argument

Criterion = Literal["pooled", "confident", "adaptive", "static", "union", "fpr", "bes", "caig"]
CRITERIA = get_args(Criterion)


@dataclass(frozen=True)
class FuseConfig(Settings):
    """Settings of phase 2."""

    criterion: Criterion = "pooled"
    """pooled: the evidence of all sequences together is no accident; confident: surely frequent enough, in
    sequences with or without the label; from the paper: adaptive, static, union (by frequency), fpr, bes,
    caig (by mutual information)"""
    test: Literal["auto", "total", "prefix"] = "auto"
    """the test whose votes count; auto: total if it has votes, else prefix"""
    alpha: float = setting(0.05, gt=0, lt=1)
    """pooled: false-discovery rate"""
    min_frequency: float = setting(0.04, ge=0, le=1)
    """confident: smallest share of tested sequences that vote for an edge, lower end of its 95 % interval"""
    min_opportunity: float = setting(0.1, ge=0, le=1)
    """confident: the same among the tested sequences in which the event type occurs"""
    tau: float = setting(0.5, ge=0, le=1)
    """static: smallest frequency of an edge"""
    tau_max: float = setting(0.5, ge=0, le=1)
    """adaptive: smallest frequency of an edge of the rarest labels"""
    tau_min: float = setting(0.05, ge=0, le=1)
    """adaptive: smallest frequency of an edge of the most frequent labels"""
    fpr: float = setting(0.05, gt=0, lt=1)
    """fpr: share of false edges that pass"""
    penalty: float = setting(0.1, ge=0)
    """caig: an edge costs penalty * log(sequences / support + 1) nats; the paper gives no value"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tau_min > self.tau_max:
            raise ConfigError(
                f"{argument('tau_min', self.tau_min)} is above {argument('tau_max', self.tau_max)}; "
                "choose tau_min <= tau_max"
            )
