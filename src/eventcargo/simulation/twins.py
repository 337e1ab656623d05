"""The regime `twins`: a fleet in which every cause has a twin that nearly always comes with it.

The twin causes nothing, and occurs alone too: only there is it told from the cause.
"""

from dataclasses import dataclass

from eventcargo.config import setting
from eventcargo.simulation.fleet import FleetConfig, simulate_fleet
from eventcargo.simulation.simulated import Simulated


@dataclass(frozen=True)
class TwinsConfig(FleetConfig):
    """Settings of the regime `twins`."""

    sequences: int = setting(6_000, ge=1)
    event_types: int = setting(600, ge=8)
    labels: int = setting(20, ge=1)
    max_boundary: int = setting(8, ge=1)
    companion_share: float = setting(1.0, ge=0, le=1)
    companion_chance: float = setting(0.9, ge=0, le=1)
    twin_alone: float = setting(0.15, ge=0, le=10)
    precursor_share: float = setting(0.0, ge=0, le=1)
    rarest_support: int = setting(60, ge=1)


def simulate_twins(config: TwinsConfig, seed: int = 0) -> Simulated:
    """Simulate a fleet of twins.

    >>> simulated = simulate_twins(TwinsConfig(sequences=300))
    >>> len(simulated.data), len(simulated.truth.labels)
    (300, 20)
    """
    return simulate_fleet(config, seed, regime="twins")
