"""The regime `scarce`: a fleet with few sequences, in which most labels have a few dozen positives or fewer.

Meant for 300, 1,000 and 3,000 sequences.
"""

from dataclasses import dataclass

from eventcargo.config import setting
from eventcargo.simulation.fleet import FleetConfig, simulate_fleet
from eventcargo.simulation.simulated import Simulated


@dataclass(frozen=True)
class ScarceConfig(FleetConfig):
    """Settings of the regime `scarce`."""

    sequences: int = setting(1_000, ge=1)
    event_types: int = setting(400, ge=8)
    labels: int = setting(15, ge=1)
    length_mean: float = setting(60.0, gt=0)
    length_sd: float = setting(20.0, ge=0)
    length_min: int = setting(15, ge=1)
    length_max: int = setting(120, ge=1)
    max_boundary: int = setting(6, ge=1)
    rarest_support: int = setting(15, ge=1)


def simulate_scarce(config: ScarceConfig, seed: int = 0) -> Simulated:
    """Simulate a fleet with few sequences.

    >>> simulated = simulate_scarce(ScarceConfig(sequences=300))
    >>> len(simulated.data), len(simulated.truth.labels)
    (300, 15)
    """
    return simulate_fleet(config, seed, regime="scarce")
