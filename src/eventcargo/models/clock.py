"""Clock: how much of a training run's budget is used, and how often there is time for a check."""

import math
import time

from eventcargo.models.parallel import Team
from eventcargo.models.settings import TrainConfig

CHECK_SHARE = 0.1
"""Share of a run's time that checks of the held-out sequences may take."""

MOST_RESERVED = 0.3
"""Largest share of a run's time that is kept free for what comes after the last step."""


class Clock:
    """The time of a run: what went before (`resumed_at`), the linear term, the steps, and the end.

    `end_checks` says how many checks' time the end takes; so much is kept free for it.
    """

    def __init__(self, config: TrainConfig, team: Team) -> None:
        self._config, self._team = config, team
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
        reserved = min(self._check_seconds * self.end_checks, MOST_RESERVED * limit)
        used = self._config.used(step, self.elapsed - spent, reserved + spent)
        return self._team.agree(used)[0] if math.isfinite(limit) else used

    def left(self, used: float) -> float:
        """Seconds until the last step, by what the steps so far have taken."""
        return (self.elapsed - self.term_seconds) * (1 - used) / max(used, 1e-9)

    def note_check(self, began: float) -> None:
        """A check that began at this time is over."""
        self._check_seconds = self._team.agree(time.monotonic() - began)[0]

    def checks(self) -> int:
        """How often to look; a run bounded by time spends no more than a tenth of it on looking."""
        room = CHECK_SHARE * self._config.time_limit
        if not self._check_seconds or math.isinf(room):
            return self._config.checks
        return min(self._config.checks, max(1, int(room / self._check_seconds)))
