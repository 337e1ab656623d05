import asyncio
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from eventcargo.deadline import Deadline, OutOfTime
from eventcargo.service.problems import Problem
from eventcargo.service.work_queue import WorkQueue

BOUND = 20.0
"""Seconds after which work that should have been cut ends by itself."""


def result_of(waiting: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine gives in a thread of its own; a browser of other tests keeps a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, asyncio.wait_for(waiting, BOUND)).result()


def test_work_is_done_in_order(work: WorkQueue) -> None:
    done: list[int] = []

    def note(number: int) -> bytes:
        done.append(number)
        return b"%d" % number

    async def several() -> list[bytes]:
        return await asyncio.gather(*(work.do(partial(note, n), Deadline.after(60)) for n in range(20)))

    assert result_of(several()) == [b"%d" % n for n in range(20)]
    assert done == list(range(20))


def test_an_error_reaches_who_waits_and_the_next_work_is_done(work: WorkQueue) -> None:
    def fail() -> bytes:
        raise ValueError("five")

    with pytest.raises(ValueError, match="five"):
        result_of(work.do(fail, Deadline.after(60)))
    assert result_of(work.do(lambda: b"fine", Deadline.after(60))) == b"fine"


def test_work_whose_time_is_over_is_not_begun(work: WorkQueue) -> None:
    begun: list[bool] = []
    with pytest.raises(OutOfTime):
        result_of(work.do(lambda: begun.append(True) or b"", Deadline.after(0)))  # type: ignore[func-returns-value]
    assert begun == []


def test_work_that_nobody_waits_for_any_more_is_left_out() -> None:
    queue, begun = WorkQueue(1), list[bool]()
    with pytest.raises(OutOfTime):
        result_of(queue.do(lambda: begun.append(True) or b"", Deadline.after(0)))  # type: ignore[func-returns-value]
    queue.stop()
    queue.run()
    assert begun == []


def test_work_in_the_main_thread_is_cut_wherever_it_is() -> None:
    queue, raised, ended = WorkQueue(1), list[type[BaseException]](), list[bool]()

    def long() -> bytes:
        end = time.monotonic() + BOUND
        while time.monotonic() < end:
            time.sleep(0.001)
        ended.append(True)
        return b""

    def wait() -> None:
        try:
            asyncio.run(queue.do(long, Deadline.after(0.05)))
        except OutOfTime as end:
            raised.append(type(end))
        finally:
            queue.stop()

    waiting = threading.Thread(target=wait)
    waiting.start()
    queue.run()
    waiting.join()
    assert (raised, ended) == ([OutOfTime], [])


def test_a_full_queue_refuses_until_a_place_is_free() -> None:
    queue = WorkQueue(2)
    with queue.place(), queue.place():
        assert queue.taken == 2
        with pytest.raises(Problem, match="2 requests are waiting already") as refusal, queue.place():
            pass
        assert (refusal.value.status, refusal.value.headers) == (503, {"Retry-After": "1"})
    with queue.place():
        assert queue.taken == 1
