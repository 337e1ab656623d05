"""The budget of a training run, and the learning rate as a function of the share used."""

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eventcargo.config import Settings, setting
from eventcargo.deadline import NEVER, Deadline
from eventcargo.durations import parse_duration

if TYPE_CHECKING:
    from eventcargo.models.training.distributed import ProcessGroup

DEFAULT_SECONDS = 600.0


@dataclass(frozen=True)
class BudgetConfig(Settings):
    """The limit of a run, by time, by steps or by both, whichever is reached first."""

    max_time: str = ""
    """time limit, such as 90s, 10m or 1h30m; empty: none, or 10m if steps is 0"""
    steps: int = setting(0, ge=0)
    """step limit; 0: none"""
    learning_rate: float = setting(0.0015, gt=0)
    """learning rate after the warm-up"""
    warmup: float = setting(0.05, ge=0, lt=1)
    """share of the budget in which the learning rate rises; then it falls to 0 along a cosine"""
    pretrain: float = setting(0.0, ge=0, lt=1)
    """share of the budget that trains the next event alone, before the labels; the learning rate rises and
    falls in each of the two stages"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_time:
            parse_duration(self.max_time, "max_time")

    @property
    def time_limit(self) -> float:
        """Seconds that a run may take."""
        if self.max_time:
            return parse_duration(self.max_time, "max_time")
        return math.inf if self.steps else DEFAULT_SECONDS

    def used(self, step: int, elapsed: float, reserved: float = 0.0, limit: float = math.inf) -> float:
        """Share of the budget used; `reserved` seconds are kept for the work after the last step.

        `limit` is a time limit besides that of the settings.
        """
        limit = max(min(self.time_limit, limit) - reserved, 1e-9)
        by_steps = step / self.steps if self.steps else 0.0
        return min(max(by_steps, elapsed / limit), 1.0)

    def rate(self, used: float) -> float:
        """Learning rate after this share of the budget.

        >>> config = BudgetConfig(steps=100, learning_rate=1.0, warmup=0.1)
        >>> [round(config.rate(used), 3) for used in (0.05, 0.1, 0.55, 1.0)]
        [0.5, 1.0, 0.5, 0.0]
        """
        first = used < self.pretrain
        used = used / self.pretrain if first else (used - self.pretrain) / (1 - self.pretrain)
        if used < self.warmup:
            return self.learning_rate * used / self.warmup
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * (used - self.warmup) / (1 - self.warmup)))


CHECK_SHARE = 0.1
"""Largest share of a run's time for checks on the held-out sequences."""

MAX_RESERVED = 0.3
"""Largest share of a run's time reserved for the work after the last step."""


class Clock:
    """The time of a run: before it was resumed, for the linear term, for the steps and for the end.

    `end_checks` is the time to reserve for the end, in units of one check.
    """

    def __init__(
        self, config: BudgetConfig, checks: int, group: "ProcessGroup", deadline: Deadline = NEVER
    ) -> None:
        self._config, self._checks, self._group, self._deadline = config, checks, group, deadline
        self._started = time.monotonic()
        self._resumed_at = self._prepared = self._check_seconds = 0.0
        self.term_seconds, self.end_checks = 0.0, 1.0

    def begin(self, elapsed: float) -> None:
        """Start the steps; `elapsed` is the time from a checkpoint, 0 without one.

        Without a checkpoint, a linear term that was read instead of fitted counts the time its fit took.
        """
        self._resumed_at = elapsed or max(0.0, self.term_seconds - self._here())
        self._prepared = self._here()

    def _here(self) -> float:
        return time.monotonic() - self._started

    @property
    def elapsed(self) -> float:
        """Seconds the run has taken, including those before it was resumed."""
        return self._resumed_at + self._here()

    @property
    def stepping(self) -> float:
        """Seconds since the steps began in this process."""
        return max(self._here() - self._prepared, 1e-9)

    @property
    def limit(self) -> float:
        """Seconds that the run may take, including those before it was resumed."""
        return min(self._config.time_limit, self._resumed_at + self._deadline.at - self._started)

    @property
    def seconds_left(self) -> float:
        return self.limit - self.elapsed

    @property
    def check_seconds(self) -> float:
        """Seconds of the last check."""
        return self._check_seconds

    def used(self, step: int) -> float:
        """Share of the budget used after this many steps, the same in all processes."""
        limit, spent = self.limit, self.term_seconds
        reserved = min(self._check_seconds * self.end_checks, MAX_RESERVED * limit)
        used = self._config.used(step, self.elapsed - spent, reserved + spent, limit)
        return self._group.broadcast(used)[0] if math.isfinite(limit) else used

    def left(self, used: float) -> float:
        """Estimated seconds until the last step, at the pace so far."""
        return (self.elapsed - self.term_seconds) * (1 - used) / max(used, 1e-9)

    def note_check(self, began: float) -> None:
        """Record the duration of a check that began at this time."""
        self._check_seconds = self._group.broadcast(time.monotonic() - began)[0]

    def checks(self) -> int:
        """Number of checks; with a time limit, they take no more than a tenth of it."""
        room = CHECK_SHARE * self.limit
        if not self._check_seconds or math.isinf(room):
            return self._checks
        return min(self._checks, max(1, int(room / self._check_seconds)))
