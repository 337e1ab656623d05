"""The regime `noisy`: a fleet in which many labels are wrong: some are lost, and as many false ones added."""

from dataclasses import dataclass

from eventcargo.config import setting
from eventcargo.simulation.fleet import FleetConfig, simulate_fleet
from eventcargo.simulation.simulated import Simulated


@dataclass(frozen=True)
class NoisyConfig(FleetConfig):
    """Settings of the regime `noisy`."""

    sequences: int = setting(6_000, ge=1)
    event_types: int = setting(600, ge=8)
    labels: int = setting(20, ge=1)
    label_noise: float = setting(0.15, ge=0, le=1)
    max_boundary: int = setting(8, ge=1)
    rarest_support: int = setting(60, ge=1)


def simulate_noisy(config: NoisyConfig, seed: int = 0) -> Simulated:
    """Simulate a fleet with wrong labels.

    >>> simulated = simulate_noisy(NoisyConfig(sequences=300))
    >>> len(simulated.data), len(simulated.truth.labels)
    (300, 20)
    """
    return simulate_fleet(config, seed, regime="noisy")
