"""The regime `switch`: a label holds iff the last event a comes after the last event b.

Both occur in every sequence, equally often with the label and without it. Event a switches the label on, b
switches it off; only the last of them counts.
"""

from dataclasses import dataclass

from eventcargo.config import setting
from eventcargo.simulation.rearranged import RearrangedConfig, simulate_rearranged
from eventcargo.simulation.simulated import Simulated


@dataclass(frozen=True)
class SwitchConfig(RearrangedConfig):
    """Settings of the regime `switch`."""

    length_min: int = setting(41, ge=1)
    """shortest sequence, in events"""
    occurrences_min: int = setting(2, ge=1)
    """fewest occurrences of each event type of a label in a sequence"""
    occurrences_max: int = setting(4, ge=1)
    """most occurrences of each event type of a label in a sequence"""


def simulate_switch(config: SwitchConfig, seed: int = 0) -> Simulated:
    """Simulate sequences in which the last of two event types decides.

    >>> simulate_switch(SwitchConfig(sequences=10, labels=1)).rules
    {'L000': 'last E00002 after last E00011'}
    """
    return simulate_rearranged("switch", config, seed, "switch")
