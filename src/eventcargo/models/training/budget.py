"""How long training runs, and the learning rate as a function of the share of that budget used."""

import math
import re
import time
from dataclasses import dataclass

from eventcargo.errors import ConfigError
from eventcargo.models.training.distributed import ProcessGroup

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
DEFAULT_SECONDS = 600.0


@dataclass(frozen=True)
class BudgetConfig:
    """The bound of a run, by time, by steps or by both, whichever comes first."""

    max_time: str = ""
    """bound by time: 90s, 10m, 1.5h; empty: no such bound, or 10m where steps is 0"""
    steps: int = 0
    """bound by steps; 0: no such bound"""
    learning_rate: float = 0.0015
    """learning rate after the warm-up"""
    warmup: float = 0.05
    """share of the budget in which the learning rate rises; then it falls as a cosine to 0 at the end"""
    pretrain: float = 0.0
    """share of the budget in which the next event is learnt alone, before the labels; the learning rate rises
    and falls in each of the two parts"""

    def __post_init__(self) -> None:
        if self.max_time:
            seconds(self.max_time)
        if self.steps < 0:
            raise ConfigError(f"steps={self.steps}: use 1 or more, or 0 to bound the run by time")
        if not 0 < self.learning_rate < math.inf:
            raise ConfigError(f"learning_rate={self.learning_rate}: use a number above 0")
        if not 0 <= self.warmup < 1:
            raise ConfigError(f"warmup={self.warmup}: use 0 to below 1")
        if not 0 <= self.pretrain < 1:
            raise ConfigError(f"pretrain={self.pretrain}: use 0 to below 1")

    @property
    def time_limit(self) -> float:
        """Seconds a run may take."""
        if self.max_time:
            return seconds(self.max_time)
        return math.inf if self.steps else DEFAULT_SECONDS

    def used(self, step: int, elapsed: float, reserved: float = 0.0) -> float:
        """Share of the budget used up; `reserved` seconds are kept for what comes after the last step."""
        limit = max(self.time_limit - reserved, 1e-9)
        by_steps = step / self.steps if self.steps else 0.0
        return min(max(by_steps, elapsed / limit), 1.0)

    def rate(self, used: float) -> float:
        """Learning rate where a share of the budget is used.

        >>> config = BudgetConfig(steps=100, learning_rate=1.0, warmup=0.1)
        >>> [round(config.rate(used), 3) for used in (0.05, 0.1, 0.55, 1.0)]
        [0.5, 1.0, 0.5, 0.0]
        """
        first = used < self.pretrain
        used = used / self.pretrain if first else (used - self.pretrain) / (1 - self.pretrain)
        if used < self.warmup:
            return self.learning_rate * used / self.warmup
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * (used - self.warmup) / (1 - self.warmup)))


def seconds(text: str) -> float:
    """Seconds of a duration in words.

    >>> seconds("1.5h"), seconds("90s"), seconds("90")
    (5400.0, 90.0, 90.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if not found or float(found[1]) == 0:
        raise ConfigError(f"max_time={text!r}: use a number with s, m or h, such as 90s, 10m or 1.5h")
    return float(found[1]) * UNITS[found[2] or "s"]


CHECK_SHARE = 0.1
"""Share of a run's time that checks of the held-out sequences may take."""

MAX_RESERVED = 0.3
"""Largest share of a run's time that is kept free for what comes after the last step."""


class Clock:
    """The time of a run: what went before (`resumed_at`), the linear term, the steps, and the end.

    `end_checks` says how many checks' time the end takes; so much is kept free for it.
    """

    def __init__(self, config: BudgetConfig, checks: int, group: ProcessGroup) -> None:
        self._config, self._checks, self._group = config, checks, group
        self._started = time.monotonic()
        self._resumed_at = self._prepared = self._check_seconds = 0.0
        self.term_seconds, self.end_checks = 0.0, 1.0

    def begin(self, elapsed: float) -> None:
        """The steps begin; `elapsed` is what a checkpoint says, 0 without one.

        Without one, a linear term that was read and not fitted here has taken its time before.
        """
        self._resumed_at = elapsed or max(0.0, self.term_seconds - self._here())
        self._prepared = self._here()

    def _here(self) -> float:
        return time.monotonic() - self._started

    @property
    def elapsed(self) -> float:
        """Seconds the run has taken, over all its processes."""
        return self._resumed_at + self._here()

    @property
    def stepping(self) -> float:
        """Seconds since the steps began here."""
        return max(self._here() - self._prepared, 1e-9)

    def used(self, step: int) -> float:
        """Share of the budget used when this many steps are done, the same in all processes."""
        limit, spent = self._config.time_limit, self.term_seconds
        reserved = min(self._check_seconds * self.end_checks, MAX_RESERVED * limit)
        used = self._config.used(step, self.elapsed - spent, reserved + spent)
        return self._group.broadcast(used)[0] if math.isfinite(limit) else used

    def left(self, used: float) -> float:
        """Seconds until the last step, by what the steps so far have taken."""
        return (self.elapsed - self.term_seconds) * (1 - used) / max(used, 1e-9)

    def note_check(self, began: float) -> None:
        """A check that began at this time is over."""
        self._check_seconds = self._group.broadcast(time.monotonic() - began)[0]

    def checks(self) -> int:
        """How often to look; a run bounded by time spends no more than a tenth of it on looking."""
        room = CHECK_SHARE * self._config.time_limit
        if not self._check_seconds or math.isinf(room):
            return self._checks
        return min(self._checks, max(1, int(room / self._check_seconds)))
