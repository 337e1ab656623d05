"""Settings of verdicts: when a boundary earns caution or doubt."""

from dataclasses import dataclass

from eventcargo.config import Settings, setting
from eventcargo.errors import ConfigError, argument


@dataclass(frozen=True)
class JudgeConfig(Settings):
    """Settings of verdicts."""

    doubt_below: int = setting(10, ge=1)
    """fewer sequences with the label than this give doubt"""
    caution_below: int = setting(30, ge=1)
    """fewer sequences with the label than this give caution"""
    min_stability: float = setting(0.8, ge=0, le=1)
    """smallest stability of an edge: share of bootstrap samples that keep it"""
    max_interval: float = setting(0.5, ge=0, le=1)
    """widest 95 % interval of an edge's frequency"""
    min_explained: float = setting(0.5, ge=0, le=1)
    """share of a label's uncertainty below which the boundary may not be all; if a member brings the label by
    itself, caution, and below a fifth of this share doubt"""
    max_lag: float = setting(0.15, ge=0, le=1)
    """most that the label model may explain beyond the boundary; more gives caution"""
    alpha: float = setting(0.01, gt=0, lt=1)
    """probability of any false alarm among associations that the boundaries leave unexplained"""
    min_share: float = setting(0.05, ge=0, le=1)
    """smallest unexplained association, as a share of the sequences with the label"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.doubt_below > self.caution_below:
            raise ConfigError(
                f"{argument('doubt_below', self.doubt_below)} is above "
                f"{argument('caution_below', self.caution_below)}; "
                "lower the first or raise the second"
            )
