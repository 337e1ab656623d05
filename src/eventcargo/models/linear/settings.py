"""Settings of the linear term."""

from dataclasses import dataclass

from eventcargo.config import Settings, setting
from eventcargo.errors import ConfigError, argument
from eventcargo.features import FAMILIES


@dataclass(frozen=True)
class LinearConfig(Settings):
    """Settings of the linear term."""

    families: tuple[str, ...] = tuple(FAMILIES)
    """families of features that may be used; `presence` always is"""
    penalties: tuple[float, ...] = (32.0, 16.0, 8.0, 4.0, 2.0)
    """L1 penalties to try, largest first, until the held-out log-loss is clearly worse"""
    alpha: float = setting(0.05, gt=0, le=1)
    """largest p-value of a feature, divided by the number of features of its family; not for presence"""
    max_features: int = setting(1000, ge=1)
    """most features of a family that a label may use, the most dependent ones; not for presence"""
    min_support: int = setting(10, ge=1)
    """sequences in which a feature must hold"""
    max_moments: int = setting(10_000_000, ge=1)
    """most pairs of events per family of pairs, about; sets the window in which pairs are formed"""
    held_out: float = setting(0.2, gt=0, le=0.9)
    """share of sequences on which penalty and families are selected"""
    min_z: float = setting(2.0, ge=0)
    """standard errors by which a family must lower the held-out log-loss"""
    workers: int = setting(0, ge=0)
    """worker processes; 0: one per core where that pays; does not change the result"""

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = sorted(set(self.families) - set(FAMILIES))
        if unknown:
            raise ConfigError(f"families has {unknown[0]!r}: use some of {', '.join(FAMILIES)}")
        if not self.penalties or min(self.penalties) <= 0:
            raise ConfigError(f"{argument('penalties', self.penalties)}: use one or more numbers above 0")
