"""The regime `log_odds`: each cause multiplies the odds of the label, up or down, as in logistic regression.

The log odds of a label are those of the base rate plus the sum over its causes that occur. No cause decides
by itself, and none is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.config import check_at_least, setting
from eventcargo.simulation.background import draw_times
from eventcargo.simulation.prevention import leave_out, prevented_types
from eventcargo.simulation.scattered import (
    MIN_COMMON,
    ScatteredConfig,
    amid_background,
    check_span,
    draw_owners,
)
from eventcargo.simulation.simulated import Cause, Columns, Simulated, assemble, event_names


@dataclass(frozen=True)
class LogOddsConfig(ScatteredConfig):
    """Settings of the regime `log_odds`."""

    sequences: int = setting(8_000, ge=1)
    """number of sequences"""
    event_types: int = setting(600, ge=1)
    """number of event types; all that are no causes are background"""
    labels: int = setting(20, ge=1)
    """number of labels"""
    background_min: int = setting(10, ge=1)
    """fewest background events of a sequence"""
    background_max: int = setting(45, ge=1)
    """most background events of a sequence"""
    causes_min: int = setting(2, ge=1)
    """fewest causes of a label"""
    causes_max: int = setting(6, ge=1)
    """most causes of a label"""
    odds_min: float = setting(2.0, gt=1, le=1_000)
    """smallest factor by which a cause multiplies or divides the odds of the label"""
    odds_max: float = setting(9.0, gt=1, le=1_000)
    """largest factor by which a cause multiplies or divides the odds of the label"""
    inhibiting_share: float = setting(0.3, ge=0, le=1)
    """probability that a cause inhibits; every label has a cause that promotes"""
    base_rate: float = setting(0.02, gt=0, lt=1)
    """probability of the label without any cause"""
    cause_share_min: float = setting(0.05, gt=0, lt=1)
    """lowest share of sequences in which a cause occurs"""
    cause_share_max: float = setting(0.3, gt=0, lt=1)
    """highest share of sequences in which a cause occurs"""
    without: tuple[str, ...] = ()
    """event type that is prevented, with all that it would have caused; repeat for more"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("causes", "odds", "cause_share"):
            check_span(self, name)
        check_at_least(self, "event_types", self.labels * self.causes_max + MIN_COMMON)


def simulate_log_odds(config: LogOddsConfig, seed: int = 0) -> Simulated:
    """Simulate causes that shift the log odds of labels.

    >>> simulate_log_odds(LogOddsConfig(sequences=10, labels=1, causes_max=3)).rules
    {'L000': 'odds: E00576 x 5.69, E00229 x 5.69, E00363 x 2.68'}
    """
    rng, absent = np.random.default_rng(seed), prevented_types(config.without, config.event_types)
    owners = draw_owners(rng, config.labels, config.causes_min, config.causes_max)
    causes = rng.permutation(config.event_types).astype(np.int32)[: len(owners)]
    shifts = _draw_shifts(rng, config, owners)
    shares = rng.uniform(config.cause_share_min, config.cause_share_max, len(owners))
    present = rng.random((config.sequences, len(owners))) < shares
    acting = present & ~np.isin(causes, absent)
    carried = _draw_labels(rng, config, acting, shifts * (owners == np.arange(config.labels)[:, None]))
    lengths, events = amid_background(rng, config, causes, present, rng.random(present.shape))
    names = event_names(config.event_types)
    truth = [_cause(names, causes[own], shifts[own]) for own in _groups(owners, config.labels)]
    columns = leave_out(Columns(lengths, events, draw_times(rng, lengths), carried), absent)
    return assemble("log_odds", config, seed, columns, truth)


def _groups(owners: NDArray[np.int64], labels: int) -> list[NDArray[np.bool_]]:
    """Which causes belong to each label."""
    return [np.asarray(owners == label) for label in range(labels)]


def _draw_shifts(
    rng: np.random.Generator, config: LogOddsConfig, owners: NDArray[np.int64]
) -> NDArray[np.float64]:
    """What each cause adds to the log odds of its label; at least one cause of a label promotes."""
    sizes = rng.uniform(np.log(config.odds_min), np.log(config.odds_max), len(owners))
    inhibits = rng.random(len(owners)) < config.inhibiting_share
    for own in _groups(owners, config.labels):
        if inhibits[own].all():
            inhibits[np.argmax(own)] = False
    return np.where(inhibits, -sizes, sizes)


def _draw_labels(
    rng: np.random.Generator, config: LogOddsConfig, present: NDArray[np.bool_], shifts: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """The labels, (sequences, labels), by the shifts (labels, causes) of the causes that occur."""
    log_odds = np.log(config.base_rate / (1 - config.base_rate)) + present @ shifts.T
    return np.asarray(rng.random(log_odds.shape) < 1 / (1 + np.exp(-log_odds)))


def _cause(names: Sequence[str], causes: NDArray[np.int32], shifts: NDArray[np.float64]) -> Cause:
    """The truth about one label: what each cause multiplies its odds by."""
    pairs = list(zip(causes.tolist(), shifts.tolist(), strict=True))
    words = [f"{names[event]} x {np.exp(shift):.3g}" for event, shift in pairs]
    return Cause({event: 1 if shift > 0 else -1 for event, shift in pairs}, f"odds: {', '.join(words)}")
