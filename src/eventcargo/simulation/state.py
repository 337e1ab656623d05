"""The regime `state`: a label holds iff event a occurs while m1 is on: m1 came before it, and no m2 since.

All three occur in every sequence, equally often with the label and without it. Event a and the event m1 that
switches on promote the label, the event m2 that switches off inhibits it.
"""

from dataclasses import dataclass
from typing import ClassVar

from eventcargo.config import setting
from eventcargo.simulation.rearranged import RearrangedConfig, simulate_rearranged
from eventcargo.simulation.simulated import Simulated


@dataclass(frozen=True)
class StateConfig(RearrangedConfig):
    """Settings of the regime `state`."""

    length_min: int = setting(46, ge=1)
    """shortest sequence, in events"""

    types_per_label: ClassVar[int] = 3


def simulate_state(config: StateConfig, seed: int = 0) -> Simulated:
    """Simulate sequences in which the state that an event meets decides.

    >>> simulate_state(StateConfig(sequences=10, labels=1)).rules
    {'L000': 'E00002 after E00011 without E00026 between'}
    """
    return simulate_rearranged("state", config, seed, "state")
