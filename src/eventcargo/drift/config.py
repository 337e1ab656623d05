"""Settings of the search for drift: how much is much, and how sure one has to be."""

from dataclasses import dataclass

from eventcargo.config import Settings, setting


@dataclass(frozen=True)
class DriftConfig(Settings):
    """When new sequences are called different; a change that is sure but small is none."""

    alpha: float = setting(0.05, gt=0, lt=1)
    """chance of calling a model out of date that is not, all checks together"""
    least_ratio: float = setting(1.25, gt=1)
    """event types and labels count as changed if they are at least so many times as frequent, or as rare"""
    least_unknown: float = setting(0.01, ge=0, lt=1)
    """events of unknown types count as more if their share has grown by more than this"""
