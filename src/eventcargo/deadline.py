"""Deadline: when a piece of work has to end; work is cut into short pieces that look at it in between."""

import math
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from eventcargo.errors import EventCargoWarning, counted

MOST_NAMED = 10
"""Most labels named in a warning."""


class OutOfTime(Exception):  # noqa: N818 (it is no error)
    """Raised in the middle of a piece of work that the deadline ends."""


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

    def check(self) -> None:
        """Raise `OutOfTime` if it is over."""
        if self.is_over:
            raise OutOfTime


@contextmanager
def cut_at(deadline: Deadline) -> Iterator[None]:
    """Raise `OutOfTime` within the block when the deadline is over, wherever its work is by then.

    This is for work that cannot look at a deadline itself. It needs the alarm of a Unix system and the main
    thread; elsewhere the block runs to its end.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if math.isinf(deadline.at) or not is_main or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(deadline.left, SOON))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


SOON = 1e-3
"""Seconds until the alarm of a deadline that is over; 0 would be none."""

NEVER = Deadline()
"""The deadline of work that may take as long as it needs."""


def warn_of_left_out(what: str, labels: Sequence[str], n_labels: int, enough: str = "more") -> None:
    """Warn of labels for which there was no time, named in the given order; nothing if there are none.

    `enough` is the time to allow, if it is known.
    """
    if labels:
        some = ", ".join(labels[:MOST_NAMED]) + (", ..." if len(labels) > MOST_NAMED else "")
        share = f"{len(labels):,} of {counted(n_labels, 'label')} ({some})"
        warnings.warn(f"for lack of time, {what} of {share}; allow {enough}", EventCargoWarning, stacklevel=3)
