"""Settings of the test of a graph on the data."""

from dataclasses import dataclass

from eventcargo.config import Settings, setting


@dataclass(frozen=True)
class VerifyConfig(Settings):
    """Settings of the test of a graph on the data."""

    alpha: float = setting(0.05, gt=0, lt=1)
    """false-discovery rate among confirmed edges; an added edge is tested at alpha / number of event types"""
    min_gain: float = setting(0.05, gt=0)
    """smallest gain of a member named beside its family, in nats per sequence with the label; an arrangement
    that others are tested given needs twice as much; no edge is dropped for it"""
    rounds: int = setting(60, ge=0)
    """most event types added to a boundary; 0 adds none"""
