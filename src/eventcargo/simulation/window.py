"""The regime `window`: a label holds iff an event b comes at most `most` events after an event a.

Both occur in every sequence, equally often with the label and without it. The sign of both is 0: neither
promotes or inhibits by itself.
"""

from dataclasses import dataclass

from eventcargo.config import setting
from eventcargo.simulation.rearranged import RearrangedConfig, simulate_rearranged
from eventcargo.simulation.simulated import Simulated


@dataclass(frozen=True)
class WindowConfig(RearrangedConfig):
    """Settings of the regime `window`."""

    length_min: int = setting(40, ge=1)
    """shortest sequence, in events"""
    most: int = setting(4, ge=1)
    """the label holds if b comes at most this many events after a"""

    @property
    def spare(self) -> int:
        """So many fillers that the events of other labels leave two places at most `most` apart."""
        return (self.labels - 1) * 2 * self.occurrences_max // self.most + 1


def simulate_window(config: WindowConfig, seed: int = 0) -> Simulated:
    """Simulate sequences in which a small number of events from one event to another decides.

    >>> simulate_window(WindowConfig(sequences=10, labels=1)).rules
    {'L000': 'E00011 at most 4 events after E00002'}
    """
    return simulate_rearranged("window", config, seed, "window", (config.most,))
