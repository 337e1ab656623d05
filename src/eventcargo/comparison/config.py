"""Settings of the comparison of two runs."""

from dataclasses import dataclass

from eventcargo.config import Settings, setting


@dataclass(frozen=True)
class CompareConfig(Settings):
    """Settings of the comparison of two runs."""

    alpha: float = setting(0.05, gt=0, lt=1)
    """false-discovery rate among the changes that are reported"""
