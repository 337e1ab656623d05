"""The regime `family`: many rare codes, any of which brings the label; no code explains much by itself.

Each label has a family of its own codes. As many other codes are as rare and cause nothing.
"""

from dataclasses import dataclass

import numpy as np

from eventcargo.config import check_at_least, setting
from eventcargo.simulation.background import draw_times
from eventcargo.simulation.scattered import MIN_COMMON, ScatteredConfig, amid_background, noisy_or
from eventcargo.simulation.simulated import Cause, Columns, Simulated, assemble, event_names


@dataclass(frozen=True)
class FamilyConfig(ScatteredConfig):
    """Settings of the regime `family`."""

    sequences: int = setting(6_000, ge=1)
    """number of sequences"""
    event_types: int = setting(500, ge=1)
    """number of event types; all that are no rare codes are background"""
    labels: int = setting(4, ge=1)
    """number of labels"""
    background_min: int = setting(20, ge=1)
    """fewest background events of a sequence"""
    background_max: int = setting(60, ge=1)
    """most background events of a sequence"""
    family_size: int = setting(30, ge=1)
    """rare codes that cause a label; each label has its own, and as many codes again cause nothing"""
    code_share: float = setting(0.004, gt=0, le=1)
    """share of sequences in which a rare code occurs"""
    strength: float = setting(0.8, gt=0, le=1)
    """probability that a code produces its label"""
    leak: float = setting(0.005, ge=0, le=1)
    """probability of the label without any of its codes"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self, "event_types", 2 * self.labels * self.family_size + MIN_COMMON)


def simulate_family(config: FamilyConfig, seed: int = 0) -> Simulated:
    """Simulate families of rare codes.

    >>> simulate_family(FamilyConfig(sequences=10, labels=1, family_size=3)).rules
    {'L000': 'E00221 | E00434 | E00109'}
    """
    rng = np.random.default_rng(seed)
    n_codes = config.labels * config.family_size
    rare = rng.permutation(config.event_types).astype(np.int32)[: 2 * n_codes]
    present = rng.random((config.sequences, len(rare))) < config.code_share
    owners = np.repeat(np.arange(config.labels), config.family_size)
    strengths = np.full(n_codes, config.strength)
    carried = noisy_or(rng, present[:, :n_codes], strengths, owners, config.leak)
    lengths, events = amid_background(rng, config, rare, present, rng.random(present.shape))
    names = event_names(config.event_types)
    truth = [
        Cause(dict.fromkeys(own, 1), " | ".join(names[code] for code in own))
        for own in rare[:n_codes].reshape(config.labels, -1).tolist()
    ]
    columns = Columns(lengths, events, draw_times(rng, lengths), carried)
    return assemble("family", config, seed, columns, truth)
