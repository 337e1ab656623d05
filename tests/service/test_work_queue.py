import asyncio
import threading
import time
from functools import partial

import pytest

from eventcargo.deadline import Deadline, OutOfTime
from eventcargo.service.problems import Problem
from eventcargo.service.work_queue import WorkQueue


def test_work_is_done_in_order(work: WorkQueue) -> None:
    done: list[int] = []

    def note(number: int) -> bytes:
        done.append(number)
        return b"%d" % number

    async def several() -> list[bytes]:
        return await asyncio.gather(*(work.do(partial(note, n), Deadline.after(60)) for n in range(20)))

    assert asyncio.run(several()) == [b"%d" % n for n in range(20)]
    assert done == list(range(20))


def test_an_error_reaches_who_waits_and_the_next_work_is_done(work: WorkQueue) -> None:
    def fail() -> bytes:
        raise ValueError("five")

    with pytest.raises(ValueError, match="five"):
        asyncio.run(work.do(fail, Deadline.after(60)))
    assert asyncio.run(work.do(lambda: b"fine", Deadline.after(60))) == b"fine"


def test_work_whose_time_is_over_is_not_begun(work: WorkQueue) -> None:
    begun: list[bool] = []
    with pytest.raises(OutOfTime):
        asyncio.run(work.do(lambda: begun.append(True) or b"", Deadline.after(0)))  # type: ignore[func-returns-value]
    assert begun == []


def test_work_in_the_main_thread_is_cut_wherever_it_is() -> None:
    queue, raised = WorkQueue(1), list[type[BaseException]]()

    def forever() -> bytes:
        while True:
            time.sleep(0.001)

    def wait() -> None:
        try:
            asyncio.run(queue.do(forever, Deadline.after(0.05)))
        except OutOfTime as end:
            raised.append(type(end))
        finally:
            queue.stop()

    waiting = threading.Thread(target=wait)
    waiting.start()
    queue.run()  # returns only because the work is cut
    waiting.join()
    assert raised == [OutOfTime]


def test_a_full_queue_refuses_until_a_place_is_free() -> None:
    queue = WorkQueue(2)
    with queue.place(), queue.place():
        assert queue.taken == 2
        with pytest.raises(Problem, match="2 requests are waiting already") as refusal, queue.place():
            pass
        assert (refusal.value.status, refusal.value.headers) == (503, {"Retry-After": "1"})
    with queue.place():
        assert queue.taken == 1
