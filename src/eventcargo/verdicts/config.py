"""The settings of verdicts: what is asked of a boundary."""

from dataclasses import dataclass

from eventcargo.errors import ConfigError


@dataclass(frozen=True)
class JudgeConfig:
    """What is asked of a boundary."""

    too_few: int = 10
    """sequences with a label below which nothing is believed"""
    few: int = 30
    """sequences with a label below which care is needed"""
    min_stability: float = 0.8
    """share of bootstrap samples in which an edge must be found"""
    widest: float = 0.5
    """widest interval of an edge's frequency"""
    min_explained: float = 0.5
    """share of a label's uncertainty that its boundary must explain; below a fifth of it, doubt"""
    lag: float = 0.15
    """by how much the boundary may explain less than the label model does"""
    alpha: float = 0.01
    """chance of any false alarm in the search for what the boundaries leave"""
    min_share: float = 0.05
    """sequences that something left must account for, as a share of those with the label"""

    def __post_init__(self) -> None:
        if not 1 <= self.too_few <= self.few:
            raise ConfigError(f"too_few={self.too_few}, few={self.few}: use 1 <= too_few <= few")
        for name in ("min_stability", "widest", "min_explained", "lag", "min_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name}={getattr(self, name)}: use a share from 0 to 1")
        if not 0 < self.alpha < 1:
            raise ConfigError(f"alpha={self.alpha}: use a chance between 0 and 1")
