"""WorkQueue: one request is worked on at a time, a few wait, and each is cut when its time is over.

The model computes in the main thread, because only there can work be cut wherever it is (`cut_at`); the
connections have a thread of their own, which waits without blocking.
"""

import asyncio
import contextlib
import queue
from collections.abc import Callable, Iterator
from concurrent.futures import Future

from eventcargo.deadline import Deadline, OutOfTime, cut_at
from eventcargo.service.problems import Problem

RETRY_SECONDS = 1
"""When a request that found no place may come back."""

GRACE = 0.5
"""Seconds that work has to notice that its time is over, before its request is answered without it."""


class WorkQueue:
    """Work of requests, done in the order in which it came.

    >>> work = WorkQueue(places=1)
    >>> with work.place():
    ...     with work.place():
    ...         pass
    Traceback (most recent call last):
    eventcargo.service.problems.Problem: 1 request is waiting already; try again in a moment
    """

    def __init__(self, places: int) -> None:
        self._places, self._taken = places, 0
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    @property
    def taken(self) -> int:
        """Requests that are waiting or worked on."""
        return self._taken

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """A place for a request, from its first byte to its answer; refused if all are taken."""
        if self._taken >= self._places:
            waiting = "1 request is" if self._places == 1 else f"{self._places:,} requests are"
            again = {"Retry-After": str(RETRY_SECONDS)}
            raise Problem(503, f"{waiting} waiting already; try again in a moment", again)
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1

    async def do(self, work: Callable[[], bytes], deadline: Deadline) -> bytes:
        """The result of some work, once it is its turn; `OutOfTime` if the deadline is over before."""
        result: Future[bytes] = Future()
        self._jobs.put(lambda: _do(work, deadline, result))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(result), max(deadline.left, 0) + GRACE)
        except TimeoutError:
            raise OutOfTime from None

    def run(self) -> None:
        """Do the work of all requests, until `stop`."""
        while (job := self._jobs.get()) is not None:
            job()

    def stop(self) -> None:
        """Let `run` return once the work that waits is done."""
        self._jobs.put(None)


def _do(work: Callable[[], bytes], deadline: Deadline, result: "Future[bytes]") -> None:
    """Do some work unless nobody waits for it any more."""
    if not result.set_running_or_notify_cancel():
        return
    try:
        deadline.check()
        with cut_at(deadline):
            done = work()
    except BaseException as error:  # whoever waits for the result handles it
        result.set_exception(error)
    else:
        result.set_result(done)
