"""Deadline: when a piece of work has to end; work is cut into short pieces that look at it in between."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Deadline:
    """A moment of the monotonic clock.

    >>> Deadline.after(0.0).is_over, Deadline().is_over, Deadline.after(60.0).share(0.5).left < 31
    (True, False, True)
    """

    at: float = math.inf
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """The moment in this many seconds."""
        return cls(time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds until then; negative if it is over."""
        return self.at - self.clock()

    @property
    def is_over(self) -> bool:
        return self.left <= 0

    def share(self, share: float) -> "Deadline":
        """The moment at which this share of the time that is left will have passed."""
        return self if math.isinf(self.at) else Deadline(self.at - (1 - share) * self.left, self.clock)
